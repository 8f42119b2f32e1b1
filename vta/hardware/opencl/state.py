"""What host and kernel tell each other: the words of the kernel's state, and how a launch ended. As in `vta.cl`."""

from __future__ import annotations

from enum import IntEnum

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType

__all__ = ["STATE_WORDS", "Status", "Word", "geometry_difference", "geometry_of", "sram_bytes"]


class Status(IntEnum):
    """How a launch ended."""

    DONE = 0
    MORE = 1
    """It has done as much as it should; the next launch goes on."""
    DEADLOCK = 2
    BAD_GEOMETRY = 3
    BAD_OPCODE = 4
    BAD_FLAG = 5
    BAD_MEMORY_TYPE = 6
    BAD_PADS = 7
    BAD_ALU_OPCODE = 8
    SRAM_BOUNDS = 9
    DRAM_BOUNDS = 10
    UOP_BOUNDS = 11
    DST_BOUNDS = 12
    SRC_BOUNDS = 13
    WGT_BOUNDS = 14


class Word(IntEnum):
    """Index of each word; of several for the first."""

    STATUS = 0
    FAULT = 1
    """The instruction that went wrong."""
    KNOWN_GEOMETRY = 2
    """What the kernel was compiled for."""
    RANDOM = 3
    """0: the oldest instruction first; otherwise the state of the random numbers."""
    NESTING = 4
    NEST_OUT = 5
    NEST_IN = 6
    CURSOR = 7
    """Next instruction of the units load, compute and store."""
    TOKENS = 10
    """In the queues load to compute, compute to load, compute to store and store to compute."""
    COMPLETED = 14
    """Instructions of each unit."""
    UOP_BYTES = 17
    INP_BYTES = 18
    WGT_BYTES = 19
    ACC_BYTES = 20
    OUT_BYTES = 21
    GEMM_UOPS = 22
    RESET_UOPS = 23
    ALU_UOPS = 24


STATE_WORDS = 25
"""Words of the state, 8 bytes each."""

_PACKED = (
    "log_acc_width",
    "log_batch",
    "log_block",
    "log_uop_buff_size",
    "log_inp_buff_size",
    "log_wgt_buff_size",
    "log_acc_buff_size",
)
_PACKED_BITS = 6


def geometry_of(hw: HardwareConfig) -> int:
    """The number that a kernel for the geometry of `hw` knows it by."""
    return sum(int(getattr(hw, name)) << _PACKED_BITS * place for place, name in enumerate(_PACKED))


def geometry_difference(number: int, hw: HardwareConfig) -> str:
    """How the geometry that `number` stands for differs from that of `hw`, e.g. ``LOG_BLOCK = 4, not 5``."""
    mask = (1 << _PACKED_BITS) - 1
    known = {name: number >> _PACKED_BITS * place & mask for place, name in enumerate(_PACKED)}
    return ", ".join(
        f"{name.upper()} = {value}, not {getattr(hw, name)}" for name, value in known.items() if value != getattr(hw, name)
    )


def sram_bytes(hw: HardwareConfig) -> int:
    """Bytes of all on-chip memories together."""
    kept = (MemoryType.UOP, MemoryType.WGT, MemoryType.INP, MemoryType.ACC, MemoryType.OUT)
    return sum(hw.depth(memory) * hw.elem_bytes(memory) for memory in kept)
