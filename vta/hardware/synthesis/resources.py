"""Cells of FPGAs, by family: how Yosys maps to them, and how much of the FPGA each takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields

from vta.hardware.ecp5.mapping import mapping_steps
from vta.support.dataclass import dataclass

__all__ = ["FAMILIES", "Resources", "commands_of", "family_of", "resources_of"]

FAMILIES = ("xilinx", "ultrascale", "ecp5", "cyclone-v")
"""7-series and UltraScale+ of Xilinx, ECP5 of Lattice, Cyclone V of Intel."""

_OF_BOARDS = {"zynq-7000": "xilinx", "zynq-ultrascale+": "ultrascale"}
"""Families of boards (`vta.boards.description.FAMILIES`) by other names."""
_XILINX = "synth_xilinx -noiopad -noclkbuf"
_COMMANDS = {
    "xilinx": f"{_XILINX} -family xc7",
    "ultrascale": f"{_XILINX} -family xcup",
    "cyclone-v": "synth_intel_alm -family cyclonev -noflatten -noiopad -noclkbuf",
}

_XILINX_LOGIC: Mapping[str, tuple[str, float]] = {
    **{f"LUT{size}": ("lut", 1) for size in range(1, 7)},
    **dict.fromkeys(("INV", "SRL16E", "SRLC32E"), ("lut", 1)),
    **{name: ("lut", count) for name, count in (("RAM32M", 4), ("RAM64M", 4), ("RAM32X1D", 2), ("RAM64X1D", 2))},
    **dict.fromkeys(("RAM32M16", "RAM64M8"), ("lut", 8)),
    **dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), ("ff", 1)),
}
# How many of each resource a cell of the family takes.
_CELLS: Mapping[str, Mapping[str, tuple[str, float]]] = {
    "xilinx": {**_XILINX_LOGIC, "DSP48E1": ("dsp", 1), "RAMB36E1": ("bram", 1), "RAMB18E1": ("bram", 0.5)},
    "ultrascale": {**_XILINX_LOGIC, "DSP48E2": ("dsp", 1), "RAMB36E2": ("bram", 1), "RAMB18E2": ("bram", 0.5)},
    "ecp5": {
        "LUT4": ("lut", 1),
        "CCU2C": ("lut", 2),
        "TRELLIS_DPR16X4": ("lut", 4),
        "TRELLIS_FF": ("ff", 1),
        "MULT18X18D": ("dsp", 1),
        "DP16KD": ("bram", 1),
    },
    # Three multipliers of 9 bits or two of 18 share a DSP block (CV-5V2, variable precision DSP blocks).
    "cyclone-v": {
        "MISTRAL_FF": ("ff", 1),
        "MISTRAL_MUL9X9": ("dsp", 1 / 3),
        "MISTRAL_MUL18X18": ("dsp", 1 / 2),
        "MISTRAL_MUL27X27": ("dsp", 1),
        "MISTRAL_M10K": ("bram", 1),
    },
}
_ALMS_OF_ARITHMETIC = 0.5
"""An adaptive logic module (ALM) adds two bits."""
_ALMS_OF_MEMORY = 0.5
"""Ten of them are a memory of 32 x 20 bits (CV-5V2, MLAB); Yosys's cell is 32 x 1."""
_REGISTERS_OF_AN_ALM = 4


@dataclass(frozen=True)
class Resources:
    """Cells of an FPGA."""

    lut: float = 0
    """Look-up tables: of 6 inputs (Xilinx) or 4 (ECP5), also those that serve as memory and carry chains of ECP5; or ALMs
    (Cyclone V)."""
    ff: float = 0
    dsp: float = 0
    """DSP48 (Xilinx), 18 x 18 multipliers (ECP5), or DSP blocks (Cyclone V)."""
    bram: float = 0
    """Block memories of 36 Kbit (Xilinx; halves count), 18 Kbit (ECP5) or 10 Kbit (Cyclone V)."""

    def __add__(self, other: Resources) -> Resources:
        return Resources(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def family_of(board_family: str) -> str:
    """The one of `FAMILIES` that boards of a family have."""
    return _OF_BOARDS.get(board_family, board_family)


def commands_of(family: str, top: str) -> tuple[str, ...]:
    """The commands of Yosys that map the module `top` to `family`, one of `FAMILIES`; other modules by themselves."""
    if family == "ecp5":
        return mapping_steps(top, flatten=False)
    return (f"{_COMMANDS[family]} -top {top}",)


def resources_of(cells: Mapping[str, float], family: str) -> Resources:
    """What `cells`, counts by the kinds of the mapped netlist, take of an FPGA of `family`."""
    sums = dict.fromkeys(("lut", "ff", "dsp", "bram"), 0.0)
    for kind, count in cells.items():
        if kind in _CELLS[family]:
            resource, each = _CELLS[family][kind]
            sums[resource] += count * each
    if family == "cyclone-v":
        sums["lut"] = float(_alms(cells))
        sums["dsp"] = float(math.ceil(round(sums["dsp"], 3)))
    return Resources(**{name: int(value) if value.is_integer() else round(value, 1) for name, value in sums.items()})


def _alms(cells: Mapping[str, float]) -> int:
    """Adaptive logic modules, filled by the inputs of tables alone.

    One holds a table of 6 inputs; two of 5 and 3, or of 4 and 4, that share no input (CV-5V2, ALM in normal mode). Tables of
    5 that share two inputs would fit one, which no netlist says before it is placed: they are counted as alone.
    """
    tables = {size: cells.get(f"MISTRAL_ALUT{size}", 0) for size in range(2, 7)}
    inverters = cells.get("MISTRAL_NOT", 0)
    small, fours = tables[2] + tables[3] + inverters, tables[4]
    beside = min(tables[5], small)
    pairs = (small - beside + fours) / 2
    arithmetic = _ALMS_OF_ARITHMETIC * cells.get("MISTRAL_ALUT_ARITH", 0)
    logic = tables[6] + tables[5] + pairs + arithmetic
    registers = cells.get("MISTRAL_FF", 0) / _REGISTERS_OF_AN_ALM
    return math.ceil(max(logic, registers) + _ALMS_OF_MEMORY * cells.get("MISTRAL_MLAB", 0))
