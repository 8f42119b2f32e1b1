"""The template of a normalisation: sums of values and of squares, and one over their root by Newton's method as multiplier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
from vta.ir import names as ops
from vta.ir.arithmetic.rows import MEAN_BITS, Factor, Root, Squares
from vta.ir.graph import attrs_of
from vta.ir.ops.quantized.rows import QnnNormalizeAttributes
from vta.isa.instruction import AluOp
from vta.partition.fused.fused_operator import FusedOperator
from vta.support.dataclass import dataclass
from vta.tile.registry import TensorOf

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Normalize"]

_SIGN = 31


@template(ops.QNN_NORMALIZE, kinds=("normalize",), when=ALONG_COLUMNS, rules=(rows_are_images,))
@dataclass(frozen=True, eq=False, kw_only=True)
class Normalize(RowTemplate):
    """Each channel less its mean, over its deviation; or over the root of its mean square."""

    kind: str = "normalize"
    center: int
    """1 or 0."""
    added: int
    """To the sum of squares."""
    left: int
    """By how much values are shifted before the product."""
    factor: tuple[int, int]
    """What roots are multiplied by: multiplier and shift to the left."""

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The normalisation of the one node of `fused`."""
        attrs = attrs_of(fused.anchor, QnnNormalizeAttributes)
        source, output = tensor_of(fused.sources[0]), tensor_of(fused.result)
        factor = attrs.factor(source.width)
        return cls(
            name=name,
            source=source,
            output=output,
            center=int(attrs.center),
            added=attrs.added(source.width),
            left=attrs.left(source.width),
            factor=(factor.multiplier, factor.left),
        )

    @property
    def _arrays(self) -> int:
        return 17

    def _identities(self) -> Sequence[int]:
        return 1, 1 << MEAN_BITS

    def _constants(self) -> Sequence[int]:
        of = Squares(self.source.width)
        return (
            *factor_rows(of.mean),
            *factor_rows(of.offset),
            *factor_rows(Root.SLOPE, Root.BIAS),
            *factor_rows(Factor(*self.factor)),
            self.added,
            of.least,
            Root.THREE,
            wide_control(of.left),
            wide_control(Root.SQUARE_LEFT),
            wide_control(Root.PRODUCT_LEFT),
            wide_control(Root.RESULT_LEFT),
            narrow_control(self.left),
            *(-(1 << (Root.OF_BITS - level)) for level in Root.LEVELS),
        )

    def _compute(self, program: RowProgram) -> None:
        # Three arrays each: parameters of values, of the sum, of the root, of its square, and of the product.
        parameters = program.arrays(15)
        offset, multiplier = parameters[0], parameters[1]
        total, squares = program.arrays(2)
        program.clear_arrays()
        for at, number in ((2, 19), (5, 15), (8, 16), (11, 17), (14, 18)):
            program.with_constant(AluOp.ADD, parameters[at], number)
        program.bring()
        program.square()
        program.gather(AluOp.ADD, squares)
        program.clear_values()
        fraction = Squares(self.source.width).fraction
        if fraction:
            program.by(AluOp.SHR, squares, -fraction)
        if self.center:
            self._take_mean(program, offset, total, squares, parameters[3])
        program.with_constant(AluOp.ADD, squares, 12)
        program.with_constant(AluOp.MAX, squares, 13)
        self._take_root(program, squares, total, parameters)
        program.array(AluOp.ADD, multiplier, parameters[7])
        program.scale(multiplier, 9)
        program.array(AluOp.SHR, multiplier, total)
        program.bring(identity=1)
        program.narrow(offset)

    @staticmethod
    def _take_mean(program: RowProgram, offset: int, total: int, squares: int, parameters: int) -> None:
        """Minus the mean into `offset`, and its square off the sum of squares."""
        program.add_up(total)
        mean = program.after(parameters)
        for copy in (offset, mean):
            program.array(AluOp.ADD, copy, total)
        program.scale(offset, 3)
        program.scale(mean, 0)
        program.multiply(total, parameters)
        program.by(AluOp.MUL, total, -1)
        program.array(AluOp.ADD, squares, total)

    @staticmethod
    def _take_root(program: RowProgram, squares: int, shift: int, parameters: Sequence[int]) -> None:
        """The root into the parameters from the seventh on; `shift` becomes half of what squares are shifted by."""
        root, value, product = parameters[7], parameters[10], parameters[13]
        program.clear(shift, program.blocks)
        for at, level in enumerate(Root.LEVELS):
            program.copy(product, squares)
            program.with_constant(AluOp.ADD, product, 20 + at)
            program.by(AluOp.SHR, product, _SIGN)
            program.by(AluOp.MUL, product, level)
            program.array(AluOp.SHR, squares, product)
            program.array(AluOp.ADD, shift, product)
        program.by(AluOp.SHR, shift, 1)
        program.array(AluOp.ADD, value, squares)
        program.array(AluOp.ADD, root, squares)
        program.scale(root, 6)
        for _ in range(Root.ITERATIONS):
            program.copy(product, root)
            program.multiply(product, parameters[6])
            program.multiply(product, parameters[9])
            program.by(AluOp.MUL, product, -1)
            program.with_constant(AluOp.ADD, product, 14)
            program.multiply(root, parameters[12])
