"""What travels with a micro-op down the compute pipeline."""

from __future__ import annotations

from amaranth.hdl import signed
from amaranth.lib.data import StructLayout

from vta.config.targets import MemoryType
from vta.hardware.geometry import Geometry

__all__ = ["CONTROL", "issue_layout", "rows_layout"]

CONTROL = StructLayout(
    {
        "writes": 1,
        "gemm": 1,
        "reset": 1,
        "alu_opcode": 3,
        "use_imm": 1,
        "imm": signed(16),
        "last": 1,
        "push_prev": 1,
        "push_next": 1,
        "finish": 1,
        "fence": 1,
    }
)
"""A micro-op's control word.

`writes`: it changes accumulator rows; `gemm`, `reset`: what kind it is (otherwise ALU; a GEMM has the opcode of ADD);
`last`: its instruction completes with it, and pushes; `finish`: it ends the run; `fence`: it stands for a LOAD, and tells
it that the pipeline is empty.
"""


def rows_layout(geometry: Geometry) -> StructLayout:
    """Return the layout of the rows that a micro-op addresses, or of what the loops add to them.

    `src` is a row of the input memory (GEMM) or of the accumulator (ALU).
    """
    acc, inp = geometry.row_bits(MemoryType.ACC), geometry.row_bits(MemoryType.INP)
    return StructLayout({"dst": acc, "src": max(acc, inp), "wgt": geometry.row_bits(MemoryType.WGT)})


def issue_layout(geometry: Geometry) -> StructLayout:
    """Return the layout of a micro-op as it is issued: its `row` in the micro-op memory, and the `offset` of the loops."""
    return StructLayout({"control": CONTROL, "row": geometry.row_bits(MemoryType.UOP), "offset": rows_layout(geometry)})
