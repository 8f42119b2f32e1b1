"""What travels with a micro-op down the compute pipeline."""

from __future__ import annotations

from amaranth.hdl import Shape, signed
from amaranth.lib.data import StructLayout

from vta.config.targets import MemoryType
from vta.hardware.geometry import Geometry

__all__ = ["PARAMETERS", "control_layout", "issue_layout", "rows_layout"]

_FIELDS: dict[str, int | Shape] = {
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
PARAMETERS = ("bias", "multiplier", "scale")
"""The rows of parameters of a REQUANTIZE, in the order of their slots."""
_REQUANTIZE_FIELDS: dict[str, int | Shape] = {"requantize": 1, "wide": 1, "table": 1, **dict.fromkeys(PARAMETERS, 1)}


def control_layout(geometry: Geometry) -> StructLayout:
    """Return the layout of a micro-op's control word.

    `writes`: it changes accumulator rows; `gemm`, `reset`: what kind it is (otherwise ALU; a GEMM has the opcode of ADD);
    `last`: its instruction completes with it, and pushes; `finish`: it ends the run; `fence`: it stands for a LOAD, and tells
    it that the pipeline is empty. `requantize`, `wide`, `table`: it is a slot of such a REQUANTIZE, which `writes` if it has a
    row; the names in `PARAMETERS`: it reads that row. A GEMM with `requantize` requantizes its sum. `depthwise`: it is a GEMM
    with the products of DEPTHWISE.
    """
    hw = geometry.hw
    depthwise: dict[str, int | Shape] = {"depthwise": 1} if hw.depthwise_unit else {}
    return StructLayout(_FIELDS | (_REQUANTIZE_FIELDS if hw.requantize_unit else {}) | depthwise)


def rows_layout(geometry: Geometry) -> StructLayout:
    """Return the layout of the rows that a micro-op addresses, or of what the loops add to them.

    `src` is a row of the input memory (GEMM) or of the accumulator (ALU).
    """
    acc, inp = geometry.row_bits(MemoryType.ACC), geometry.row_bits(MemoryType.INP)
    return StructLayout({"dst": acc, "src": max(acc, inp), "wgt": geometry.row_bits(MemoryType.WGT)})


def issue_layout(geometry: Geometry) -> StructLayout:
    """Return the layout of a micro-op as it is issued: its `row` in the micro-op memory, and the `offset` of the loops."""
    control = control_layout(geometry)
    return StructLayout({"control": control, "row": geometry.row_bits(MemoryType.UOP), "offset": rows_layout(geometry)})
