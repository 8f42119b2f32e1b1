"""The sketch of matrices: blocks whose threads multiply matrices of bytes together, 32 at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from vta.autotune.auto.gpu.blocks import APART, DIRECT, SHARED, BlockSketch, inlined_sources, source_steps
from vta.autotune.auto.gpu.reduction import Reduction, Source, read_through
from vta.autotune.auto.sketch import Choice, Choices, Knob, divisors, number_of, order_of, part_of
from vta.host.gpu.tensor_tiles import PARTS, TENSOR_WORDS
from vta.host.gpu.tiling import TURNS, SpatialTile, block_steps, fetch_steps, shared_sums, tensor_counts, tensor_steps
from vta.host.loop.compute import Axis, Kernel
from vta.host.loop.expression import Load
from vta.host.loop.grid import GridLimits
from vta.host.loop.steps import ComputeAt, Inline, Share, Step, Unroll

__all__ = ["TENSOR", "MatrixSketch", "word_axis"]

TENSOR = "tensor"
"""The knob of parts that the threads of a block share; by it hints tell this sketch from that of blocks."""
_ROW_THREADS, _COLUMN_THREADS = (8, 16, 32, 64), (4,)
_INNER = (2, 4, 8)
_OPERANDS = 4 * TENSOR_WORDS
"""Results and words of one product."""
_BYTES = 4


class MatrixSketch(BlockSketch):
    """Blocks of threads, 8 along the first axis beside 4 along the last one, that multiply matrices of bytes.

    The knobs are those of `BlockSketch`. Steps of the reduction are whole matrices; what is read is copied to shared memory by
    words of four bytes, or lies in memory as it is. A sum may be of parts, which the threads of a block have.
    """

    name = "matrices"
    _turns = TURNS

    def __init__(self, kernel: Kernel, reduction: Reduction, limits: GridLimits) -> None:
        self._word = word_axis(reduction)
        super().__init__(kernel, reduction, limits)

    def _knobs(self) -> list[Knob]:
        rows, *_, columns = [axis.name for axis in self._reduction.tiled]
        own: dict[str, tuple[Choice, ...]] = {
            f"threads.{rows}": _ROW_THREADS,
            f"threads.{columns}": _COLUMN_THREADS,
            f"inner.{rows}": _INNER,
            f"inner.{columns}": _INNER,
        }
        own |= {f"virtual.{axis.name}": (1,) for axis in self._reduction.tiled}
        own |= {f"at.{source.name}": self._places(source) for source in self._reduction.sources}
        extent = self._words()
        own[f"sum.{self._word}"] = tuple(count for count in divisors(extent) if count % TENSOR_WORDS == 0)
        found = [Knob(knob.name, own.get(knob.name, knob.options)) for knob in super()._knobs()]
        return [*found, Knob(TENSOR, tuple(count for count in PARTS if extent // TENSOR_WORDS % count == 0))]

    def _words(self) -> int:
        """Words of a sum, along the axis of matrices."""
        return next(axis.extent for axis in self._reduction.sums if axis.name == self._word)

    def _places(self, source: Source) -> tuple[str, ...]:
        """Where an operand can come from; what is no plain copy is not computed by each thread."""
        if not source.stage:
            return (DIRECT, SHARED)
        stage = self._kernel.stage(source.name)
        # Only copies keep the bytes of a word together.
        is_copy = isinstance(stage.value, Load) and stage.value.indices[-1:] == (stage.axes[-1].var,)
        return (DIRECT, SHARED) if is_copy else (SHARED, APART)

    def problem(self, choices: Choices) -> str:
        """See `Sketch.problem`."""
        apart = [source for source in self._reduction.sources if choices[f"at.{source.name}"] != SHARED]
        beyond = [axis for axis, cut in self._cuts(choices) if axis.extent % cut.extent]
        if any(self._reads(source, axis) for source in apart for axis in beyond):
            return "operands beyond the end, which nothing tests"
        part, count = part_of(choices)
        if part == self._word and count % TENSOR_WORDS:
            return "a part that is not of whole matrices"
        return self._problem_of_parts(choices) or super().problem(choices)

    def _problem_of_parts(self, choices: Choices) -> str:
        shared = number_of(choices, TENSOR)
        if shared == 1:
            return ""
        cuts = [cut for _, cut in self._cuts(choices)]
        if part_of(choices)[0] or any(cut.threads > 1 for cut in cuts[1:-1]):
            return "parts of blocks and of threads, or threads in the middle"
        if self._words() % (shared * number_of(choices, f"sum.{self._word}")):
            return "a step that does not divide its part"
        if shared * prod(cut.threads for cut in cuts) > self._limits.threads:
            return "the threads of a block"
        extents = self._extents(choices, self._cuts(choices))
        sources = [source for source in self._reduction.sources if choices[f"at.{source.name}"] == SHARED]
        nbytes = sum(source.bytes_of(extents) for source in sources) + _BYTES * shared * prod(cut.extent for cut in cuts)
        return "the shared memory" if nbytes > self._limits.shared_bytes else ""

    def _extents(self, choices: Choices, cuts: Sequence[tuple[Axis, SpatialTile]]) -> dict[str, int]:
        found = super()._extents(choices, cuts)
        return {**found, self._word: found[self._word] * number_of(choices, TENSOR)}

    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """See `Sketch.steps`."""
        reduction, shared = self._reduction, number_of(choices, TENSOR)
        if shared == 1:
            return super().steps(choices)
        cuts = self._cuts(choices)
        named = [(axis.name, cut) for axis, cut in cuts]
        lead = [axis.name for axis in reduction.out.axes if axis not in reduction.tiled]
        own = [self._own[name] for name, _ in named]
        sums, steps = shared_sums(reduction.out.name, lead, named, reduction.main, own, (self._word, shared))
        before = [*reduction.first, *(Inline(name) for name in inlined_sources(reduction, choices))]
        copies = self._copies(choices)
        steps += [read_through(sums, source.name) for source, _ in copies if not source.stage]
        steps += self._sum_steps(sums, choices)
        counts = tensor_counts([cut for _, cut in cuts], shared)
        for _, (name, axes) in copies:
            steps += [ComputeAt(name, sums, self._step_loop(choices)), Share(name)]
            steps += fetch_steps(name, axes, counts, _BYTES, self._turns)
        return (*before, *steps, *source_steps(self._kernel, reduction, choices, self._limits))

    def _reads(self, source: Source, axis: Axis) -> bool:
        return any(name == self._own[axis.name] for terms in source.dimensions for name, _ in terms)

    def _written(self, choices: Choices, sums: int, extents: dict[str, int]) -> int:
        words = prod(extents[name] for name in self._unrolled(choices)) // number_of(choices, TENSOR)
        return sums * words // _OPERANDS

    def _thread_counts(self, cuts: Sequence[tuple[Axis, SpatialTile]]) -> list[int]:
        return tensor_counts([cut for _, cut in cuts])

    def _width(self, choices: Choices, source: Source) -> int:
        return _BYTES

    def _block_steps(self, out: str, lead: Sequence[str], named: Sequence[tuple[str, SpatialTile]]) -> list[Step]:
        return list(block_steps(out, lead, named, tensor=True))

    def _sum_steps(self, name: str, choices: Choices) -> list[Step]:
        reduction = self._reduction
        outer, inner = ([f"{axis}_{kind}" for axis in order_of(choices, key)] for key, kind in (("outer", "o"), ("inner", "i")))
        spatial = [axis.name for axis in reduction.main.axes]
        rows, *_, columns = (self._own[axis.name] for axis in reduction.tiled)
        depth = f"{self._word}_i", reduction.dot
        steps = [*self._splits(name, choices)]
        steps += tensor_steps(name, [*self._single(), *outer], inner, spatial, (rows, columns), depth)
        return [*steps, *(Unroll(name, f"{axis}_i_s" if axis == self._word else f"{axis}_i") for axis in self._unrolled(choices))]


def word_axis(reduction: Reduction) -> str:
    """The axis of a reduction of bytes whose words are those of matrices; empty if there is none."""
    fitting = [axis.name for axis in reduction.sums if axis.extent % TENSOR_WORDS == 0]
    return fitting[0] if fitting and reduction.dot and len(reduction.tiled) > 1 else ""
