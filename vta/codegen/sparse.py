"""Products of a term most of whose weight blocks are zero: one micro-op for each block that is not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.codegen.loop_nest import Folded, spaced
from vta.codegen.stream import Loop
from vta.config.hardware import HardwareConfig
from vta.isa.instruction import UOP_DTYPE

__all__ = ["sparse_fold"]


def sparse_fold(rows: NDArray[np.int64], outer: Loop, inner: Loop, hw: HardwareConfig) -> list[Folded]:
    """The instructions that visit `rows`, shape (n, 3) of (dst, src, wgt), at every point of two loops."""
    uops = np.zeros(len(rows), UOP_DTYPE)
    for position, name in enumerate(("dst", "src", "wgt")):
        uops[name] = rows[:, position]
    step = hw.uop_depth if spaced(uops["dst"], hw) else 1
    return [Folded(uops[first : first + step], outer, inner) for first in range(0, len(uops), step)]
