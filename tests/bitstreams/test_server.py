"""The installer of a board's server, tried below a directory instead of /."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "bitstreams" / "server"

pytest.importorskip("grpc", reason="needs the packages of the extra rpc")


@pytest.fixture
def bundle(tmp_path):
    """What tools/board_bundle.sh makes, with the packages of this environment standing in for the board's."""
    directory = tmp_path / "bundle"
    (directory / "wheels").mkdir(parents=True)
    for name in ("install.sh", "vta-server.service"):
        shutil.copy(SERVER / name, directory / name)
    board = yaml.safe_load((ROOT / "bitstreams" / "boards" / "pynq-z2.yaml").read_text())
    (directory / "board.json").write_text(json.dumps(board))
    # The package without its C++ core, as a wheel for a board has it.
    with zipfile.ZipFile(directory / "wheels" / "vta-0.1.0-py3-none-any.whl", "w") as wheel:
        for path in sorted((ROOT / "vta").rglob("*.py")):
            if path.name != "_core_declarations.py":
                wheel.write(path, path.relative_to(ROOT))
        for path in sorted((ROOT / "hw_config").glob("*.json")):
            wheel.write(path, Path("vta") / path.relative_to(ROOT))
    return directory


def install(bundle, root, *options, **environment):
    return subprocess.run(
        ["sh", str(bundle / "install.sh"), *options],
        env={**os.environ, "VTA_ROOT": str(root), "VTA_PYTHON": sys.executable, "PYTHONPATH": "", **environment},
        cwd=bundle,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_installs_a_server_that_needs_no_core(bundle, tmp_path):
    root = tmp_path / "root"
    (bundle / "bitstreams").mkdir()
    (bundle / "bitstreams" / "manifest.json").write_text('{"version": 1, "bitstreams": []}')
    done = install(bundle, root, "--tracker", "10.0.0.1:9190", "--key", "pynq")
    assert done.returncode == 0, done.stderr
    assert "nothing was started" in done.stdout
    assert (root / "etc/vta/server.conf").read_text() == (
        'VTA_SERVER_OPTIONS="--device board:/etc/vta/board.json --bitstreams /var/lib/vta/bitstreams '
        '--tracker 10.0.0.1:9190 --key pynq"\n'
    )
    assert (root / "var/lib/vta/bitstreams/manifest.json").exists()
    assert (root / "etc/systemd/system/vta-server.service").exists()
    python = root / "opt/vta/bin/python"
    code = "import sys, vta.rpc.server.server, vta.rpc.server.worker; print(vta.__file__); print('vta.native' in sys.modules)"
    clean = {"env": {"PATH": os.environ["PATH"]}, "cwd": tmp_path, "capture_output": True, "text": True}
    shown = subprocess.run([python, "-c", code], check=True, **clean)
    path, native = shown.stdout.splitlines()
    assert path.startswith(str(root))
    assert native == "False"
    described = subprocess.run(
        [python, "-m", "vta.cli.main", "rpc", "server", "--device", f"board:{root}/etc/vta/board.json"],
        timeout=120,
        check=False,
        **clean,
    )
    assert described.returncode == 1
    assert "the package pynq is needed" in described.stderr


def test_installing_again_changes_what_it_is_told(bundle, tmp_path):
    root = tmp_path / "root"
    for key in ("first", "second"):
        assert install(bundle, root, "--key", key).returncode == 0
    assert "--key second" in (root / "etc/vta/server.conf").read_text()


@pytest.mark.parametrize(
    ("spoil", "options", "text"),
    [
        (lambda bundle: (bundle / "board.json").unlink(), (), "board.json is missing"),
        (lambda bundle: (bundle / "wheels" / "evil-1-py3-none-any.whl").touch(), (), "not one of the server's packages"),
        (lambda bundle: None, ("--key", "a;reboot"), "only letters, digits"),
        (lambda bundle: None, ("--key", 'a"b'), "only letters, digits"),
    ],
)
def test_what_does_not_fit_is_said(bundle, tmp_path, spoil, options, text):
    spoil(bundle)
    done = install(bundle, tmp_path / "root", *options)
    assert done.returncode == 1
    assert text in done.stderr
    assert not (tmp_path / "root" / "etc" / "systemd" / "system" / "vta-server.service").exists()


def test_a_python_without_numpy_is_named(bundle, tmp_path):
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = bare / "bin" / "python"
    if Path(sysconfig.get_path("purelib")).parent.name == "dist-packages":
        pytest.skip("this Python has its packages where every environment sees them")
    done = install(bundle, tmp_path / "root", VTA_PYTHON=str(python))
    assert done.returncode == 1
    assert "has no NumPy" in done.stderr


def test_the_service_starts_what_is_installed():
    text = (SERVER / "vta-server.service").read_text()
    assert "ExecStart=/opt/vta/bin/python -m vta.cli.main rpc server $VTA_SERVER_OPTIONS" in text
    assert "EnvironmentFile=/etc/vta/server.conf" in text
