"""Compiling and running kernels on this machine's processor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from vta.autotune.auto.measure import Run, Timing
from vta.autotune.auto.timing import least_seconds
from vta.host.llvm.jit import CompiledProgram, compile_object
from vta.host.loop.nest import Program
from vta.host.processors import CpuTarget
from vta.support.dataclass import dataclass

__all__ = ["CpuEngine"]


@dataclass(frozen=True)
class CpuEngine:
    """One thread of this machine; see `Engine`."""

    target: CpuTarget

    def build(self, program: Program) -> bytes:
        """See `Engine.build`: an object file."""
        return compile_object(program, self.target)

    def runs(self, programs: Sequence[Program], products: Sequence[bytes], inputs: Sequence[NDArray[Any]]) -> list[Run]:
        """See `Engine.runs`."""
        pairs = zip(programs, products, strict=True)
        return [CompiledProgram(program, code).prepared(list(inputs)) for program, code in pairs]

    def seconds(self, runs: Sequence[Run], timing: Timing) -> list[float]:
        """See `Engine.seconds`: by the thread's own clock."""
        return least_seconds([run.run for run in runs], timing.number, timing.min_repeat_ms / 1e3)
