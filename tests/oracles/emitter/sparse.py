"""Products of a term most of whose weight blocks are zero: one micro-op for each block that is not."""

from __future__ import annotations

from tests.oracles.emitter.loop_nest import Folded, Uop, spaced
from vta.codegen.stream import Loop
from vta.config.hardware import HardwareConfig

__all__ = ["sparse_fold"]


def sparse_fold(uops: list[Uop], outer: Loop, inner: Loop, hw: HardwareConfig) -> list[Folded]:
    """The instructions that visit `uops` at every point of two loops."""
    step = hw.uop_depth if spaced(uops, hw) else 1
    return [Folded(tuple(uops[first : first + step]), outer, inner) for first in range(0, len(uops), step)]
