"""The sketch of long reductions of few results: the threads of a block share what is summed up for one."""

from __future__ import annotations

from vta.autotune.auto.gpu.blocks import APART, DIRECT, source_steps
from vta.autotune.auto.gpu.reduction import Reduction
from vta.autotune.auto.sketch import Choices, Knob, Sketch, divisors, number_of, order_of, orders, part_of
from vta.host.gpu.splitting import shared_parts
from vta.host.loop.compute import Kernel
from vta.host.loop.grid import GridLimits
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Inline, Step

__all__ = ["ThreadSketch"]

_COLUMNS = (1, 2, 4, 8, 16, 32, 64)
_MOST_UNROLLED = 64


class ThreadSketch(Sketch):
    """Blocks of a few results, `columns` of them along the last axis; the threads of a block sum up a part each.

    The parts wait in shared memory, and are added up there.
    """

    name = "threads"

    def __init__(self, kernel: Kernel, reduction: Reduction, limits: GridLimits) -> None:
        self._kernel = scheduled(kernel, reduction.first).kernel
        self._reduction = reduction
        self._limits = limits
        *_, self._last = reduction.tiled
        self._row = next(mine for mine, theirs in reduction.axes.items() if theirs == self._last.name)
        """The axis of the reduction that stands for the last one."""
        parts = [
            (axis.name, count)
            for axis in reduction.sums
            for count in divisors(axis.extent)[:-1]
            if 1 < axis.extent // count <= limits.block[1]
        ]
        names = [axis.name for axis in reduction.sums]
        sources = [Knob(f"at.{source.name}", _places(source.cheap, source.stage)) for source in reduction.sources]
        columns = tuple(count for count in _COLUMNS if count < 2 * self._last.extent)
        unroll = tuple(range(len(names) + 1))
        self.knobs = (Knob("part", tuple(parts)), Knob("columns", columns), Knob("sums", orders(names)))
        self.knobs = (*self.knobs, Knob("unroll", unroll), *sources)

    def problem(self, choices: Choices) -> str:
        """See `Sketch.problem`."""
        part, count = part_of(choices)
        extents = {axis.name: axis.extent for axis in self._reduction.sums}
        threads = extents[part] // count * number_of(choices, "columns")
        if threads > self._limits.threads:
            return "the threads of a block"
        if threads * self._reduction.main.output.nbytes // max(1, _elements(self._reduction)) > self._limits.shared_bytes:
            return "the shared memory"
        length = 1
        for name in self._unrolled(choices):
            length *= count if name == part else extents[name]
        return "the length of the code" if length > _MOST_UNROLLED else ""

    def _unrolled(self, choices: Choices) -> tuple[str, ...]:
        order = order_of(choices, "sums")
        return order[len(order) - number_of(choices, "unroll") :]

    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """See `Sketch.steps`."""
        reduction = self._reduction
        inlined = [source.name for source in reduction.sources if source.stage and choices[f"at.{source.name}"] == DIRECT]
        steps = shared_parts(
            reduction.out,
            reduction.main,
            (self._last.name, self._row),
            part_of(choices),
            number_of(choices, "columns"),
            order_of(choices, "sums"),
            self._unrolled(choices),
            reduction.dot,
        )
        before = [*reduction.first, *(Inline(name) for name in inlined)]
        return (*before, *steps, *source_steps(self._kernel, reduction, choices, self._limits))


def _elements(reduction: Reduction) -> int:
    count = 1
    for axis in reduction.main.axes:
        count *= axis.extent
    return count


def _places(cheap: bool, stage: bool) -> tuple[str, ...]:
    return (*([DIRECT] if cheap else []), *([APART] if stage else []))
