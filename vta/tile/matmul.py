"""Products of two tensors of a region: one of them lies in memory as weights do, and is loaded as such.

With BATCH 1 an element of a packed tensor is a place's channels of one block. So a block of neighboring columns is a block of
weights: a row for each column, which becomes an output channel, with the input channels along it. Nothing is copied. What the
zero points add are products too: of the data with a constant, and of a constant tensor with the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.ir.arithmetic.fixed_point import wrap32
from vta.ir.graph import attrs_of
from vta.ir.macs import macs_of
from vta.ir.ops.matmul import Matmul2DAttributes
from vta.isa.instruction import AluOp
from vta.partition.fused.fused_operator import FusedOperator
from vta.tile.accumulator_init import with_accumulator_init
from vta.tile.copy_elision import with_elided_copies
from vta.tile.gemm_operator import COPY, GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit, computed_term
from vta.tile.lowering import constant_operand, epilogue_of
from vta.tile.operator import Tensor
from vta.tile.registry import TensorOf
from vta.tile.step import Immediate, Requantization, Step

__all__ = ["matmul_operators"]

_LARGEST = 127
"""Of an int8."""


def matmul_operators(fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Iterator[GemmOperator]:
    """The operators that compute a fused product of two tensors, one for each group of channels; all are called `name`."""
    attrs = attrs_of(fused.anchor, Matmul2DAttributes)
    data, weights = (tensor_of(source) for source in fused.anchor.inputs)
    output, blocks = tensor_of(fused.result), weights.blocks // attrs.groups
    outputs = output.blocks // attrs.groups
    both = blocks * hw.block * attrs.lhs_zero_point * attrs.rhs_zero_point
    steps = _with_constant(epilogue_of(fused, tensor_of, hw, outputs * hw.block), both, outputs * hw.block)
    constant = None
    if attrs.lhs_zero_point:
        constant = _constant_tensor(name, _part(data, 0, blocks), -attrs.lhs_zero_point, hw)
        yield constant
    for group in range(attrs.groups):
        source, factor = (_part(tensor, group * blocks, blocks) for tensor in (data, weights))
        operator = GemmOperator(
            name=name,
            kind="matmul2d",
            output=_part(output, group * outputs, outputs),
            digits=_digits(source, factor, constant, attrs, hw),
            epilogue=steps,
            macs=macs_of(fused.anchor) // attrs.groups,
        )
        yield with_accumulator_init(with_elided_copies(operator, hw), hw)


def _part(tensor: Tensor, first: int, count: int) -> Tensor:
    return tensor if count == tensor.blocks else tensor.part(f"{tensor.name}.{first}", first, count)


def _constant_tensor(name: str, like: Tensor, value: int, hw: HardwareConfig) -> GemmOperator:
    """An operator that stores one value, or half of it where that is no int8, in one place with the channels of `like`."""
    output = Tensor(f"{like.name} is {value}", like.batch, like.blocks, 1, 1)
    nothing = np.zeros((1, 1, 1, 1, hw.block, hw.block), np.int8)
    term = GemmTerm(like, nothing, diagonal=True, is_transfer=True)
    step = Step(AluOp.ADD, Immediate(value if value <= _LARGEST else value // 2))
    return GemmOperator(name=name, kind=COPY, output=output, digits=(RadixDigit(0, (term,)),), epilogue=(step,))


def _digits(
    source: Tensor, weights: Tensor, constant: GemmOperator | None, attrs: Matmul2DAttributes, hw: HardwareConfig
) -> tuple[RadixDigit, ...]:
    """The products; those with 128, which no int8 is, are with half of it, and doubled."""
    product = computed_term(source, weights, hw.block)
    halves: list[GemmTerm] = []
    terms = [product]
    if attrs.rhs_zero_point:
        value = -attrs.rhs_zero_point
        values = np.full(product.weights.shape, value if value <= _LARGEST else value // 2, np.int8)
        (terms if value <= _LARGEST else halves).append(GemmTerm(source, values))
    if constant is not None:
        term = computed_term(constant.output, weights, hw.block, strides=(0, 0))
        (terms if -attrs.lhs_zero_point <= _LARGEST else halves).append(term)
    whole = RadixDigit(1 if halves else 0, tuple(terms))
    return (RadixDigit(0, tuple(halves)), whole) if halves else (whole,)


def _with_constant(steps: tuple[Step, ...], value: int, channels: int) -> tuple[Step, ...]:
    """The steps after the addition of `value`, which is what both zero points make together."""
    if not value:
        return steps
    first = steps[0] if steps else None
    if first is not None and isinstance(first.operand, Requantization):
        bias = wrap32(first.operand.bias + value).astype(np.int64)
        return (replace(first, operand=replace(first.operand, bias=bias)), *steps[1:])
    known = first.operand.constant if first is not None and first.op is AluOp.ADD else None
    total = np.array([value]) if known is None else known + value
    return (Step(AluOp.ADD, constant_operand(wrap32(total).astype(np.int64), channels)), *steps[known is not None :])
