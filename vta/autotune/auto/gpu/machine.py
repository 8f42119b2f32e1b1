"""A GPU as the search sees it."""

from __future__ import annotations

from vta.autotune.auto.gpu.blocks import BlockSketch
from vta.autotune.auto.gpu.cost import gpu_figures
from vta.autotune.auto.gpu.matrices import MatrixSketch, word_axis
from vta.autotune.auto.gpu.plain import ElementSketch
from vta.autotune.auto.gpu.reduction import reduction_of
from vta.autotune.auto.gpu.rows import RowSketch, rows_of
from vta.autotune.auto.gpu.threads import ThreadSketch
from vta.autotune.auto.machine import Figures
from vta.autotune.auto.sketch import Sketch
from vta.autotune.gpu.task import GpuTarget
from vta.host.loop.compute import Kernel
from vta.host.loop.errors import LoopError
from vta.host.loop.grid import grid_of
from vta.host.loop.nest import Program
from vta.host.loop.size import local_bytes, written_out
from vta.support.dataclass import dataclass

__all__ = ["GpuMachine"]

_WRITTEN_OUT = 8192
"""Statements that a program may be long."""
_FEW_RESULTS = 1 << 16
"""So many results keep all threads busy: none of these need be shared by several."""


@dataclass(frozen=True)
class GpuMachine:
    """A kind of GPU; see `Machine`."""

    target: GpuTarget

    @property
    def text(self) -> str:
        """See `Machine.text`."""
        return str(self.target)

    def matches(self, text: str) -> bool:
        """See `Machine.matches`."""
        return self.target.matches(text)

    def sketches(self, kernel: Kernel) -> tuple[Sketch, ...]:
        """Tiles of the heaviest reduction, its sums shared by threads, rows that blocks keep, or each element by itself."""
        limits = self.target.limits
        found: list[Sketch] = [ElementSketch(kernel, limits)]
        rows = rows_of(kernel)
        if rows is not None:
            found.append(RowSketch(rows, limits))
        reduction = reduction_of(kernel)
        if reduction is not None:
            found.append(BlockSketch(kernel, reduction, limits))
            if limits.tensor and word_axis(reduction):
                found.append(MatrixSketch(kernel, reduction, limits))
            elements = reduction.main.output.nbytes // 4
            threads = ThreadSketch(kernel, reduction, limits)
            if elements <= _FEW_RESULTS and threads.size:
                found.append(threads)
        return tuple(found)

    def figures(self, program: Program) -> Figures | None:
        """See `Machine.figures`."""
        limits = self.target.limits
        try:
            for function in program.functions:
                grid_of(function).check(limits)
        except LoopError:
            return None
        if written_out(program) > _WRITTEN_OUT or local_bytes(program) > limits.local_bytes:
            return None
        return gpu_figures(program, limits)
