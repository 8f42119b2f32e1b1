"""The sketch of tiles: blocks of threads with their sums in registers, what they read near to them, sums cut into parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from math import ceil, prod

import numpy as np

from vta.autotune.auto.gpu.reduction import Reduction, Source, parted, read_through
from vta.autotune.auto.sketch import WHOLE, Choice, Choices, Knob, Sketch, divisors, number_of, order_of, orders, part_of
from vta.host.gpu.schedule import thread_steps
from vta.host.gpu.tiling import SpatialTile, block_steps, fetch_steps
from vta.host.loop.compute import Axis, Kernel
from vta.host.loop.grid import GridLimits
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import ComputeAt, Dot, Inline, Reorder, Share, Split, Step, Unroll

__all__ = ["APART", "DIRECT", "SHARED", "BlockSketch", "inlined_sources", "places_of", "source_steps"]

SHARED, DIRECT, APART = "shared", "direct", "apart"
_VIRTUAL = (1, 2, 4)
_THREADS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_INNER = (1, 2, 4, 8)
_WIDTHS = (4, 2, 1)
_MOST_SUMS = 128
"""Of a thread, so that they are registers."""
_OTHER_REGISTERS = 24
"""That a thread has for other things."""
_MOST_PARTS = 64
_FEWEST_THREADS = 16
_WRITTEN_OUT = 2048
"""Products of a thread that are written out."""
_BUSY_THREADS = 512
"""Of each processor, so that others go on while some wait."""
_NEAR = 2.0
"""What it takes to read a value of shared memory, in products."""


class BlockSketch(Sketch):
    """A reduction whose results blocks of threads compute, a tile each.

    Of each of the last three axes a block has `virtual.AXIS` parts that lie apart, `threads.AXIS` threads, and `inner.AXIS`
    neighbours a thread. Of each axis of the reduction `sum.AXIS` values are added up between two waits. What is read comes from
    memory that the threads share, copied there some neighbours at a time, or directly; what is computed for it may be computed by
    itself before. The reduction may be cut into parts, which other blocks sum up.
    """

    name = "blocks"
    _turns = 1
    """Of copies to shared memory, that are written out."""

    def __init__(self, kernel: Kernel, reduction: Reduction, limits: GridLimits) -> None:
        self._kernel = scheduled(kernel, reduction.first).kernel
        self._reduction = reduction
        self._limits = limits
        self._own = {theirs: mine for mine, theirs in reduction.axes.items()}
        """The axes of the reduction by those of what reads it."""
        self.knobs = tuple(self._knobs())

    def _knobs(self) -> list[Knob]:
        reduction = self._reduction
        knobs = []
        for axis in reduction.tiled:
            few = [size for size in _THREADS if size < 2 * axis.extent]
            threads = tuple(sorted({*few, *divisors(axis.extent, 64)}))
            inner = tuple(sorted({*(size for size in _INNER if size <= axis.extent), *divisors(axis.extent, 8)}))
            knobs += [Knob(f"virtual.{axis.name}", _VIRTUAL), Knob(f"threads.{axis.name}", threads)]
            knobs.append(Knob(f"inner.{axis.name}", inner))
        names = [axis.name for axis in reduction.sums]
        knobs += [Knob(f"sum.{axis.name}", divisors(axis.extent)) for axis in reduction.sums]
        knobs += [Knob("outer", orders(names)), Knob("inner", orders(names)), Knob("unroll", tuple(range(len(names) + 1)))]
        parts = [
            (axis.name, count)
            for axis in reduction.sums
            for count in divisors(axis.extent)[:-1]
            if axis.extent // count <= _MOST_PARTS
        ]
        knobs.append(Knob("part", (WHOLE, *parts)))
        for source in reduction.sources:
            knobs.append(Knob(f"at.{source.name}", places_of(source)))
            knobs += [Knob(f"width.{source.name}", _WIDTHS)] if source.copied else []
        return knobs

    def drawn(self, rng: np.random.Generator) -> tuple[int, ...]:
        """See `Sketch.drawn`: no block is twice as long as its axis."""
        genes = list(super().drawn(rng))
        for at, cuts in enumerate(self._fitting):
            genes[3 * at : 3 * at + 3] = cuts[int(rng.integers(len(cuts)))]
        return tuple(genes)

    @cached_property
    def _fitting(self) -> list[list[tuple[int, ...]]]:
        """For each axis, options of its three knobs, the first ones, that make blocks which are not twice as long."""
        found = []
        for at, axis in enumerate(self._reduction.tiled):
            options = [knob.options for knob in self.knobs[3 * at : 3 * at + 3]]
            genes = product(*(range(len(some)) for some in options))
            found.append(
                [these for these in genes if _fits(axis, [some[gene] for some, gene in zip(options, these, strict=True)])]
            )
        return found

    def _cuts(self, choices: Choices) -> list[tuple[Axis, SpatialTile]]:
        return [
            (axis, SpatialTile(*(number_of(choices, f"{kind}.{axis.name}") for kind in ("virtual", "threads", "inner"))))
            for axis in self._reduction.tiled
        ]

    def _extents(self, choices: Choices, cuts: Sequence[tuple[Axis, SpatialTile]]) -> dict[str, int]:
        """How much of each axis of the reduction a block has at a time."""
        reduction = self._reduction
        found = {axis.name: 1 for axis in (*reduction.main.axes, *reduction.main.reduce)}
        found |= {self._own[axis.name]: cut.extent for axis, cut in cuts}
        found |= {axis.name: number_of(choices, f"sum.{axis.name}") for axis in reduction.sums}
        return found | ({reduction.dot: 4} if reduction.dot else {})

    def problem(self, choices: Choices) -> str:
        """See `Sketch.problem`."""
        cuts = self._cuts(choices)
        threads, sums = prod(cut.threads for _, cut in cuts), prod(cut.virtual * cut.inner for _, cut in cuts)
        if not min(_FEWEST_THREADS, prod(axis.extent for axis, _ in cuts)) <= threads <= self._limits.threads:
            return "the threads of a block"
        if any(cut.threads > most for (_, cut), most in zip(cuts[::-1], self._limits.block, strict=False)):
            return "the threads of a block along one axis"
        if any(not _fits(axis, (cut.extent,)) for axis, cut in cuts):
            return "a block twice as long as its axis"
        if sums > _MOST_SUMS or threads * (sums + _OTHER_REGISTERS) > self._limits.registers:
            return "the registers"
        part, count = part_of(choices)
        if part and count % number_of(choices, f"sum.{part}"):
            return "a step that does not divide its part"
        extents = self._extents(choices, cuts)
        shared = [source for source in self._reduction.sources if choices[f"at.{source.name}"] == SHARED]
        if any(size != extents[axis] for source in shared for axis, size in source.groups):
            return "a block that is not one group"
        if sum(source.bytes_of(extents) for source in shared) > self._limits.shared_bytes:
            return "the shared memory"
        if self._written(choices, sums, extents) > _WRITTEN_OUT:
            return "the length of the code"
        return ""

    def _written(self, choices: Choices, sums: int, extents: dict[str, int]) -> int:
        """Products of a thread that are written out."""
        return sums * prod(extents[name] for name in self._unrolled(choices))

    def _unrolled(self, choices: Choices) -> tuple[str, ...]:
        order = order_of(choices, "inner")
        return order[len(order) - number_of(choices, "unroll") :]

    def guess(self, choices: Choices) -> float:
        """See `Sketch.guess`: loads of a product, what is computed for nothing, and processors that have nothing to do."""
        cuts = self._cuts(choices)
        own = {self._own[axis.name]: cut.virtual * cut.inner for axis, cut in cuts}
        sums = prod(own.values())
        near = sum(
            prod(own[axis] for axis in {axis for terms in source.dimensions for axis, _ in terms} if axis in own)
            for source in self._reduction.sources
        )
        blocks = prod(ceil(axis.extent / cut.extent) for axis, cut in cuts)
        waste = blocks * prod(cut.extent / axis.extent for axis, cut in cuts)
        part, count = part_of(choices)
        if part:
            blocks *= next(axis.extent for axis in self._reduction.sums if axis.name == part) // count
        threads = blocks * prod(cut.threads for _, cut in cuts)
        busy = min(1.0, blocks / self._limits.processors, threads / (self._limits.processors * _BUSY_THREADS))
        return waste * (1 + _NEAR * near / sums) / busy

    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """See `Sketch.steps`."""
        reduction = self._reduction
        part, count = part_of(choices)
        cuts = self._cuts(choices)
        steps: list[Step] = [*reduction.first, *(Inline(name) for name in inlined_sources(reduction, choices))]
        out, sums, named = reduction.out.name, reduction.main.name, [(axis.name, cut) for axis, cut in cuts]
        lead = [axis.name for axis in reduction.out.axes if axis not in reduction.tiled]
        if part:
            first, out, sums = parted(reduction, part, count)
            steps += first
            named = [(self._own[axis.name], cut) for axis, cut in cuts]
            known = {name for name, _ in named}
            lead = [out, *(axis.name for axis in reduction.main.axes if axis.name not in known)]
        copies = self._copies(choices)
        steps += [read_through(sums, source.name) for source, _ in copies if not source.stage]
        steps += [*self._block_steps(out, lead, named), ComputeAt(sums, out, f"{named[-1][0]}_t")]
        steps += self._sum_steps(sums, choices)
        threads = self._thread_counts(cuts)
        for source, (name, axes) in copies:
            width = self._width(choices, source)
            steps += [
                ComputeAt(name, sums, self._step_loop(choices)),
                Share(name),
                *fetch_steps(name, axes, threads, width, self._turns),
            ]
        steps += source_steps(self._kernel, reduction, choices, self._limits)
        return (*steps, *self._total_steps()) if part else tuple(steps)

    def _thread_counts(self, cuts: Sequence[tuple[Axis, SpatialTile]]) -> list[int]:
        """Threads along the axes of a block, the last one those of neighbors."""
        return [cut.threads for _, cut in cuts]

    def _width(self, choices: Choices, source: Source) -> int:
        """Neighbors that are copied together."""
        return number_of(choices, f"width.{source.name}") if source.copied else 1

    def _block_steps(self, out: str, lead: Sequence[str], named: Sequence[tuple[str, SpatialTile]]) -> list[Step]:
        return list(block_steps(out, lead, named))

    def _copies(self, choices: Choices) -> list[tuple[Source, tuple[str, list[str]]]]:
        """What comes from shared memory, with the stage that copies it and its axes."""
        found = []
        for source in self._reduction.sources:
            if choices[f"at.{source.name}"] != SHARED:
                continue
            if source.stage:
                copy = (source.name, [axis.name for axis in self._kernel.stage(source.name).axes])
            else:
                copy = (f"{source.name}.copy", [f"r{at}" for at in range(len(source.dimensions))])
            found.append((source, copy))
        return found

    def _single(self) -> list[str]:
        """Axes of the reduction that have one value."""
        return [axis.name for axis in self._reduction.main.reduce if axis.extent == 1]

    def _step_loop(self, choices: Choices) -> str:
        """The loop inside of which a step of the reduction is."""
        order = order_of(choices, "outer")
        return f"{order[-1]}_o" if order else self._single()[-1]

    def _splits(self, name: str, choices: Choices) -> list[Step]:
        return [
            Split(name, axis.name, number_of(choices, f"sum.{axis.name}"), f"{axis.name}_o", f"{axis.name}_i")
            for axis in self._reduction.sums
        ]

    def _sum_steps(self, name: str, choices: Choices) -> list[Step]:
        reduction = self._reduction
        steps = self._splits(name, choices)
        outer, inner = ([f"{axis}_{kind}" for axis in order_of(choices, key)] for key, kind in (("outer", "o"), ("inner", "i")))
        spatial = [axis.name for axis in reduction.main.axes]
        dot = [reduction.dot] if reduction.dot else []
        steps.append(Reorder(name, (*self._single(), *outer, *inner, *spatial, *dot)))
        steps += [Unroll(name, axis) for axis in spatial]
        steps += [Dot(name, axis) for axis in dot]
        return [*steps, *(Unroll(name, f"{axis}_i") for axis in self._unrolled(choices))]

    def _total_steps(self) -> list[Step]:
        """What adds up the parts: a thread for each result."""
        reduction = self._reduction
        return [*thread_steps(reduction.out, self._limits), ComputeAt(reduction.main.name, reduction.out.name, "thread")]


def _fits(axis: Axis, sizes: Sequence[Choice]) -> bool:
    extent = prod(size for size in sizes if isinstance(size, int))
    return extent < 2 * axis.extent or extent == 1


def places_of(source: Source) -> tuple[str, ...]:
    """Where a reduction can have something from that it reads."""
    return (SHARED, *([DIRECT] if source.cheap else []), *([APART] if source.stage else []))


def inlined_sources(reduction: Reduction, choices: Choices) -> list[str]:
    """Stages that are computed anew wherever the reduction reads them."""
    return [source.name for source in reduction.sources if source.stage and choices[f"at.{source.name}"] == DIRECT]


def source_steps(kernel: Kernel, reduction: Reduction, choices: Choices, limits: GridLimits) -> list[Step]:
    """The steps of stages that are computed by themselves."""
    apart = [source.name for source in reduction.sources if choices[f"at.{source.name}"] == APART]
    stages = [*reduction.others, *(kernel.stage(name) for name in apart)]
    return [step for stage in stages for step in thread_steps(stage, limits)]
