"""Turns a fused operator of the graph into a VTA operator on packed blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import wrap32
from vta.ir.graph import Node, attrs_of
from vta.ir.macs import macs_of
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.nn.conv import Conv2DAttributes, Conv2DTransposeAttributes, transposed_weight
from vta.ir.ops.nn.pool import SumPool2DAttributes
from vta.ir.ops.quantized.rescale import RescaleAttributes
from vta.ir.ops.shape import PadAttributes
from vta.isa.instruction import DEPTHWISE_TAPS, AluOp
from vta.partition.fused.fused_operator import (
    FusedOperator,
    is_channelwise,
    is_operand,
    rescaled_operand,
    split_operand,
    value_and_operand,
)
from vta.tile.accumulator_init import with_accumulator_init
from vta.tile.copy_elision import with_elided_copies
from vta.tile.digits import DIGIT_BITS, bits_of_fewest_digits, digits_of, radix_digits
from vta.tile.gemm_operator import GemmOperator, OutputPadding
from vta.tile.gemm_term import GemmTerm, kept_blocks
from vta.tile.operator import Tensor, TileOperator
from vta.tile.packing import weight_blocks
from vta.tile.registry import TensorOf, template_builder
from vta.tile.step import Branch, Immediate, Join, Operand, PerChannel, Requantization, Step, TensorOperand

__all__ = ["constant_operand", "epilogue_of", "operator_of", "packed_tensor", "packed_weights"]

Array = NDArray[Any]

_SHIFT_MASK, _ONCE_BIT, _BYTES = 0x3F, 6, (8, 16, 24)
"""Where the control word of REQUANTIZE has its fields."""
_IMMEDIATE = range(-(1 << 15), 1 << 15)
_ALU = {ops.ADD: AluOp.ADD, ops.BIAS_ADD: AluOp.ADD, ops.MULTIPLY: AluOp.MUL, ops.MAXIMUM: AluOp.MAX, ops.MINIMUM: AluOp.MIN}
_KINDS = {
    ops.CONV2D: "conv2d",
    ops.CONV2D_TRANSPOSE: "conv2d_transpose",
    ops.DENSE: "dense",
    ops.SUM_POOL2D: "sum_pool2d",
    ops.CAST: "elementwise",
}


def packed_tensor(node: Node, hw: HardwareConfig, name: str) -> Tensor:
    """The packed tensor of a graph value of shape (N, C, H, W) or (N, C)."""
    batch, channels, height, width = (*node.shape, 1, 1)[:4]
    planes = 4 if node.dtype == "int32" else 1
    return Tensor(name, -(-batch // hw.batch), -(-channels // hw.block), height, width, planes)


def packed_weights(weights: NDArray[np.int8], hw: HardwareConfig) -> NDArray[np.int8]:
    """Pack (O, I, KH, KW) to (O/c, I/c, KH, KW, c, c), zeros in the tails; a view of the weights where there are no tails."""
    block = hw.block
    out, inp, height, width = weights.shape
    out_blocks, in_blocks = -(-out // block), -(-inp // block)
    whole = weights
    if (out % block, inp % block) != (0, 0):
        whole = np.zeros((out_blocks * block, in_blocks * block, height, width), np.int8)
        whole[:out, :inp] = weights
    return weight_blocks(whole, block)


def operator_of(fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> TileOperator:
    """Return the operator that computes `fused operator`; `tensor_of` gives the packed tensor of a value."""
    build = template_builder(fused.anchor.op)
    if build is not None:
        return build(fused, tensor_of, hw, name)
    return with_accumulator_init(with_elided_copies(_Builder(fused, tensor_of, hw).build(name), hw), hw)


def epilogue_of(fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, channels: int) -> tuple[Step, ...]:
    """The steps of a fused operator on `channels` of its channels, which are all treated alike."""
    return _Builder(fused, tensor_of, hw, channels).steps(fused.epilogue)


class _Builder:
    def __init__(self, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, channels: int = 0) -> None:
        self._fused = fused
        self._tensor_of = tensor_of
        self._hw = hw
        self._channels = channels or fused.result.shape[1]

    def build(self, name: str) -> GemmOperator:
        fused = self._fused
        root, steps = fused.anchor, list(fused.epilogue)
        digits: list[list[GemmTerm]] = [[]]
        macs = 0
        scaled: list[tuple[Node, NDArray[np.int64]]] = []
        if root is fused.result and root.dtype == "int8":
            digits[0].append(self._identity(fused.sources[0], np.ones(1, np.int64))[0][1])
            steps = [] if fused.output_padding is root else [root]
        elif root.op == ops.CAST:
            factor = np.ones(1, np.int64)
            if steps and steps[0].op in (ops.MULTIPLY, ops.LEFT_SHIFT) and _constant_operand(steps[0]) is not None:
                factor = self._factor(steps[0].op, _constant_operand(steps[0]))
                steps = steps[1:]
            scaled.append((root.inputs[0], factor))
        else:
            terms, macs = self._root_terms(root)
            digits[0] += terms
        rest: list[Node] = []
        linear = True
        for step in steps:
            operand = value_and_operand(step)[1]
            rescaled = operand is not None and rescaled_operand(operand) is not None
            linear = linear and step.op in (ops.ADD, ops.BIAS_ADD) and not fused.branches and not rescaled
            if linear and operand is not None and operand.op != ops.CONSTANT:
                source, factor_node, op = split_operand(operand)
                scaled.append((source, self._factor(op, factor_node)))
            else:
                rest.append(step)
        wide = self._hw.capabilities.requantize and len(scaled) > 1
        bits = bits_of_fewest_digits([factor for _, factor in scaled]) if wide else DIGIT_BITS
        for source, factor in scaled:
            self._spread(digits, source, factor, bits)
        converted = self.steps(rest)
        kind = _KINDS.get(root.op, "elementwise")
        output, padding = self._output()
        return GemmOperator(
            name=name,
            kind=kind,
            output=output,
            digits=radix_digits(digits, bits),
            epilogue=converted,
            macs=macs,
            output_padding=padding,
        )

    def steps(self, nodes: Sequence[Node]) -> tuple[Step, ...]:
        """The steps that `nodes` of the epilogue become, those of branches too."""
        root = self._fused.anchor
        converted = [*self._branches(root), *(converted for step in nodes for converted in self._continued(step))]
        return tuple(_clamped([*self._by_phase(root), *converted]))

    def _output(self) -> tuple[Tensor, OutputPadding | None]:
        """The tensor of the result, and the border around it in memory."""
        pad = self._fused.output_padding
        if pad is None:
            return self._tensor_of(self._fused.result), None
        attrs = attrs_of(pad, PadAttributes)
        (top, _), (left, _) = attrs.pad_width[2:]
        result = pad.inputs[0]
        inner = packed_tensor(result, self._hw, result.name)
        return inner, OutputPadding(self._tensor_of(pad), top, left, int(attrs.pad_value))

    def _continued(self, step: Node) -> list[Step]:
        """A step, and the branches that start from its value."""
        branch = self._fused.branch_at(step)
        own = self._steps(step) if branch is None else [Step(_ALU[step.op], Join(self._fused.branches.index(branch)))]
        return [*own, *self._branches(step)]

    def _branches(self, start: Node) -> list[Step]:
        branches = []
        for slot, branch in enumerate(self._fused.branches):
            if branch.start is start:
                steps = tuple(part for step in branch.steps for part in self._steps(step))
                branches.append(Step(AluOp.ADD, Branch(steps, slot)))
        return branches

    def _root_terms(self, root: Node) -> tuple[list[GemmTerm], int]:
        source_node = self._fused.sources[0]
        source = self._tensor_of(source_node)
        if root.op == ops.SUM_POOL2D:
            return [self._window_sum(source, attrs_of(root, SumPool2DAttributes))], 0
        weights = root.inputs[1].value
        assert weights is not None
        if root.op == ops.DENSE:
            image = (*source_node.shape, 1, 1)[1:4]
            parts = _int8_parts(weights.reshape(len(weights), *image))
            packed = [packed_weights(part, self._hw) for part in parts]
            return [GemmTerm(source, part, sparse=index > 0) for index, part in enumerate(packed)], root.shape[0] * weights.size
        attrs, macs = attrs_of(root, Conv2DAttributes), macs_of(root)
        if root.op == ops.CONV2D_TRANSPOSE:
            weights = transposed_weight(weights, attrs.groups)
        parts = _int8_parts(weights)
        if diagonal := _groups_fill_blocks(weights, attrs.groups, self._hw.block):
            packed = [self._diagonal_blocks(part) for part in parts]
        else:
            packed = [packed_weights(part, self._hw) for part in _int8_parts(_ungrouped(weights, attrs.groups))]
        terms = [
            GemmTerm(
                source,
                part,
                diagonal=diagonal,
                strides=attrs.strides,
                padding=attrs.padding[:2],
                dilation=attrs.dilation,
                groups=attrs.groups,
                sparse=index > 0 or _mostly_zero(part),
            )
            for index, part in enumerate(packed)
        ]
        if self._has_depthwise(root, weights):
            terms = [self._tapped(term, part) for term, part in zip(terms, parts, strict=True)]
        return ([_transposed(term) for term in terms] if root.op == ops.CONV2D_TRANSPOSE else terms), macs

    @staticmethod
    def _by_phase(root: Node) -> list[Step]:
        """The addition of what a transposed convolution adds to its outputs by phase; the first of them are cut off."""
        if root.op != ops.CONV2D_TRANSPOSE or len(root.inputs) == 2:
            return []
        values = root.inputs[2].value
        assert values is not None
        top, left = attrs_of(root, Conv2DTransposeAttributes).padding[:2]
        moved = np.roll(values.astype(np.int64), (-top, -left), axis=(1, 2))
        return [Step(AluOp.ADD, PerChannel(moved if moved[0].size > 1 else moved[:, 0, 0]))]

    def _window_sum(self, source: Tensor, pool: SumPool2DAttributes) -> GemmTerm:
        """The sum of windows times a factor: three neighboring columns in one product, where DEPTHWISE has them."""
        block, (height, width) = self._hw.block, pool.pool_size
        tapped = self._hw.capabilities.depthwise and width == DEPTHWISE_TAPS
        weights = np.zeros((block, block), np.int8) if tapped else pool.factor * np.eye(block, dtype=np.int8)
        if tapped:
            weights[:DEPTHWISE_TAPS] = pool.factor
        return GemmTerm(
            source,
            weights[None, None, None, None],
            diagonal=True,
            strides=pool.strides,
            padding=pool.padding[:2],
            window=(height, 1) if tapped else (height, width),
            taps=DEPTHWISE_TAPS if tapped else 1,
            is_transfer=True,
        )

    def _has_depthwise(self, root: Node, weights: Array) -> bool:
        """Whether DEPTHWISE computes a convolution: one with three neighboring columns for each channel."""
        if root.op != ops.CONV2D or not self._hw.capabilities.depthwise:
            return False
        attrs = attrs_of(root, Conv2DAttributes)
        return 1 < attrs.groups == len(weights) and weights.shape[1::2] == (1, DEPTHWISE_TAPS) and attrs.dilation[1] == 1

    def _tapped(self, term: GemmTerm, part: Array) -> GemmTerm:
        """The term by DEPTHWISE, unless it takes fewer products with the blocks that are not zero."""
        blocks = self._tapped_blocks(part)
        if term.sparse and term.kept_block_count <= math.prod(blocks.shape[:4]):
            return term
        return replace(term, weights=blocks, taps=DEPTHWISE_TAPS, sparse=False)

    def _tapped_blocks(self, weights: Array) -> NDArray[np.int8]:
        """Blocks (C/c, 1, KH, 1, c, c) of a depthwise convolution: row t has the weights of column t."""
        block = self._hw.block
        channels, _, height, taps = weights.shape
        padded = np.zeros((-(-channels // block) * block, height, taps), np.int8)
        padded[:channels] = weights[:, 0]
        result = np.zeros((len(padded) // block, 1, height, 1, block, block), np.int8)
        result[:, 0, :, 0, :taps] = padded.reshape(-1, block, height, taps).transpose(0, 2, 3, 1)
        return result

    def _diagonal_blocks(self, values: Array) -> NDArray[np.int8]:
        """Blocks (C/c, 1, KH, KW, c, c) of a convolution inside groups; `values` has shape (C, C/groups, KH, KW)."""
        block = self._hw.block
        channels, per_group, height, width = values.shape
        padded = np.zeros((-(-channels // block) * block, per_group, height, width), np.int8)
        padded[:channels] = values
        result = np.zeros((len(padded) // block, 1, height, width, block, block), np.int8)
        lanes = np.arange(block)[:, None]
        group = lanes // per_group * per_group + np.arange(per_group)
        blocks = padded.reshape(-1, block, per_group, height, width)
        result[:, 0, :, :, lanes, group] = blocks.transpose(1, 2, 0, 3, 4)
        return result

    def _factor(self, op: str, node: Node | None) -> NDArray[np.int64]:
        """The integer factor of a tensor operand: one value, or one per channel."""
        if node is None or node.value is None:
            return np.ones(1, np.int64)
        values = node.value.astype(np.int64).reshape(-1)
        return np.left_shift(np.int64(1), values) if op == ops.LEFT_SHIFT else values

    def _identity(self, node: Node, factor: NDArray[np.int64], bits: int = DIGIT_BITS) -> list[tuple[int, GemmTerm]]:
        """Terms that add factor * node, each with its digit of so many bits, -128..127; a factor of 0 gives a term too."""
        source = self._tensor_of(node)
        alone = is_channelwise(node.shape, self._fused.unpadded.shape)
        digits = [low.astype(np.int8) for low in digits_of(factor, bits)]
        kept = [(digit, low) for digit, low in enumerate(digits) if low.any()] or [(0, np.zeros(1, np.int8))]
        return [(digit, self._transfer(source, self._scaling_blocks(low), alone=alone)) for digit, low in kept]

    @staticmethod
    def _transfer(source: Tensor, blocks: NDArray[np.int8], *, alone: bool) -> GemmTerm:
        """A term that brings a tensor into the accumulator; `alone`: all outputs read its only position."""
        return GemmTerm(source, blocks, diagonal=True, strides=(0, 0) if alone else (1, 1), is_transfer=True)

    def _scaling_blocks(self, values: NDArray[np.int8]) -> NDArray[np.int8]:
        """Diagonal matrices that multiply by one value, or by one per channel."""
        if (values == values[0]).all():
            return np.diag(np.repeat(values[0], self._hw.block))[None, None, None, None]
        return self._diagonal_blocks(values[:, None, None, None])

    def _spread(self, digits: list[list[GemmTerm]], node: Node, factor: NDArray[np.int64], bits: int = DIGIT_BITS) -> None:
        for digit, term in self._identity(node, factor, bits):
            while len(digits) <= digit:
                digits.append([])
            digits[digit].append(term)

    def _steps(self, step: Node) -> list[Step]:
        operand = value_and_operand(step)[1]
        if step.op == ops.RELU:
            return [Step(AluOp.MAX, Immediate(0))]
        if step.op == ops.CLIP:
            low, high = (np.array([limit]) for limit in attrs_of(step, ClipAttributes).bounds(step.dtype))
            return [Step(AluOp.MAX, self._limit(low)), Step(AluOp.MIN, self._limit(high))]
        if step.op == ops.RESCALE:
            return [self._requantization(step)]
        assert operand is not None
        if is_operand(operand):
            digits: list[list[GemmTerm]] = [[]]
            source, factor, op = split_operand(operand)
            self._spread(digits, source, self._factor(op, factor))
            rescale = rescaled_operand(operand)
            own = () if rescale is None else (self._requantization(rescale),)
            return [Step(_ALU[step.op], TensorOperand(radix_digits(digits), own))]
        assert operand.value is not None
        values = operand.value.astype(np.int64).reshape(-1)
        if step.op == ops.RIGHT_SHIFT:
            return self._right_shifts(values)
        if step.op == ops.LEFT_SHIFT:
            if len(values) > 1 and not self._hw.capabilities.register_shift_left:
                return [Step(AluOp.MUL, self._operand(np.left_shift(np.int64(1), values)))]
            return self._left_shifts(values)
        if step.op in (ops.MAXIMUM, ops.MINIMUM):
            return [Step(_ALU[step.op], self._limit(values))]
        return [Step(_ALU[step.op], self._operand(values))]

    def _requantization(self, node: Node) -> Step:
        """REQUANTIZE with the parameters of `node`."""
        values = [given.value for given in node.inputs[1:4] if given.value is not None]
        bias, multiplier, shift = (np.resize(value, self._channels).astype(np.int64) for value in values)
        table = node.inputs[4].value if len(node.inputs) > 4 else None
        attrs = attrs_of(node, RescaleAttributes)
        control, wide = control_words(attrs, shift), not attrs.narrow
        operand = Requantization(bias=bias, multiplier=multiplier, control=control, wide=wide, table=table)
        return Step(AluOp.REQUANTIZE, operand)

    def _limit(self, values: NDArray[np.int64]) -> Operand:
        """A bound of the accumulator; one beyond its range bounds nothing."""
        half = 1 << (self._hw.acc_bits - 1)
        return self._operand(np.clip(values, -half, half - 1))

    def _right_shifts(self, amounts: NDArray[np.int64]) -> list[Step]:
        """Shift in as many steps as the target's range of amounts asks for; arithmetic shifts compose exactly."""
        limit = self._hw.capabilities.shift_max
        steps = []
        while amounts.any():
            part = np.minimum(amounts, limit)
            steps.append(Step(AluOp.SHR, self._operand(part)))
            amounts = amounts - part
        return steps

    def _left_shifts(self, amounts: NDArray[np.int64]) -> list[Step]:
        limit = -self._hw.capabilities.shift_min
        steps = []
        while amounts.any():
            part = np.minimum(amounts, limit)
            steps.append(Step(AluOp.SHR, self._operand(-part)))
            amounts = amounts - part
        return steps

    def _operand(self, values: NDArray[np.int64]) -> Operand:
        return constant_operand(values, self._channels)


def constant_operand(values: NDArray[np.int64], channels: int) -> Operand:
    """An immediate where one fits; else a value for each of `channels`."""
    if (values == values[0]).all():
        if int(values[0]) in _IMMEDIATE:
            return Immediate(int(values[0]))
        return PerChannel(np.full(channels, values[0], np.int64))
    return PerChannel(values)


def control_words(attrs: RescaleAttributes, shift: NDArray[np.int64]) -> NDArray[np.int64]:
    """The third row of parameters, as int32 held in int64, for `shift` of each channel."""
    words = ((shift if attrs.narrow else np.maximum(shift, 0)) & _SHIFT_MASK) | int(attrs.once) << _ONCE_BIT
    if attrs.narrow:
        for low, value in zip(_BYTES, (attrs.zero_point, attrs.a_min, attrs.a_max), strict=True):
            words = words | (value & 0xFF) << low
    else:
        words = words | attrs.left << _BYTES[0]
    return wrap32(words).astype(np.int64)


def _constant_operand(step: Node) -> Node | None:
    operand = value_and_operand(step)[1]
    return operand if operand is not None and operand.op == ops.CONSTANT else None


def _groups_fill_blocks(weights: NDArray[np.int8], groups: int, block: int) -> bool:
    """Whether no block of output channels needs any other block of input channels than the one in its own place."""
    out, per_group = weights.shape[:2]
    return groups > 1 and out == groups * per_group and block % per_group == 0


def _mostly_zero(blocks: NDArray[np.int8]) -> bool:
    """Whether so many blocks of weights are zero that leaving out their products is worth a micro-op for each other block."""
    enough = 7 * math.prod(blocks.shape[:4])
    # One row of each block settles it for most weights.
    return int(np.count_nonzero(blocks[..., 0, :].any(axis=4))) * 8 <= enough and len(kept_blocks(blocks)) * 8 <= enough


def _int8_parts(weights: Array) -> list[NDArray[np.int8]]:
    """Weights as a sum of int8 arrays: one, or two where some of them do not fit int8."""
    if weights.dtype == np.int8:
        return [weights]
    low = np.clip(weights, -128, 127)
    return [low.astype(np.int8), (weights - low).astype(np.int8)]


def _transposed(term: GemmTerm) -> GemmTerm:
    """A term with the strides and padding of a transposed convolution as one that slides over its source, strides apart."""
    padding = [(size - 1) * step - cut for size, step, cut in zip(term.kernel, term.dilation, term.padding, strict=True)]
    return replace(term, strides=(1, 1), padding=(padding[0], padding[1]), source_dilation=term.strides)


def _ungrouped(weights: Array, groups: int) -> Array:
    """The dense weights of a grouped convolution: zero wherever groups differ."""
    if groups == 1:
        return weights
    out, per_group, height, width = weights.shape
    dense = np.zeros((groups, out // groups, groups, per_group, height, width), weights.dtype)
    index = np.arange(groups)
    dense[index, :, index] = weights.reshape(groups, out // groups, per_group, height, width)
    return dense.reshape(out, groups * per_group, height, width)


def _clamped(steps: list[Step]) -> list[Step]:
    """Join neighboring immediate MAX and MIN steps into at most one of each, where that is the same function."""
    result: list[Step] = []
    for step in steps:
        bound = _bound(step)
        if not result or bound is None:
            result.append(step)
            continue
        run = _clamp_run(result)
        low, high = _bounds(result[len(result) - run :])
        change = max if step.op is AluOp.MAX else min
        del result[len(result) - run :]
        result += _clamp_steps(change(low, bound), change(high, bound))
    return result


_UNBOUNDED = 1 << 40


def _clamp_run(steps: list[Step]) -> int:
    count = 0
    while count < len(steps) and _bound(steps[-1 - count]) is not None:
        count += 1
    return min(count, 2)


def _bound(step: Step) -> int | None:
    """The immediate of a MAX or MIN step; None for others."""
    if isinstance(step.operand, Immediate) and step.op in (AluOp.MAX, AluOp.MIN):
        return step.operand.value
    return None


def _bounds(steps: list[Step]) -> tuple[int, int]:
    low, high = -_UNBOUNDED, _UNBOUNDED
    for step in steps:
        bound = _bound(step)
        assert bound is not None
        change = max if step.op is AluOp.MAX else min
        low, high = change(low, bound), change(high, bound)
    return low, high


def _clamp_steps(low: int, high: int) -> list[Step]:
    steps = []
    if low > -_UNBOUNDED:
        steps.append(Step(AluOp.MAX, Immediate(low)))
    if high < _UNBOUNDED:
        steps.append(Step(AluOp.MIN, Immediate(high)))
    return steps
