"""Static bounds of integer values: what an accumulator can reach whatever the input, and warnings where it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import per_channel, residual_multiplier
from vta.ir.diagnostics import OVERFLOW, Diagnostic
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.macs import macs_of
from vta.ir.ops.matmul import Matmul2DAttributes, MatmulAttributes
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.nn.conv import Conv2DTransposeAttributes, phase_sums, transposed_weight
from vta.ir.ops.nn.norm import AxisAttributes
from vta.ir.ops.nn.pool import SumPool2DAttributes
from vta.ir.ops.quantized.qnn import ProductAttributes, RequantizeAttributes, base_attributes
from vta.ir.ops.quantized.rescale import RescaleAttributes
from vta.native import ffi, lib
from vta.support.on_cores import on_cores
from vta.support.row_slices import row_slices

__all__ = [
    "accumulator_bound",
    "added_constant",
    "interval",
    "magnitude_sums",
    "magnitudes",
    "overflow_warnings",
    "residual_bound",
]

Array = NDArray[Any]

_Known = dict[Node, Array]
_Rule = Callable[[Node, _Known], Array]

_PRODUCTS = (ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE, ops.MATMUL2D, ops.QNN_MATMUL, ops.SUM_POOL2D)

_TYPE_LIMITS = {"int8": 128, "uint8": 255, "int16": 2**15, "int32": 2**31}


def accumulator_bound(node: Node) -> int:
    """Return a magnitude that the integer value `node` exceeds for no input, as if integers were unbounded."""
    return int(magnitudes(node).max(initial=0))


def magnitudes(node: Node, known: dict[Node, Array] | None = None) -> Array:
    """Return the bound of `node` as int64: one value, or one for each channel where they differ (broadcasts against the value).

    `known` keeps the bounds found, for further calls.
    """
    memo = {} if known is None else known
    if node not in memo:
        memo[node] = _magnitudes(node, memo)
    return memo[node]


def added_constant(value: Node) -> Array | None:
    """Return the constant that the last step of `value` adds, one number or one for each channel, or None."""
    if value.op not in (ops.ADD, ops.BIAS_ADD) or value.inputs[1].value is None:
        return None
    operand, rank = value.inputs[1].value, len(value.shape)
    if value.op == ops.BIAS_ADD:
        return per_channel(operand, rank, attrs_of(value, AxisAttributes).axis)
    padded = (1,) * (rank - operand.ndim) + operand.shape
    return operand if all(dim == 1 or axis == 1 for axis, dim in enumerate(padded)) else None


def interval(node: Node) -> tuple[Array, Array]:
    """Return the least and the largest value of the integer value `node`, as int64: one each, or one for each channel (axis 1).

    For a product of the quantised dialect with its bias they follow from the signs of the weights; else from `magnitudes`.
    """
    joined = added_constant(node)
    product = node.inputs[0] if joined is not None else node
    offset = np.zeros(1, np.int64) if joined is None else joined.reshape(-1).astype(np.int64)
    if product.op in (ops.QNN_CONV2D, ops.QNN_CONV2D_TRANSPOSE, ops.QNN_DENSE) and product.inputs[1].value is not None:
        weight = product.inputs[1].value.astype(np.int64)
        zero_point = attrs_of(product, ProductAttributes).input_zero_point
        low, high = -128 - zero_point, 127 - zero_point
        up, down = _output_sums(product, np.maximum(weight, 0)), _output_sums(product, np.minimum(weight, 0))
        ends = up * min(low, 0) + down * max(high, 0), up * max(high, 0) + down * min(low, 0)
        return offset + ends[0].min(axis=1), offset + ends[1].max(axis=1)
    if node.dtype in ("int8", "uint8"):
        info = np.iinfo(node.dtype)
        return np.array([info.min], np.int64), np.array([info.max], np.int64)
    bound = np.minimum(magnitudes(node).reshape(-1), _TYPE_LIMITS["int32"] - 1)
    return -bound, bound


def magnitude_sums(values: NDArray[Any]) -> NDArray[np.int64]:
    """The sum of the magnitudes of each row of integers, int64, shape (rows,); a row is what has one index of the first axis."""
    sums = np.zeros(len(values), np.int64)

    def find(rows: slice) -> None:
        part = values[rows].reshape(len(sums[rows]), -1)
        if part.dtype == np.int8:
            given = ffi.from_buffer("int8_t[]", np.ascontiguousarray(part))
            lib.vta_magnitude_sums(given, *part.shape, ffi.from_buffer("int64_t[]", sums[rows]))
        else:
            sums[rows] = np.abs(part, dtype=np.int64).sum(axis=1)

    if values.size:
        on_cores(find, row_slices(values))
    return sums


def _magnitudes(node: Node, known: _Known) -> Array:
    if node.op == ops.CONSTANT:
        assert node.value is not None
        return np.abs(node.value.astype(np.int64))
    if node.op in _RULES and node.dtype == "int32":
        return _RULES[node.op](node, known)
    if node.op == ops.CLIP:
        return _clip(node, known)
    return np.asarray(_TYPE_LIMITS.get(node.dtype, _TYPE_LIMITS["int32"]), np.int64)


def _weighted(node: Node, known: _Known) -> Array:
    """Bound of a convolution or dense product: the weights' magnitudes times the largest input."""
    weight = node.inputs[1]
    largest = 128 + (abs(node.attrs.input_zero_point) if isinstance(node.attrs, ProductAttributes) else 0)
    if weight.value is None:
        return np.asarray(int(np.prod(weight.shape[1:])) * 128 * largest, np.int64)
    if node.op.endswith("conv2d_transpose"):
        sums = _output_sums(node, np.abs(weight.value.astype(np.int64))) * largest
    else:
        sums = magnitude_sums(weight.value)[:, None] * largest
    if len(node.inputs) > 2:
        # What a transposed convolution adds by phase.
        sums = sums + magnitudes(node.inputs[2], known).reshape(len(sums), -1)
    return per_channel(sums.max(axis=1), len(node.shape), 1)


def _of_tensors(node: Node, known: _Known) -> Array:
    """Bound of a product of two tensors."""
    attrs = node.attrs
    assert isinstance(attrs, MatmulAttributes | Matmul2DAttributes)
    depth = macs_of(node) // prod(node.shape)
    return np.asarray(depth * (128 + abs(attrs.lhs_zero_point)) * (128 + abs(attrs.rhs_zero_point)), np.int64)


def _output_sums(node: Node, values: Array) -> Array:
    """Sums of `values`, one for each weight of a product, over those that meet in one output.

    Shape (O, 1); of a transposed convolution, whose outputs do not all meet the same weights, (O, phases).
    """
    if not node.op.endswith("conv2d_transpose"):
        return np.asarray(values.reshape(len(values), -1).sum(axis=1, keepdims=True))
    attrs = base_attributes(Conv2DTransposeAttributes, node.attrs)
    positions = transposed_weight(values, attrs.groups).sum(axis=1)[:, ::-1, ::-1]
    return phase_sums(positions, attrs).reshape(len(positions), -1)


def _sum_pool(node: Node, known: _Known) -> Array:
    attrs = attrs_of(node, SumPool2DAttributes)
    return np.asarray(128 * prod(attrs.pool_size) * attrs.factor, np.int64)


def _bias(node: Node, known: _Known) -> Array:
    bias = magnitudes(node.inputs[1], known)
    return magnitudes(node.inputs[0], known) + per_channel(bias, len(node.shape), attrs_of(node, AxisAttributes).axis)


def _combined(combine: Callable[[Array, Array], Array]) -> _Rule:
    def rule(node: Node, known: _Known) -> Array:
        return np.asarray(combine(magnitudes(node.inputs[0], known), magnitudes(node.inputs[1], known)))

    return rule


def _shift(change: Callable[[Array, Array], Array]) -> _Rule:
    def rule(node: Node, known: _Known) -> Array:
        data, amount = node.inputs
        if amount.value is None:
            return np.asarray(_TYPE_LIMITS["int32"], np.int64)
        return change(magnitudes(data, known), amount.value.astype(np.int64))

    return rule


def _through(node: Node, known: _Known) -> Array:
    return magnitudes(node.inputs[0], known)


def _renamed(node: Node, known: _Known) -> Array:
    """Of all channels: they may have other places afterwards."""
    return np.asarray(magnitudes(node.inputs[0], known).max(initial=0))


def _rescale(node: Node, known: _Known) -> Array:
    attrs = attrs_of(node, RescaleAttributes)
    if attrs.narrow:
        return np.asarray(_TYPE_LIMITS["int8"], np.int64)
    data, bias, multiplier, shift = (magnitudes(source, known) for source in node.inputs[:4])
    raised = np.left_shift(data + per_channel(bias, len(node.shape), 1), attrs.left)
    scaled = raised.astype(np.float64) * per_channel(multiplier, len(node.shape), 1) / 2.0**31
    return np.asarray(np.right_shift(scaled.astype(np.int64) + 1, per_channel(shift, len(node.shape), 1)) + 1)


def _requantize(node: Node, known: _Known) -> Array:
    """Of a result that is not clipped to int8: a level may be lost to each of two roundings."""
    attrs = attrs_of(node, RequantizeAttributes)
    data = magnitudes(node.inputs[0], known) + abs(attrs.input_zero_point)
    ratio = per_channel(np.asarray(attrs.input_scale, np.float64) / attrs.output_scale, len(node.shape), attrs.axis)
    levels = np.ceil(data * ratio) + 1 + abs(attrs.output_zero_point)
    return np.asarray(np.minimum(levels, _TYPE_LIMITS["int32"]).astype(np.int64))


def _clip(node: Node, known: _Known) -> Array:
    attrs = attrs_of(node, ClipAttributes)
    limit = min(max(abs(attrs.a_min), abs(attrs.a_max)), _TYPE_LIMITS["int32"])
    return np.minimum(magnitudes(node.inputs[0], known), int(limit))


_RULES: dict[str, _Rule] = {
    ops.CONV2D: _weighted,
    ops.CONV2D_TRANSPOSE: _weighted,
    ops.DENSE: _weighted,
    ops.MATMUL2D: _of_tensors,
    ops.QNN_MATMUL: _of_tensors,
    ops.QNN_CONV2D: _weighted,
    ops.QNN_CONV2D_TRANSPOSE: _weighted,
    ops.QNN_DENSE: _weighted,
    ops.SUM_POOL2D: _sum_pool,
    ops.BIAS_ADD: _bias,
    ops.ADD: _combined(np.add),
    ops.SUBTRACT: _combined(np.add),
    ops.MULTIPLY: _combined(np.multiply),
    ops.LEFT_SHIFT: _shift(np.left_shift),
    ops.RIGHT_SHIFT: _shift(lambda value, amount: np.right_shift(value, amount) + (amount > 0)),
    ops.MAXIMUM: _combined(np.maximum),
    ops.MINIMUM: _combined(np.maximum),
    ops.RELU: _through,
    ops.CAST: _through,
    ops.CLIP: _clip,
    ops.QNN_REQUANTIZE: _requantize,
    ops.RESCALE: _rescale,
    **dict.fromkeys((ops.EXPAND_DIMS, ops.BATCH_FLATTEN, ops.RESHAPE, ops.SQUEEZE, ops.STRIDED_SLICE, ops.TRANSPOSE), _renamed),
}


def residual_bound(accumulator: Node, scale: float, accumulator_scale: Any, zero_point: int = 0) -> int:
    """Return the bound of an int32 accumulator plus an int8 tensor brought to its scale."""
    terms = per_channel(residual_multiplier(scale, accumulator_scale), len(accumulator.shape), 1) * (128 + abs(zero_point))
    return int((magnitudes(accumulator) + terms).max(initial=0))


def overflow_warnings(graph: Graph, hw: HardwareConfig, wrapping: Collection[str] = ()) -> list[Diagnostic]:
    """Return a warning for each layer of an integer graph whose accumulators may wrap on `hw`, naming layer, bound and limit.

    Of layers in `wrapping`, whose steps wrap by design, only the products are looked at.
    """
    limit = (1 << (hw.acc_bits - 1)) - 1
    worst: dict[str, tuple[int, str]] = {}
    known: _Known = {}
    for node in graph.calls():
        if node.dtype != "int32" or (node.name in wrapping and node.op not in _PRODUCTS):
            continue
        bound = int(magnitudes(node, known).max(initial=0))
        # What is only moved, or made no larger, does not wrap here; of a value of the host all 32 bits are its own.
        if any(source.dtype == "int32" and int(magnitudes(source, known).max(initial=0)) >= bound for source in node.inputs):
            continue
        if bound > max(limit, worst.get(node.name, (0, ""))[0]):
            worst[node.name] = (bound, node.op)
    return [
        Diagnostic(
            OVERFLOW, name, f"{op} may reach {bound}, but {hw.acc_bits}-bit accumulators hold at most {limit}; larger values wrap"
        )
        for name, (bound, op) in worst.items()
    ]
