"""What is done with the netlist between synthesis and placement: which programs, in which order, on which files."""

from __future__ import annotations

from pathlib import Path

from vta.bitstream.placement import block_sites, blocked_tables
from vta.boards.fpga import Fpga
from vta.errors import DeviceError
from vta.hardware.ecp5 import multiplier_registers
from vta.support.dataclass import dataclass

__all__ = ["Step", "arranging_programs", "arranging_steps", "empty_tables"]

_PLACED_DEVICES = "85k"
"""What the names of devices end in whose sites are known."""


@dataclass(frozen=True)
class Step:
    """One call of a tool in the build's folder."""

    tool: str
    """`python` or `nextpnr`."""
    arguments: list[str]


def arranging_programs(fpga: Fpga) -> dict[str, str]:
    """Return the text of the programs that the steps for `fpga` run, by the names of their files."""
    modules = [multiplier_registers, *((block_sites, blocked_tables) if _is_placed(fpga) else ())]
    paths = [Path(str(module.__file__)) for module in modules]
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def arranging_steps(fpga: Fpga, top: str, *, mapped: str, packing: list[str], netlist: str, between: str) -> list[Step]:
    """Return what makes `netlist` of the netlist `mapped` by synthesis; other files that it makes have names before `between`.

    `packing` are the arguments with which nextpnr reads a netlist, whose name follows, and only packs it.
    """
    moved, packed, sited = (f"{name}{between}" for name in ("moved", "packed", "sited"))
    if not _is_placed(fpga):
        return [Step("python", ["multiplier_registers.py", mapped, top, netlist])]
    return [
        Step("python", ["multiplier_registers.py", mapped, top, moved]),
        Step("nextpnr", [*packing, "--pack-only", "--write", packed, "--json", moved]),
        Step("python", ["block_sites.py", moved, top, packed, sited]),
        Step("python", ["blocked_tables.py", sited, top, netlist]),
    ]


def empty_tables(netlist: Path) -> int:
    """Return how many tables of `netlist` are there to be kept empty. Raises `DeviceError` naming a file that cannot be read."""
    try:
        return netlist.read_bytes().count(f'"{blocked_tables.NAME}'.encode())
    except OSError as error:
        raise DeviceError(f"{netlist}: cannot be read: {error.strerror}") from None


def _is_placed(fpga: Fpga) -> bool:
    return fpga.device.endswith(_PLACED_DEVICES)
