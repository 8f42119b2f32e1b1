"""A file with compiled code for this machine, and the command that runs it."""

import numpy as np
import pytest

from tests.demo_network import demo_image
from vta.native import ffi, lib
from vta.runtime import save


@pytest.fixture(scope="session")
def artifact(demo_compiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("vta-run") / "digits.vta"
    save(demo_compiled, path)
    np.save(path.with_name("image.npy"), demo_image())
    return path


@pytest.fixture
def vta_run(capfd):
    """Runs the command in this process; returns its status, and what it printed on both outputs."""

    def run(*arguments):
        words = [ffi.new("char[]", str(word).encode()) for word in ("vta-run", *arguments)]
        status = lib.vta_runtime_main(len(words), ffi.new("char *[]", words))
        return (status, *capfd.readouterr())

    return run
