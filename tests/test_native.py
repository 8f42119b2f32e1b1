"""A package whose native library is missing, or is something else: every way in says so in one line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import vta

PACKAGE = Path(vta.__file__).parent
DEMO = PACKAGE / "demo" / "digits.onnx"
WAYS = {
    "compile": ["vta.cli.main", "compile", str(DEMO), "-o", "net.vta", "--config", "sim", "--global-scale", "4"],
    "demo": ["vta.cli.main", "demo", "-o", "demo"],
    "run": ["vta.cli.main", "run", "old.vta"],
    "disasm": ["vta.cli.main", "disasm", "old.vta"],
    "server": ["vta.cli.main", "rpc", "server", "--host", "127.0.0.1", "--device", "cycle", "--config", "sim"],
}


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "old.vta"
    command = [sys.executable, "-m", *WAYS["compile"][:3], "-o", str(path), *WAYS["compile"][5:]]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return path


@pytest.fixture(params=["missing", "other"])
def crippled(request, tmp_path, old):
    """A copy of the package, with links to all that it does not change."""
    package = tmp_path / "vta"
    package.mkdir()
    for path in PACKAGE.iterdir():
        if path.suffix == ".py":
            shutil.copyfile(path, package / path.name)
        elif path.name not in ("_core.so", "__pycache__"):
            (package / path.name).symlink_to(path)
    for name in ("hw_config", "tuning", "bitstreams"):
        if (PACKAGE.parent / name).is_dir():
            (tmp_path / name).symlink_to(PACKAGE.parent / name)
    if request.param == "other":
        (package / "_core.so").write_text("not a library")
    shutil.copyfile(old, tmp_path / "old.vta")
    return tmp_path


def run(folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("way", WAYS)
def test_the_command_line_and_servers_say_what_is_missing(crippled, way):
    done = run(crippled, "-m", *WAYS[way])
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert f"the native library {crippled / 'vta' / '_core.so'} cannot be loaded (" in last
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("module", ["vta.native", "vta.devices.sim", "vta.isa.verify", "vta.compiler.compile"])
def test_python_gets_a_device_error(crippled, module):
    done = run(crippled, "-c", f"import vta.errors\ntry:\n    import {module}\nexcept vta.errors.DeviceError as e:\n    print(e)")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert "cannot be loaded" in done.stdout


def test_what_needs_no_library_still_works(crippled):
    assert run(crippled, "-m", "vta.cli.main", "config", "show", "sim").returncode == 0
