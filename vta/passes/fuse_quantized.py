"""Float operators between dequantised inputs and a quantised output become operators of the quantised dialect.

That is how networks with QuantizeLinear and DequantizeLinear around float operators are meant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import INT32_MAX, Scale, product_scale
from vta.ir.graph import Graph, Node, attrs_of, call, constant, rewrite
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.quantized.qnn import DequantizeAttributes, QuantizeAttributes
from vta.ir.ops.shape import PadAttributes
from vta.passes.channel_layer import PRODUCTS, ChannelLayer, channel_axis, channel_layer
from vta.passes.folding.fold_constants import fold_constants
from vta.passes.folding.fold_lookups import lookup_of
from vta.passes.quantized_constants import Weights, bias_levels, scaled_weights, weights_of
from vta.support.dataclass import dataclass

__all__ = ["fuse_quantized"]

_Limits = tuple[int, int]

_RENAMES = (ops.RESHAPE, ops.TRANSPOSE, ops.SQUEEZE, ops.EXPAND_DIMS, ops.BATCH_FLATTEN)
"""Operators that only rename places."""

_MOVES = (*_RENAMES, ops.MAX_POOL2D, ops.UPSAMPLING, ops.STRIDED_SLICE, ops.MAX, ops.MIN)
"""Operators that only rename places, copy values or pick some: it is the same before a quantisation and behind it."""

_ACTIVATIONS = (ops.RELU, ops.CLIP)
_FULL = (-128, 127)

_BIAS_TOLERANCE = 1 / 8
"""By what part of an output level a bias may be off, brought to the scale of the products."""


def fuse_quantized(graph: Graph) -> Graph:
    """Fuse what can be; constants that are still dequantised afterwards become floats. A float graph is returned as it is."""
    if not any(node.op.startswith("qnn.") for node in graph.calls()):
        return graph
    return fold_constants(rewrite(graph, _fused), keep=())


@dataclass(frozen=True)
class _Held:
    """An int8 (or int32) value that stands for real numbers."""

    node: Node
    scale: Scale
    zero_point: int


@dataclass(frozen=True)
class _Target:
    """What a quantisation makes of real numbers."""

    name: str
    scale: float
    zero_point: int


def _fused(node: Node) -> Node:
    attrs = node.attrs
    if not isinstance(attrs, QuantizeAttributes) or isinstance(attrs.scale, tuple) or attrs.out_dtype != "int8":
        return node
    to = _Target(node.name, attrs.scale, attrs.zero_point)
    return _computed(node.inputs[0], to, _FULL) or lookup_of(node) or node


def _computed(value: Node, to: _Target, limits: _Limits) -> Node | None:
    """Integers for `value` between two levels, computed from integers; None if that cannot be."""
    while value.op in _ACTIVATIONS:
        value, cut = _without_activation(value, to)
        limits = max(limits[0], min(limits[1], cut[0])), max(limits[0], min(limits[1], cut[1]))
    rule = _RULES.get(value.op)
    return None if rule is None else rule(value, to, limits)


def _held(node: Node) -> _Held | None:
    """The integers that a value stands for, also where they were renamed afterwards."""
    if node.op in _RENAMES:
        held = _held(node.inputs[0])
        if held is None or isinstance(held.scale, tuple):
            return None
        return _Held(call(node.op, [held.node], node.name, **vars(node.attrs)), held.scale, held.zero_point)
    attrs = node.attrs
    return _Held(node.inputs[0], attrs.scale, attrs.zero_point) if isinstance(attrs, DequantizeAttributes) else None


def _without_activation(value: Node, to: _Target) -> tuple[Node, _Limits]:
    """What a relu or clip before the quantisation reads, and the levels that it leaves."""
    low, high = (0.0, np.inf) if value.op == ops.RELU else attrs_of(value, ClipAttributes).bounds("float32")
    levels = [np.rint(bound / np.float32(to.scale)) + to.zero_point for bound in (low, high)]
    bounds = int(max(-128, min(127, levels[0]))), int(max(-128, min(127, levels[1])))
    return value.inputs[0], bounds


def _result(to: _Target, value: Node, scale: Any, zero_point: int, limits: _Limits, name: str) -> Node:
    return call(
        ops.QNN_REQUANTIZE,
        [value],
        name,
        input_scale=scale,
        input_zero_point=zero_point,
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="even",
        a_min=limits[0],
        a_max=limits[1],
    )


def _weighted(value: Node, to: _Target, limits: _Limits) -> Node | None:
    layer = channel_layer(value)
    if layer is None:
        return _added(value, to, limits)
    product = layer.product
    if product.op == ops.MATMUL and (found := _matmul(layer, to, limits)) is not None:
        return found
    data, weights = _held(product.inputs[0]), weights_of(product)
    if weights is not None and layer.factor is not None:
        weights = scaled_weights(product, weights, layer.factor)
    if data is None or weights is None or isinstance(data.scale, tuple) or data.node.dtype != "int8":
        return None
    products = product_scale(data.scale, weights.scale)
    if not ((products > 0) & (products < np.inf)).all():
        return None
    scales: Any = float(products) if products.ndim == 0 else tuple(float(item) for item in products)
    channels, name, bias = product.shape[channel_axis(product)], product.name, layer.bias
    levels = None if bias is None else bias_levels(bias, scales, channels, _BIAS_TOLERANCE * to.scale)
    largest = weights.reach * (128 + abs(data.zero_point)) + (0 if levels is None else np.abs(levels.astype(np.int64)))
    if (bias is not None and levels is None) or largest.max() > INT32_MAX:
        return None
    result = _product(product, data, weights)
    if levels is not None:
        result = call(ops.BIAS_ADD, [result, constant(levels, name)], name)
    result = _result(to, result, scales, 0, limits, name)
    return result if result.shape == value.shape else call(ops.RESHAPE, [result], name, newshape=value.shape)


def _matmul(layer: ChannelLayer, to: _Target, limits: _Limits) -> Node | None:
    """A product of matrices of two tensors, perhaps times a number."""
    sides = [side for source in layer.product.inputs if (side := _held(source)) is not None]
    factor = np.ones(1) if layer.factor is None else layer.factor
    alike = (factor == factor[0]).all() and 0 < factor[0] < np.inf
    if len(sides) != 2 or layer.bias is not None or not alike or any(side.node.dtype != "int8" for side in sides):
        return None
    left, right = sides
    if isinstance(left.scale, tuple) or isinstance(right.scale, tuple) or right.node.value is not None:
        return None
    name, zero_points = layer.product.name, {"lhs_zero_point": left.zero_point, "rhs_zero_point": right.zero_point}
    product = call(ops.QNN_MATMUL, [left.node, right.node], name, **zero_points)
    scale = np.float32(left.scale) * np.float32(right.scale) * np.float32(factor[0])
    return _result(to, product, float(scale), 0, limits, name) if 0 < scale < np.inf else None


def _product(product: Node, data: _Held, weights: Weights) -> Node:
    """The product of integers; rows of data with more than two dimensions as a matrix."""
    attributes = {"input_scale": data.scale, "input_zero_point": data.zero_point, "kernel_scale": weights.scale}
    name, value = product.name, data.node
    if "conv2d" in product.op:
        attributes |= vars(product.attrs)
    elif len(value.shape) != 2:
        value = call(ops.RESHAPE, [value], name, newshape=(math.prod(value.shape[:-1]), value.shape[-1]))
    op = product.op.replace("nn.", "qnn.") if "conv2d" in product.op else ops.QNN_DENSE
    return call(op, [value, constant(weights.values, name)], name, **attributes)


def _added(value: Node, to: _Target, limits: _Limits) -> Node | None:
    if value.op != ops.ADD:
        return None
    lhs, rhs = (_held(source) for source in value.inputs)
    if lhs is None or rhs is None or lhs.node.shape != rhs.node.shape or ops.CONSTANT in (lhs.node.op, rhs.node.op):
        return None
    if any(isinstance(part.scale, tuple) or part.node.dtype != "int8" for part in (lhs, rhs)):
        return None
    return call(
        ops.QNN_ADD,
        [lhs.node, rhs.node],
        value.name,
        lhs_scale=lhs.scale,
        lhs_zero_point=lhs.zero_point,
        rhs_scale=rhs.scale,
        rhs_zero_point=rhs.zero_point,
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        # With an even zero point it is the same to which side of a half a sum is rounded, before it is added or after.
        rounding="even_reals" if to.zero_point % 2 else "even",
        a_min=limits[0],
        a_max=limits[1],
    )


def _mean(value: Node, to: _Target, limits: _Limits) -> Node | None:
    data = _held(value.inputs[0])
    if data is None or isinstance(data.scale, tuple) or data.node.dtype != "int8":
        return None
    return call(
        ops.QNN_GLOBAL_AVG_POOL2D,
        [data.node],
        value.name,
        input_scale=data.scale,
        input_zero_point=data.zero_point,
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="even",
        a_min=limits[0],
        a_max=limits[1],
    )


def _moved(value: Node, to: _Target, limits: _Limits) -> Node | None:
    """An operator that only moves values, or picks some, works on integers as well."""
    data = _held(value.inputs[0])
    if data is None:
        computed = _computed(value.inputs[0], to, limits)
        return None if computed is None else call(value.op, [computed], value.name, **vars(value.attrs))
    if isinstance(data.scale, tuple) or data.node.dtype != "int8":
        return None
    moved = call(value.op, [data.node], value.name, **vars(value.attrs))
    return _rescaled(moved, data, to, limits, value.name)


def _padded(value: Node, to: _Target, limits: _Limits) -> Node | None:
    """A pad of integers, with the level of its value."""
    attrs = attrs_of(value, PadAttributes)
    level = np.rint(np.float32(attrs.pad_value) / np.float32(to.scale)) + to.zero_point
    border = int(max(limits[0], min(limits[1], level)))
    computed = _part(value.inputs[0], to, limits, value.name)
    if computed is None:
        return None
    return call(ops.PAD, [computed], value.name, pad_width=attrs.pad_width, pad_value=border)


def _part(value: Node, to: _Target, limits: _Limits, name: str) -> Node | None:
    """A value that the quantised one is made of, at the scale of that."""
    data = _held(value)
    if data is None:
        return _computed(value, to, limits)
    if isinstance(data.scale, tuple) or data.node.dtype != "int8":
        return None
    return _rescaled(data.node, data, to, limits, name)


def _rescaled(node: Node, data: _Held, to: _Target, limits: _Limits, name: str) -> Node:
    """Bring values to the output's scale, where they have not got it already."""
    if (data.scale, data.zero_point) == (to.scale, to.zero_point):
        return node if limits == _FULL else call(ops.CLIP, [node], name, a_min=limits[0], a_max=limits[1])
    return _result(to, node, data.scale, data.zero_point, limits, name)


def _alone(value: Node, to: _Target, limits: _Limits) -> Node | None:
    """Dequantised and quantised again, perhaps with an activation between."""
    data = _held(value)
    if data is None or isinstance(data.scale, tuple) or data.node.dtype != "int8":
        return None
    return _rescaled(data.node, data, to, limits, to.name)


def _joined(value: Node, to: _Target, limits: _Limits) -> Node | None:
    parts = [_part(source, to, limits, value.name) for source in value.inputs]
    computed = [part for part in parts if part is not None]
    return call(ops.CONCATENATE, computed, value.name, **vars(value.attrs)) if len(computed) == len(parts) else None


_RULES: dict[str, Callable[[Node, _Target, _Limits], Node | None]] = {
    **dict.fromkeys(_MOVES, _moved),
    **dict.fromkeys((*PRODUCTS, ops.BIAS_ADD, ops.BATCH_NORM, ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE), _weighted),
    ops.GLOBAL_AVG_POOL2D: _mean,
    ops.QNN_DEQUANTIZE: _alone,
    ops.CONCATENATE: _joined,
    ops.PAD: _padded,
}
