"""Synthesis of a whole core: what it takes of an FPGA, unit by unit, and whether it is sound."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vta.hardware.synthesis.mapping import map_units, modules_by_unit
from vta.hardware.synthesis.resources import Resources, commands_of, resources_of
from vta.hardware.synthesis.same_modules import merged
from vta.hardware.synthesis.units import TABLES, TOP, UNITS, unit_of
from vta.hardware.synthesis.yosys import find_yosys, run_yosys
from vta.support.dataclass import dataclass

__all__ = ["Synthesis", "count_cells", "synthesize", "without_first_contents"]

_LATCHES = "t:$dlatch t:$adlatch t:$dlatchsr"
_FIRST_CONTENTS = re.compile(r"^  integer first_contents_\w+;\n  initial for .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Synthesis:
    """What Yosys made of a core."""

    family: str
    units: Mapping[str, Resources]
    """Of each unit and each memory."""
    multipliers: int
    """Multipliers in the GEMM core before they are mapped: one for each multiply-accumulate of a cycle."""
    seconds: float
    """That Yosys took to map all units, also where they were mapped for another core before."""

    @property
    def total(self) -> Resources:
        """Of the whole core."""
        return sum(self.units.values(), Resources())


def synthesize(verilog: str, family: str, progress: Callable[[str], object] = lambda message: None) -> Synthesis:
    """Check and synthesise the core for `family`, one of `FAMILIES`. Takes minutes for a large core.

    `progress` is told what is being done. Raises `DeviceError` if there are latches or combinational loops, or Yosys is missing
    or fails.
    """
    command = find_yosys()
    text = merged(without_first_contents(verilog), unit_of)
    progress("checking")
    with tempfile.TemporaryDirectory(prefix="vta-synth-") as name:
        directory = Path(name)
        (directory / "vta.v").write_text(text, encoding="utf-8")
        run_yosys(command, directory, _check_script(), "the core has latches or combinational loops")
        coarse = _modules(directory / "early.json")
    mapped = map_units(modules_by_unit(text), family, command, progress)
    cells = {module: counts for unit in mapped.values() for module, counts in unit.cells.items()}
    seconds = sum(unit.seconds for unit in mapped.values())
    return Synthesis(family, _units(cells, family), _count(coarse, "$mul", "gemm"), round(seconds, 1))


def without_first_contents(verilog: str) -> str:
    """Return the text without the loops that zero memories: they start so anyway, and Yosys is several times as fast."""
    return _FIRST_CONTENTS.sub("", verilog)


def count_cells(verilog: str) -> Resources:
    """DSP blocks and block memories of the core on 7-series, without what takes long: logic is not mapped, nor checked.

    Raises `DeviceError` if Yosys is missing or fails.
    """
    command = find_yosys()
    with tempfile.TemporaryDirectory(prefix="vta-synth-") as name:
        directory = Path(name)
        (directory / "vta.v").write_text(merged(without_first_contents(verilog), unit_of), encoding="utf-8")
        (mapping,) = commands_of("xilinx", TOP)
        steps = ("read_verilog -sv vta.v", f"{mapping} -run begin:map_ffs", "tee -q -o cells.json stat -json")
        run_yosys(command, directory, "\n".join(steps), "synthesis failed")
        total = sum(_units(_modules(directory / "cells.json"), "xilinx").values(), Resources())
    return Resources(dsp=total.dsp, bram=total.bram)


def _check_script() -> str:
    steps = (
        "read_verilog -sv vta.v",
        f"hierarchy -check -top {TOP}",
        "proc",
        f"select -assert-none {_LATCHES}",
        "opt_clean",
        "tee -q -o early.json stat -json",
        "flatten",
        "opt_clean",
        "check -assert",
    )
    return "\n".join(steps)


def _modules(path: Path) -> dict[str, Mapping[str, int]]:
    """Cells of each module in a file of `stat -json`."""
    values: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["modules"]
    return {
        module.removeprefix("\\"): {kind.removeprefix("\\"): int(count) for kind, count in found["num_cells_by_type"].items()}
        for module, found in values.items()
    }


def _units(modules: Mapping[str, Mapping[str, int]], family: str) -> dict[str, Resources]:
    """Resources of each unit: what the modules under the top hold themselves, by the unit that they belong to."""
    found: dict[str, Counter[str]] = {unit: Counter() for unit in UNITS}
    if not any(unit_of(name) == TABLES for name in modules):
        del found[TABLES]

    def walk(name: str, times: int) -> None:
        for kind, count in modules[name].items():
            if kind in modules:
                walk(kind, times * count)
            else:
                found[unit_of(name)][kind] += times * count

    walk(TOP, 1)
    return {unit: resources_of(cells, family) for unit, cells in found.items()}


def _count(modules: Mapping[str, Mapping[str, int]], kind: str, inside: str) -> int:
    """Cells of `kind` in modules whose path has `inside` in it."""
    return sum(cells.get(kind, 0) for name, cells in modules.items() if inside in name)
