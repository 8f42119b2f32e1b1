"""Decoded instructions and micro-ops, as NumPy records so that whole programs are handled at once."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from vta.config.targets import MemoryType

__all__ = [
    "DEPTHWISE_TAPS",
    "FLAGS",
    "GEMM_REQUANTIZES",
    "INSTRUCTION_BYTES",
    "INSTRUCTION_DTYPE",
    "REQUANTIZE_KEEP",
    "REQUANTIZE_PARAMETERS",
    "REQUANTIZE_TABLE",
    "REQUANTIZE_WIDE",
    "UOP_DTYPE",
    "AluOp",
    "Opcode",
    "Unit",
    "blank_instructions",
    "missing_stage_flags",
    "units_of",
]

INSTRUCTION_BYTES = 16


class Opcode(IntEnum):
    """The opcode field of every instruction."""

    LOAD = 0
    STORE = 1
    GEMM = 2
    FINISH = 3
    ALU = 4
    DEPTHWISE = 5
    """Only with the option of this name."""


class AluOp(IntEnum):
    """The alu_opcode field of ALU instructions."""

    MIN = 0
    MAX = 1
    ADD = 2
    SHR = 3
    MUL = 4
    REQUANTIZE = 5
    """Only with the option of this name."""


REQUANTIZE_WIDE, REQUANTIZE_TABLE, REQUANTIZE_KEEP = 1, 2, 4
"""Bits of `imm` of REQUANTIZE: results keep 32 bits; results of 8 bits are looked up; parameters are read, and no rows."""
GEMM_REQUANTIZES = 1
"""`imm` of a GEMM or DEPTHWISE that requantizes the row of the last micro-op, with the parameters that were read last."""
DEPTHWISE_TAPS = 3
"""Rows of input that DEPTHWISE reads for each row of results."""
REQUANTIZE_PARAMETERS = 3
"""Rows of parameters that REQUANTIZE reads in each iteration of the outer loop."""


class Unit(IntEnum):
    """The three units that execute instructions, each in order."""

    LOAD = 0
    COMPUTE = 1
    STORE = 2


FLAGS = ("pop_prev", "pop_next", "push_prev", "push_next")
"""The dependency flags of every instruction: tokens consumed from and posted to the stages before and after."""

_HEADER = ("opcode", *FLAGS)
_MEMORY = (
    "memory_type",
    "sram_base",
    "dram_base",
    "y_size",
    "x_size",
    "x_stride",
    "y_pad_0",
    "y_pad_1",
    "x_pad_0",
    "x_pad_1",
)
_COMPUTE = (
    "reset",
    "uop_bgn",
    "uop_end",
    "iter_out",
    "iter_in",
    "dst_factor_out",
    "dst_factor_in",
    "src_factor_out",
    "src_factor_in",
    "wgt_factor_out",
    "wgt_factor_in",
    "alu_opcode",
    "use_imm",
    "imm",
)

INSTRUCTION_DTYPE = np.dtype([(name, np.int64) for name in _HEADER + _MEMORY + _COMPUTE])
"""One decoded instruction. Fields that its opcode does not have are 0. Sizes, bases and strides are in elements."""

UOP_DTYPE = np.dtype([("dst", np.int64), ("src", np.int64), ("wgt", np.int64)])
"""One decoded micro-op: accumulator row; input row (GEMM) or accumulator row (ALU); weight row."""


def blank_instructions(count: int) -> NDArray[np.void]:
    """Return `count` instructions with every field 0."""
    return np.zeros(count, dtype=INSTRUCTION_DTYPE)


def units_of(instructions: NDArray[np.void]) -> NDArray[np.int8]:
    """Return the `Unit` that executes each instruction.

    STORE goes to the store unit, LOAD of INP and WGT to the load unit, all else to the compute unit.
    """
    units = np.full(len(instructions), Unit.COMPUTE, dtype=np.int8)
    opcode, memory = instructions["opcode"], instructions["memory_type"]
    units[(opcode == Opcode.LOAD) & ((memory == MemoryType.INP) | (memory == MemoryType.WGT))] = Unit.LOAD
    units[opcode == Opcode.STORE] = Unit.STORE
    return units


def missing_stage_flags(instructions: NDArray[np.void]) -> list[tuple[int, str]]:
    """Return (index, flag) of each dependency flag that names the stage before load or the stage after store."""
    units = units_of(instructions)
    ends = ((Unit.LOAD, ("pop_prev", "push_prev")), (Unit.STORE, ("pop_next", "push_next")))
    found = [
        (int(index), flag)
        for unit, flags in ends
        for flag in flags
        for index in np.flatnonzero((units == unit) & (instructions[flag] != 0))
    ]
    return sorted(found)
