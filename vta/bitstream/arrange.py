"""What is done with the netlist after synthesis: which programs and tools, in which order, on which files."""

from __future__ import annotations

from pathlib import Path

from vta.bitstream import placement
from vta.bitstream.placement import block_sites, blocked_tables
from vta.bitstream.script import placing_arguments, reading_arguments, routing_arguments
from vta.boards.fpga import Fpga
from vta.hardware.ecp5 import multiplier_registers
from vta.support.dataclass import dataclass

__all__ = ["Step", "arranging_programs", "arranging_steps", "place_route_steps", "placing_programs"]

_PLACEMENT = (
    "__init__",
    "cell_mover",
    "critical_cells",
    "driver_copies",
    "path_timing",
    "placed_design",
    "route_to_goals",
    "same_function",
)
"""Modules of a package that moves cells after placement, checks that nothing else was done, and routes."""
_PACKAGE = "placement"
_PLACED_DEVICES = "85k"
"""What the names of devices end in whose sites are known."""


@dataclass(frozen=True)
class Step:
    """One call of a tool in the build's folder."""

    tool: str
    """`python` or `nextpnr`."""
    arguments: list[str]
    runs_nextpnr: list[str] | None = None
    """Arguments of a call of nextpnr that ends the program's own arguments, if it makes one."""


def arranging_programs(fpga: Fpga) -> dict[str, str]:
    """Return the text of the programs that `arranging_steps` for `fpga` run, by the names of their files."""
    modules = [multiplier_registers, *((block_sites, blocked_tables) if _is_placed(fpga) else ())]
    paths = [Path(str(module.__file__)) for module in modules]
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def placing_programs(fpga: Fpga) -> dict[str, str]:
    """Return the text of the programs that `place_route_steps` for `fpga` run, by the names of their files."""
    folder, names = Path(placement.__path__[0]), _PLACEMENT if _is_placed(fpga) else ()
    return {f"{_PACKAGE}/{name}.py": (folder / f"{name}.py").read_text(encoding="utf-8") for name in names}


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


def place_route_steps(
    fpga: Fpga, seed: int, *, netlist: str, places: str, report: str, result: str, folder: str, between: str
) -> list[Step]:
    """Return what places and routes `netlist`; other files that it makes are in `folder`, and have names before `between`."""
    reading = reading_arguments(fpga, seed, places=places, netlist=netlist)
    results = ["--report", report, "--textcfg", result]
    if not _is_placed(fpga):
        return [Step("nextpnr", [*reading, *placing_arguments(), *routing_arguments(), *results])]
    placed, moved, clocks, log, goals = (f"{folder}{name}{between}" for name in ("placed", "moved", "clocks", "log", "goals"))
    # What is said here of the router goes into the netlist, and then has precedence.
    placing = [*placing_arguments(), *routing_arguments(), "--no-route", "--write", placed, "--log", log]
    again = [*reading_arguments(fpga, seed, places=places, netlist=moved), "--no-pack", "--no-place"]
    return [
        Step("nextpnr", [*reading, *placing]),
        Step("python", ["-m", f"{_PACKAGE}.critical_cells", placed, log, moved, clocks, fpga.speed_grade]),
        Step("python", ["-m", f"{_PACKAGE}.same_function", placed, moved]),
        Step(
            "python",
            ["-m", f"{_PACKAGE}.route_to_goals", clocks, goals, report],
            runs_nextpnr=[*again, *routing_arguments(), *results],
        ),
    ]


def _is_placed(fpga: Fpga) -> bool:
    return fpga.device.endswith(_PLACED_DEVICES)
