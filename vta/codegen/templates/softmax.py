"""The templates of a softmax: roots of exponentials by a table, and the shares of their squares by computed multipliers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Segment, Stream
from vta.codegen.templates.row_program import (
    ALONG_COLUMNS,
    RowProgram,
    RowTemplate,
    factor_rows,
    narrow_control,
    rows_are_images,
    wide_control,
)
from vta.codegen.templates.template import Rows, template
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.ir import names as ops
from vta.ir.arithmetic.rows import ONE, Factor, Reciprocal
from vta.ir.graph import attrs_of
from vta.ir.ops.quantized.rows import ROOT_OFFSET, SharesAttributes, TermsAttributes, roots_table
from vta.isa.instruction import REQUANTIZE_TABLE, AluOp
from vta.partition.fused.fused_operator import FusedOperator
from vta.schedule.tile_sizes import Size
from vta.support.dataclass import dataclass
from vta.tile.registry import TensorOf, register_builder
from vta.tile.single_source import SingleSourceOperator

if TYPE_CHECKING:
    from typing import Self

__all__ = ["MaskedSoftmaxTerms", "SoftmaxShares", "SoftmaxTerms", "added_planes"]

_UNCHANGED = 1 << 30
"""The multiplier that leaves alone what is shifted to the left by 1."""
_REFINED_LEFT = 2
_COARSE = 4
"""What bytes of -128 are multiplied by to be as far below as nothing comes back from."""
MOST_SPARE = 64
"""Rows of results that are stored where a mask leaves nothing."""
_FAR = _COARSE * 128
"""Two int8 values are 255 apart, and 255 more is where roots are 0."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Terms(RowTemplate):
    """The largest value of each channel, and what a table holds for the differences from it, which the unit looks up."""

    rate: int

    @property
    def _masks(self) -> bool:
        """Whether what is far below has no root."""
        return False

    @property
    def _arrays(self) -> int:
        return 3

    @property
    def _least_tiles(self) -> int:
        return 4

    def _constants(self) -> Sequence[int]:
        return _UNCHANGED, narrow_control(1, 127), -128

    def emit(self, stream: Stream, addresses: Mapping[str, int]) -> None:
        """Emit the whole operator; `addresses` gives the arena element where each memory starts."""
        table = stream.add_constant(roots_table(self.rate, self._masks), MemoryType.TABLE)
        stream.load(MemoryType.TABLE, 0, Segment.CONSTANTS, table, stream.hw.depth(MemoryType.TABLE))
        super().emit(stream, addresses)

    def _compute(self, program: RowProgram) -> None:
        largest, multiplier, control = program.arrays(3)
        program.clear_arrays()
        program.with_constant(AluOp.ADD, largest, 2)
        program.with_constant(AluOp.ADD, multiplier, 0)
        program.with_constant(AluOp.ADD, control, 1)
        program.bring()
        self._add(program)
        program.gather(AluOp.MAX, largest)
        program.by(AluOp.MUL, largest, -1)
        program.narrow(largest, REQUANTIZE_TABLE)

    def _add(self, program: RowProgram) -> None:
        """Add to the values what lies beside them."""


@template(ops.QNN_SOFTMAX_TERMS, kinds=("softmax_terms",), when=ALONG_COLUMNS, rules=(rows_are_images,))
@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxTerms(_Terms):
    """The terms of values as they are."""

    kind: str = "softmax_terms"

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The terms of the one node of `fused`."""
        rate = attrs_of(fused.anchor, TermsAttributes).rate
        return cls(name=name, source=tensor_of(fused.sources[0]), output=tensor_of(fused.result), rate=rate)


@template(kinds=("masked_softmax_terms",))
@dataclass(frozen=True, eq=False, kw_only=True)
class MaskedSoftmaxTerms(_Terms):
    """The terms of values to which a constant is added, as a mask is; what is 255 below the largest or more has none."""

    kind: str = "masked_softmax_terms"
    factor: int
    """What the last plane of the constant is multiplied by; one before it counts as it is."""
    added: NDArray[np.int8]
    """Shape (planes, blocks, columns, BLOCK): the same blocks again and again."""

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The terms of the one node of `fused`, of the sums of its values and of a constant."""
        anchor, value = fused.anchor, fused.anchor.inputs[1].value
        assert value is not None, "`rows_are_images` lets nothing else pass"
        added, factor = added_planes(value, anchor.shape[0], anchor.shape[1], hw.block)
        source, output, rate = tensor_of(fused.sources[0]), tensor_of(fused.result), attrs_of(anchor, TermsAttributes).rate
        return cls(name=name, source=source, output=output, rate=rate, factor=factor, added=added)

    def check(self, hw: HardwareConfig) -> None:
        """Raise `CompileError` naming the limit if no tile fits `hw`, or the constant is not that of the columns and BLOCK."""
        planes, blocks, *rest = self.added.shape
        if rest != [self.source.width, hw.block] or not 1 <= planes <= 2 or (self.source.batch * self.source.blocks) % blocks:
            raise CompileError(f"{self.name}: a constant of shape {self.added.shape} is not that of {self.source} on {hw.model}")
        super().check(hw)

    def tile_rows(self, tile: Size) -> Rows:
        """The values and what is added to them, and in the accumulator the arrays of statistics."""
        rows = super().tile_rows(tile)
        return Rows(rows.inp * (1 + len(self.added)), rows.acc)

    @property
    def _masks(self) -> bool:
        return True

    def _identities(self) -> Sequence[int]:
        return 1, self.factor

    @property
    def workload_key(self) -> Hashable:
        """What others have, and what is computed of each block."""
        return super().workload_key, tuple(self._columns.tolist())

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        """Columns of each block of what is added, up to the last one that it leaves something of."""
        return visible_columns(self.added, self.factor)

    @property
    def _spare(self) -> int:
        return spare_rows(self.source.width, self._columns)

    @property
    def _hidden(self) -> int:
        return -ROOT_OFFSET

    def _visible(self, first: int, blocks: int) -> int:
        return most_visible(self._columns, first, blocks, self.source.width)

    def _add_beside(self, stream: Stream) -> Sequence[int]:
        return [stream.add_constant(np.ascontiguousarray(plane), MemoryType.INP) for plane in self.added]

    def _load_beside(self, stream: Stream, beside: Sequence[int], first: int, blocks: int, width: int, inp: int) -> None:
        period, whole = self.added.shape[1:3]
        for start in beside:
            done = 0
            while done < blocks:
                at = (first + done) % period
                count = min(blocks - done, period - at)
                shape = (count * whole, 1, 0) if width == whole else (width, count, whole)
                stream.load(MemoryType.INP, inp, Segment.CONSTANTS, start + at * whole, *shape)
                inp, done = inp + count * width, done + count

    def _add(self, program: RowProgram) -> None:
        last = len(self.added)
        for plane in range(1, last + 1):
            program.bring(identity=int(plane == last), beside=plane)


def _terms_of(fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> SingleSourceOperator:
    """The terms of values as they are, or of their sums with a constant."""
    of = SoftmaxTerms if len(fused.anchor.inputs) == 1 else MaskedSoftmaxTerms
    return of.build(fused, tensor_of, hw, name)


register_builder(ops.QNN_SOFTMAX_TERMS, _terms_of)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Shares(RowTemplate):
    """Squares, their sum, its reciprocal by Newton's method, and that as the multiplier of squares."""

    factor: tuple[int, int]
    """Multiplier and shift to the left."""

    @property
    def _arrays(self) -> int:
        return 7

    def _constants(self) -> Sequence[int]:
        line = Reciprocal(self.source.width)
        return (
            *factor_rows(line.slope, line.bias),
            *factor_rows(Factor(*self.factor)),
            2 * ONE,
            wide_control(_REFINED_LEFT),
            narrow_control(0),
            line.half,
        )

    def _compute(self, program: RowProgram) -> None:
        line = Reciprocal(self.source.width)
        # Parameters of values, then those of the reciprocal itself.
        zero, reciprocal, control, none, error, refined, total = program.arrays(7)
        program.clear_arrays()
        program.with_constant(AluOp.ADD, control, 8)
        program.with_constant(AluOp.ADD, refined, 7)
        program.bring()
        program.add_to_values(ROOT_OFFSET)
        program.square()
        program.gather(AluOp.ADD, total)
        if line.shift:
            program.with_constant(AluOp.ADD, total, 9)
            program.by(AluOp.SHR, total, line.shift)
        program.array(AluOp.ADD, reciprocal, total)
        program.scale(reciprocal, 0)
        program.by(AluOp.MUL, total, -1)
        for _ in range(line.iterations):
            program.copy(error, total)
            program.array(AluOp.MUL, error, reciprocal)
            program.with_constant(AluOp.ADD, error, 6)
            program.multiply(reciprocal, none)
        program.scale(reciprocal, 3)
        program.narrow(zero)


@template(ops.QNN_SOFTMAX_SHARES, kinds=("softmax_shares",), when=ALONG_COLUMNS, rules=(rows_are_images,))
@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxShares(_Shares):
    """The shares of any terms."""

    kind: str = "softmax_shares"

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The shares of the one node of `fused`."""
        source = tensor_of(fused.sources[0])
        factor = attrs_of(fused.anchor, SharesAttributes).factor(source.width)
        output = tensor_of(fused.result)
        return cls(name=name, source=source, output=output, factor=(factor.multiplier, factor.left))


@template(kinds=("masked_softmax_shares",))
@dataclass(frozen=True, eq=False, kw_only=True)
class MaskedSoftmaxShares(_Shares):
    """The shares of terms of which columns behind those that a mask leaves are zero."""

    kind: str = "masked_softmax_shares"
    columns: NDArray[np.int64]
    """Those that are left, of blocks that follow each other again and again."""

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The shares of the one node of `fused`, of terms that a constant was added to."""
        plain = SoftmaxShares.build(fused, tensor_of, hw, name)
        terms = fused.anchor.inputs[0]
        added = terms.inputs[1].value
        assert added is not None, "`rows_are_images` lets nothing else pass"
        columns = visible_columns(*added_planes(added, terms.shape[0], terms.shape[1], hw.block))
        return cls(name=name, source=plain.source, output=plain.output, factor=plain.factor, columns=columns)

    @property
    def workload_key(self) -> Hashable:
        """What others have, and what is computed of each block."""
        return super().workload_key, tuple(self.columns.tolist())

    @property
    def _spare(self) -> int:
        return spare_rows(self.source.width, self.columns)

    def _visible(self, first: int, blocks: int) -> int:
        return most_visible(self.columns, first, blocks, self.source.width)


def _shares_of(fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> SingleSourceOperator:
    """The shares of terms, of which some columns are known to be zero where a constant was added."""
    terms = fused.anchor.inputs[0]
    masked = terms.op == ops.QNN_SOFTMAX_TERMS and len(terms.inputs) > 1 and terms.inputs[1].value is not None
    return (MaskedSoftmaxShares if masked else SoftmaxShares).build(fused, tensor_of, hw, name)


register_builder(ops.QNN_SOFTMAX_SHARES, _shares_of)


def added_planes(added: NDArray[Any], samples: int, channels: int, block: int) -> tuple[NDArray[np.int8], int]:
    """Bytes for numbers that are added to rows, which are channels, and the factor of the last plane; the others have factor 1.

    `added` has shape (period, columns), any integers, and the result (planes, blocks, columns, `block`). Each row less its
    largest number, cut where nothing comes back from, is what counts: a softmax does not tell rows apart that differ by one
    number.
    """
    columns = added.shape[1]
    period = samples * channels if channels % block else lcm(len(added), block)
    rows = added.astype(np.int64)
    rows = np.maximum(rows - rows.max(axis=1, keepdims=True), -_FAR)
    rows = np.tile(rows, (period // len(rows), 1))
    if channels % block:
        images = np.zeros((samples, -(-channels // block) * block, columns), np.int64)
        images[:, :channels] = rows.reshape(samples, channels, columns)
        rows = images.reshape(-1, columns)
    blocks = rows.reshape(-1, block, columns).transpose(0, 2, 1)
    if not (blocks % _COARSE).any():
        planes, factor = [blocks // _COARSE], _COARSE
    elif blocks.min() >= -255:
        planes, factor = [blocks + 127], 1
    else:
        planes, factor = [blocks % _COARSE, blocks // _COARSE], _COARSE
    return np.stack(planes).astype(np.int8), factor


def visible_columns(added: NDArray[np.int8], factor: int) -> NDArray[np.int64]:
    """The columns of each block, at least 1, up to the last one that some row of it has anything left of; arguments as there."""
    below = added[-1].astype(np.int64) * factor + (added[0] if len(added) > 1 else 0)
    left = (below > below.max(axis=1, keepdims=True) - _FAR).any(axis=2)
    return np.asarray(np.where(left, np.arange(1, left.shape[1] + 1), 1).max(axis=1), np.int64)


def most_visible(columns: NDArray[np.int64], first: int, blocks: int, width: int) -> int:
    """The most columns of some blocks, from `first` on."""
    found = columns[np.arange(first, first + blocks) % len(columns)].max()
    return int(np.clip(found, 1, width))


def spare_rows(width: int, columns: NDArray[np.int64]) -> int:
    """Rows of what is stored where nothing is computed: few of them, stored several times."""
    return int(np.clip(width - columns.min(), 0, MOST_SPARE))
