"""Which DRAM a stream touches, without proving anything else of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.instruction import Opcode
from vta.support.dataclass import dataclass

__all__ = ["Transfer", "first_transfer_outside"]


@dataclass(frozen=True)
class Transfer:
    """The bytes that an instruction may touch."""

    instruction: int
    start: int
    end: int


def first_transfer_outside(
    instructions: NDArray[np.void], hw: HardwareConfig, ranges: Sequence[tuple[int, int]]
) -> Transfer | None:
    """The first LOAD or STORE, if any, whose DRAM bytes do not all lie inside one of the `ranges` of byte addresses [start, end).

    `instructions` has shape (n,) and `INSTRUCTION_DTYPE`, with absolute DRAM addresses. The bytes between the rows of a
    transfer count as touched.
    """
    opcode = instructions["opcode"]
    moves = ((opcode == Opcode.LOAD) | (opcode == Opcode.STORE)) & (instructions["x_size"] > 0) & (instructions["y_size"] > 0)
    index = np.flatnonzero(moves)
    if not len(index):
        return None
    chosen = instructions[index]
    sizes = np.ones(8, dtype=np.int64)
    for memory in MemoryType:
        sizes[memory] = hw.elem_bytes(memory)
    size = sizes[chosen["memory_type"]]
    starts = chosen["dram_base"] * size
    ends = starts + ((chosen["y_size"] - 1) * chosen["x_stride"] + chosen["x_size"]) * size
    bounds = np.array(sorted(ranges), dtype=np.int64).reshape(-1, 2)
    place = np.searchsorted(bounds[:, 0], starts, side="right") - 1
    outside = place < 0
    if len(bounds):
        outside |= ends > bounds[np.maximum(place, 0), 1]
    if not outside.any():
        return None
    first = int(np.argmax(outside))
    return Transfer(int(index[first]), int(starts[first]), int(ends[first]))
