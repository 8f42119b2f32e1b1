"""The interpreters that `make pythons` tries."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools/pythons.py"


def fake_python(folder: Path, version: tuple[int, int], *, broken: bool = False) -> Path:
    """A script that answers the probe as an interpreter of a version would."""
    path = folder / f"python{version[0]}.{version[1]}"
    asks = f'case "$2" in *"!= {version}"*) exit {int(broken)};; esac'
    path.write_text(f"#!/bin/sh\n{asks}\nexit 1\n")
    path.chmod(0o755)
    return path


def printed(*folders: Path) -> list[str]:
    paths = os.pathsep.join(map(str, folders))
    environment = {**os.environ, "PATH": paths + os.pathsep + os.defpath, "PYENV_ROOT": str(folders[0] / "none")}
    return subprocess.run(
        [sys.executable, SCRIPT], capture_output=True, text=True, timeout=60, check=True, env=environment
    ).stdout.splitlines()


def others() -> list[tuple[int, int]]:
    return [(3, minor) for minor in range(10, 14) if (3, minor) != sys.version_info[:2]]


def test_the_oldest_and_the_newest_are_printed(tmp_path):
    made = [fake_python(tmp_path, version) for version in others()]
    assert printed(tmp_path) == [str(made[0]), str(made[-1])]


def test_a_wrapper_that_starts_nothing_is_passed_over(tmp_path):
    broken, whole = tmp_path / "wrappers", tmp_path / "whole"
    broken.mkdir()
    whole.mkdir()
    fake_python(broken, others()[0], broken=True)
    made = [fake_python(whole, version) for version in others()]
    assert printed(broken, whole) == [str(made[0]), str(made[-1])]
