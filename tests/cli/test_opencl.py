"""`--device opencl` on the command line."""

import pytest

from tests.engines import missing_for_opencl
from vta.cli.main import main


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    directory = tmp_path_factory.mktemp("opencl")
    assert main(["demo", "-o", str(directory)]) == 0
    return directory / "digits.vta"


@pytest.mark.parametrize("name", ["opencl", "intelfocl"])
def test_a_run(artifact, capsys, name):
    missing = missing_for_opencl()
    if missing:
        pytest.skip(missing)
    assert main(["run", str(artifact), "--device", name, "--check", "--order", "3"]) == 0
    assert "bit-exact: " in capsys.readouterr().out


def test_platforms_and_kernels_that_are_not_there(artifact, capsys, tmp_path):
    missing = missing_for_opencl()
    if missing:
        pytest.skip(missing)
    assert main(["run", str(artifact), "--device", "opencl", "--platform", "abacus"]) == 1
    assert "no OpenCL platform called 'abacus'; there are: " in capsys.readouterr().err
    kernel = tmp_path / "vta.aocx"
    kernel.write_bytes(b"")
    assert main(["run", str(artifact), "--device", "opencl", "--kernel", str(kernel)]) == 1
    assert "no OpenCL platform for FPGAs" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--kernel", "--platform"])
def test_options_of_another_device(artifact, capsys, option):
    assert main(["run", str(artifact), option, str(artifact)]) == 2
    assert f"{option} needs --device opencl" in capsys.readouterr().err


def test_options_about_time(artifact, capsys):
    assert main(["run", str(artifact), "--device", "opencl", "--bus-bits", "64"]) == 2
    assert "need a device that counts cycles" in capsys.readouterr().err
