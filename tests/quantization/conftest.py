"""Small float nets and hardware configs that the tests of quantisation share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.quantization.nets import NetBuilder, branching_net, preactivation_net, residual_net
from vta.config.hardware import HardwareConfig, load_config
from vta.ir.graph import Graph

_CONFIGS = Path(__file__).resolve().parents[2] / "hw_config"


@pytest.fixture(scope="session")
def sim() -> HardwareConfig:
    return load_config(_CONFIGS / "sim.json")


@pytest.fixture(scope="session")
def pynq() -> HardwareConfig:
    return load_config(_CONFIGS / "pynq.json")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture(params=["sim", "pynq"])
def hw(request: pytest.FixtureRequest) -> HardwareConfig:
    """A target that multiplies, and one that does not."""
    return load_config(_CONFIGS / f"{request.param}.json")


@pytest.fixture
def net() -> NetBuilder:
    return NetBuilder()


@pytest.fixture(params=[residual_net, preactivation_net, branching_net], ids=lambda make: make.__name__)
def graph(request: pytest.FixtureRequest, net: NetBuilder) -> Graph:
    """A small canonical float net."""
    return request.param(net)
