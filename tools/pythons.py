"""Print the oldest and the newest Python of this machine among those that pyproject.toml promises, one path a line.

The interpreter that runs this is left out: what it can do is tried anyway.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CLASSIFIER = re.compile(r'"Programming Language :: Python :: (\d+)\.(\d+)"')
PROBE_SECONDS = 20


def main() -> None:
    """Print one path a line: the oldest, then the newest; one line where they are the same, none where there are none."""
    found = {version: path for version in promised_versions() if (path := interpreter(version)) is not None}
    others = sorted(version for version in found if version != sys.version_info[:2])
    for version in sorted({others[0], others[-1]} if others else ()):
        print(found[version])


def promised_versions() -> list[tuple[int, int]]:
    """Versions that the package's classifiers name."""
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
    return [(int(major), int(minor)) for major, minor in CLASSIFIER.findall(text)]


def interpreter(version: tuple[int, int]) -> str | None:
    """Path of an interpreter of a version that starts and can make environments; None where there is none."""
    return next((str(path) for path in candidates(version) if runs(path, version)), None)


def candidates(version: tuple[int, int]) -> Iterator[Path]:
    """Where interpreters of a version may be: the search path, then pyenv, whose wrappers run only what is switched on."""
    name = f"python{version[0]}.{version[1]}"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield Path(folder, name)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(root.glob(f"versions/{version[0]}.{version[1]}.*/bin/{name}"), reverse=True)


def runs(path: Path, version: tuple[int, int]) -> bool:
    """Whether a path is an interpreter of a version that has the venv module's parts."""
    if not os.access(path, os.X_OK):
        return False
    code = f"import sys, ensurepip; sys.exit(sys.version_info[:2] != {version})"
    try:
        return subprocess.run([path, "-c", code], capture_output=True, timeout=PROBE_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    main()
