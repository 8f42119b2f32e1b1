"""The templates of a softmax: roots of exponentials by a table, and the shares of their squares by computed multipliers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

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
from vta.codegen.templates.template import template
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.ir import names as ops
from vta.ir.arithmetic.rows import ONE, Factor, Reciprocal
from vta.ir.graph import attrs_of
from vta.ir.ops.quantized.rows import ROOT_OFFSET, SharesAttributes, TermsAttributes, roots_table
from vta.isa.instruction import REQUANTIZE_TABLE, AluOp
from vta.partition.fused.fused_operator import FusedOperator
from vta.support.dataclass import dataclass
from vta.tile.registry import TensorOf

if TYPE_CHECKING:
    from typing import Self

__all__ = ["SoftmaxShares", "SoftmaxTerms"]

_UNCHANGED = 1 << 30
"""The multiplier that leaves alone what is shifted to the left by 1."""
_REFINED_LEFT = 2


@template(ops.QNN_SOFTMAX_TERMS, kinds=("softmax_terms",), when=ALONG_COLUMNS, rules=(rows_are_images,))
@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxTerms(RowTemplate):
    """The largest value of each channel, and what a table holds for the differences from it, which the unit looks up."""

    kind: str = "softmax_terms"
    rate: int

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The terms of the one node of `fused`."""
        rate = attrs_of(fused.anchor, TermsAttributes).rate
        return cls(name=name, source=tensor_of(fused.sources[0]), output=tensor_of(fused.result), rate=rate)

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
        table = stream.add_constant(roots_table(self.rate), MemoryType.TABLE)
        stream.load(MemoryType.TABLE, 0, Segment.CONSTANTS, table, stream.hw.depth(MemoryType.TABLE))
        super().emit(stream, addresses)

    def _compute(self, program: RowProgram) -> None:
        largest, multiplier, control = program.arrays(3)
        program.clear_arrays()
        program.with_constant(AluOp.ADD, largest, 2)
        program.with_constant(AluOp.ADD, multiplier, 0)
        program.with_constant(AluOp.ADD, control, 1)
        program.bring()
        program.gather(AluOp.MAX, largest)
        program.by(AluOp.MUL, largest, -1)
        program.narrow(largest, REQUANTIZE_TABLE)


@template(ops.QNN_SOFTMAX_SHARES, kinds=("softmax_shares",), when=ALONG_COLUMNS, rules=(rows_are_images,))
@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxShares(RowTemplate):
    """Squares, their sum, its reciprocal by Newton's method, and that as the multiplier of squares."""

    kind: str = "softmax_shares"
    factor: tuple[int, int]
    """Multiplier and shift to the left."""

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The shares of the one node of `fused`."""
        source = tensor_of(fused.sources[0])
        factor = attrs_of(fused.anchor, SharesAttributes).factor(source.width)
        output = tensor_of(fused.result)
        return cls(name=name, source=source, output=output, factor=(factor.multiplier, factor.left))

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
