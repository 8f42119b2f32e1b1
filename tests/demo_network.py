"""The network of the demo: operators on the host around one region, compiled once for all tests that need such a file."""

from dataclasses import replace

import numpy as np
import pytest

from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.demo import load_digits, model_path


def demo_image(index=0):
    """An input of the network."""
    return load_digits().x[index : index + 1] / np.float32(16)


@pytest.fixture(scope="session")
def demo_plain():
    samples = {"image": load_digits().calibration / np.float32(16)}
    return compile_model(model_path(), HardwareConfig.named("sim"), calibration=samples)


@pytest.fixture(scope="session")
def demo_compiled(demo_plain):
    """With compiled code for this machine."""
    from vta.host.llvm.target import host_target
    from vta.runtime.host_library.build import build_host_library

    return replace(demo_plain, host=build_host_library(demo_plain, host_target()))
