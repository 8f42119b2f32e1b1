"""The sketch of matrices: blocks whose threads multiply matrices of bytes together, 32 at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from vta.autotune.auto.gpu.blocks import APART, DIRECT, SHARED, BlockSketch
from vta.autotune.auto.gpu.reduction import Reduction, Source
from vta.autotune.auto.sketch import Choices, Knob, order_of, part_of
from vta.host.gpu.tensor_tiles import TENSOR_WORDS
from vta.host.gpu.tiling import TURNS, SpatialTile, block_steps, tensor_counts, tensor_steps
from vta.host.loop.compute import Axis, Kernel
from vta.host.loop.expression import Load
from vta.host.loop.grid import GridLimits
from vta.host.loop.steps import Step, Unroll

__all__ = ["TENSOR", "MatrixSketch", "word_axis"]

TENSOR = "tensor"
"""A knob with one choice, by which hints tell this sketch from that of blocks."""
_ROW_THREADS, _COLUMN_THREADS = (8, 16, 32, 64), (4,)
_INNER = (2, 4, 8)
_OPERANDS = 4 * TENSOR_WORDS
"""Results and words of one product."""
_BYTES = 4


class MatrixSketch(BlockSketch):
    """Blocks of threads, 8 along the first axis beside 4 along the last one, that multiply matrices of bytes.

    The knobs are those of `BlockSketch`. Steps of the reduction are whole matrices; what is read is copied to shared memory by
    words of four bytes, or lies in memory as it is.
    """

    name = "matrices"
    _turns = TURNS

    def __init__(self, kernel: Kernel, reduction: Reduction, limits: GridLimits) -> None:
        self._word = word_axis(reduction)
        super().__init__(kernel, reduction, limits)

    def _knobs(self) -> list[Knob]:
        rows, *_, columns = [axis.name for axis in self._reduction.tiled]
        own = {
            f"threads.{rows}": _ROW_THREADS,
            f"threads.{columns}": _COLUMN_THREADS,
            f"inner.{rows}": _INNER,
            f"inner.{columns}": _INNER,
        }
        own |= {f"virtual.{axis.name}": (1,) for axis in self._reduction.tiled}
        found = [Knob(knob.name, own.get(knob.name, knob.options)) for knob in super()._knobs()]
        words = f"sum.{self._word}"
        whole = {knob.name: knob.options for knob in found}[words]
        matrices = tuple(count for count in whole if isinstance(count, int) and count % TENSOR_WORDS == 0)
        found = [Knob(words, matrices) if knob.name == words else knob for knob in found]
        places = {f"at.{source.name}": self._places(source) for source in self._reduction.sources}
        found = [Knob(knob.name, places.get(knob.name, knob.options)) for knob in found]
        return [*found, Knob(TENSOR, (1,))]

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
        return super().problem(choices)

    def _reads(self, source: Source, axis: Axis) -> bool:
        return any(name == self._own[axis.name] for terms in source.dimensions for name, _ in terms)

    def _written(self, choices: Choices, sums: int, extents: dict[str, int]) -> int:
        return sums * prod(extents[name] for name in self._unrolled(choices)) // _OPERANDS

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
