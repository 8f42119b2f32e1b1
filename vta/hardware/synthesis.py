"""Synthesis by Yosys: what the core takes of an FPGA, unit by unit, and whether it is sound."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from vta.hardware.same_modules import merged
from vta.hardware.yosys import find_yosys, run_yosys

__all__ = ["FAMILIES", "Resources", "Synthesis", "count_cells", "synthesize", "without_first_contents"]

FAMILIES = ("xilinx", "ecp5")
"""7-series of Xilinx, and ECP5 of Lattice."""

_TOP = "vta"
_COMMANDS = {"xilinx": "synth_xilinx -family xc7 -noiopad -top vta", "ecp5": "synth_ecp5 -noflatten -top vta"}
_LATCHES = "t:$dlatch t:$adlatch t:$dlatchsr"
_FIRST_CONTENTS = re.compile(r"^  integer first_contents_\w+;\n  initial for .*\n", re.MULTILINE)

# How many of each resource a cell of the family takes.
_CELLS: dict[str, dict[str, tuple[str, float]]] = {
    "xilinx": {
        **{f"LUT{size}": ("lut", 1) for size in range(1, 7)},
        **dict.fromkeys(("INV", "SRL16E", "SRLC32E"), ("lut", 1)),
        **{name: ("lut", count) for name, count in (("RAM32M", 4), ("RAM64M", 4), ("RAM32X1D", 2), ("RAM64X1D", 2))},
        **dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), ("ff", 1)),
        "DSP48E1": ("dsp", 1),
        "RAMB36E1": ("bram", 1),
        "RAMB18E1": ("bram", 0.5),
    },
    "ecp5": {
        "LUT4": ("lut", 1),
        "CCU2C": ("lut", 2),
        "TRELLIS_DPR16X4": ("lut", 4),
        "TRELLIS_FF": ("ff", 1),
        "MULT18X18D": ("dsp", 1),
        "DP16KD": ("bram", 1),
    },
}


# Units by the beginning of the names of their modules; longer ones first.
_PARTS = {
    "compute.gemm": "gemm",
    "compute.alu_": "alu",
    "compute.accumulator": "acc memory",
    "compute.uop_memory": "uop memory",
    "compute.table_memory": "table memory",
    "compute.": "compute",
    "compute_": "control",
    "compute": "compute",
    "inp_memory": "inp memory",
    "wgt_memory": "wgt memory",
    "out_memory": "out memory",
    "fetch_": "control",
    "fetch": "fetch",
    "load_": "control",
    "load": "load",
    "store_": "control",
    "store": "store",
    "read_port": "read port",
}
_TABLES = "table memory"
_REST = "control"
"""Registers, counters, token queues, and what lies in the top itself."""


@dataclass(frozen=True)
class Resources:
    """Cells of an FPGA."""

    lut: float = 0
    """Look-up tables: of 6 inputs (Xilinx) or 4 (ECP5); also those that serve as memory and carry chains of ECP5."""
    ff: float = 0
    dsp: float = 0
    """DSP48 (Xilinx) or 18 x 18 multipliers (ECP5)."""
    bram: float = 0
    """Block memories of 36 Kbit (Xilinx; halves count) or 18 Kbit (ECP5)."""

    def __add__(self, other: Resources) -> Resources:
        return Resources(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True)
class Synthesis:
    """What Yosys made of a core."""

    family: str
    units: Mapping[str, Resources]
    """Of each unit and each memory."""
    multipliers: int
    """Multipliers in the GEMM core before they are mapped: one for each multiply-accumulate of a cycle."""

    @property
    def total(self) -> Resources:
        """Of the whole core."""
        return sum(self.units.values(), Resources())


def synthesize(verilog: str, family: str) -> Synthesis:
    """Check and synthesise the core for `family`, one of `FAMILIES`. Takes minutes for a large core.

    Raises `DeviceError` if there are latches or combinational loops, or Yosys is missing or fails.
    """
    command = find_yosys()
    text = merged(without_first_contents(verilog), _unit_of_module)
    with tempfile.TemporaryDirectory(prefix="vta-synth-") as name:
        directory = Path(name)
        (directory / "vta.v").write_text(text, encoding="utf-8")
        run_yosys(command, directory, _check_script(), "the core has latches or combinational loops")
        run_yosys(command, directory, _synthesis_script(family), "synthesis failed")
        early, final = (json.loads((directory / name).read_text(encoding="utf-8")) for name in ("early.json", "final.json"))
    modules = {_plain(module): _cells(values) for module, values in final["modules"].items()}
    coarse = {_plain(module): _cells(values) for module, values in early["modules"].items()}
    return Synthesis(family, _units(modules, family), _count(coarse, "$mul", "gemm"))


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
        (directory / "vta.v").write_text(merged(without_first_contents(verilog), _unit_of_module), encoding="utf-8")
        steps = ("read_verilog -sv vta.v", f"{_COMMANDS['xilinx']} -run begin:map_ffs", "tee -q -o cells.json stat -json")
        run_yosys(command, directory, "\n".join(steps), "synthesis failed")
        values = json.loads((directory / "cells.json").read_text(encoding="utf-8"))
    modules = {_plain(module): _cells(given) for module, given in values["modules"].items()}
    total = sum(_units(modules, "xilinx").values(), Resources())
    return Resources(dsp=total.dsp, bram=total.bram)


def _check_script() -> str:
    steps = (
        "read_verilog -sv vta.v",
        f"hierarchy -check -top {_TOP}",
        "proc",
        f"select -assert-none {_LATCHES}",
        "flatten",
        "opt_clean",
        "check -assert",
    )
    return "\n".join(steps)


def _synthesis_script(family: str) -> str:
    steps = (
        "read_verilog -sv vta.v",
        f"hierarchy -check -top {_TOP}",
        "proc",
        "opt_clean",
        "tee -q -o early.json stat -json",
        _COMMANDS[family],
        "tee -q -o final.json stat -json",
    )
    return "\n".join(steps)


def _plain(name: str) -> str:
    return name.removeprefix("\\")


def _cells(values: Mapping[str, Any]) -> dict[str, int]:
    return {_plain(kind): int(count) for kind, count in values["num_cells_by_type"].items()}


def _units(modules: Mapping[str, Mapping[str, int]], family: str) -> dict[str, Resources]:
    """Resources of each unit: what the modules under the top hold themselves, by the unit that they belong to."""
    found = dict.fromkeys([*_PARTS.values(), _REST], Resources())
    if not any(_unit_of(name) == _TABLES for name in modules):
        del found[_TABLES]

    def walk(name: str) -> None:
        found[_unit_of(name)] += _resources({kind: count for kind, count in modules[name].items() if kind not in modules}, family)
        for kind, count in modules[name].items():
            for _ in range(count if kind in modules else 0):
                walk(kind)

    walk(_TOP)
    return found


def _unit_of_module(name: str) -> str:
    return _unit_of(_plain(name))


def _unit_of(module: str) -> str:
    return next((unit for prefix, unit in _PARTS.items() if module.startswith(f"{_TOP}.{prefix}")), _REST)


def _resources(cells: Mapping[str, int], family: str) -> Resources:
    sums: Counter[str] = Counter()
    for kind, count in cells.items():
        if kind in _CELLS[family]:
            resource, each = _CELLS[family][kind]
            sums[resource] += count * each  # type: ignore[assignment]
    return Resources(**sums)


def _count(modules: Mapping[str, Mapping[str, int]], kind: str, inside: str) -> int:
    """Cells of `kind` in modules whose path has `inside` in it."""
    return sum(cells.get(kind, 0) for name, cells in modules.items() if inside in name)
