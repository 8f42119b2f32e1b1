"""ONNX's normalisations by statistics of the data itself; they run on the host."""

from __future__ import annotations

import math

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import add, like
from vta.frontend.onnx.operation import MICROSOFT, Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

_Axes = tuple[int, ...]


def _centered(node: Operation, data: Node, axes: _Axes) -> tuple[Node, Node]:
    """Data less its mean over `axes`, and that mean."""
    mean = node.apply(ops.MEAN, data, axis=axes, keepdims=True)
    return node.apply(ops.SUBTRACT, data, mean), mean


def _root_mean_square(node: Operation, data: Node, axes: _Axes, epsilon: float) -> Node:
    square = node.apply(ops.MEAN, node.apply(ops.MULTIPLY, data, data), axis=axes, keepdims=True)
    return node.apply(ops.SQRT, add(node.apply, square, like(epsilon, data)))


def _affine(node: Operation, data: Node, scale: Node, bias: Node | None, shape: _Axes | None = None) -> Node:
    """Data times scale plus bias, both of which get `shape` before, if one is given."""

    def shaped(value: Node) -> Node:
        return value if shape is None else node.apply(ops.RESHAPE, value, newshape=shape)

    scaled = node.apply(ops.MULTIPLY, data, shaped(scale))
    return scaled if bias is None else node.apply(ops.ADD, scaled, shaped(bias))


def _normalized(node: Operation, data: Node, axes: _Axes) -> Node:
    """Data of mean 0 and variance 1 over `axes`."""
    centered, _ = _centered(node, data, axes)
    return node.apply(ops.DIVIDE, centered, _root_mean_square(node, centered, axes, node.number("epsilon", 1e-5)))


def _instance(node: Operation) -> Node:
    data, scale, bias = node.inputs()
    rank = len(data.shape)
    along = (1, math.prod(scale.shape), *(1,) * (rank - 2))
    return _affine(node, _normalized(node, data, tuple(range(2, rank))), scale, bias, along)


def _from_axis(node: Operation) -> _Axes:
    rank = len(node.input().shape)
    axis = node.integer("axis", -1)
    if not -rank <= axis < rank:
        raise ImportModelError(f"axis {axis} must be in {-rank}..{rank - 1}")
    return tuple(range(axis % rank, rank))


def _layer(node: Operation) -> tuple[Node, Node, Node]:
    """The normalised data, the mean, and one over the deviation."""
    data, axes = node.input(), _from_axis(node)
    centered, mean = _centered(node, data, axes)
    deviation = _root_mean_square(node, centered, axes, node.number("epsilon", 1e-5))
    result = _affine(node, node.apply(ops.DIVIDE, centered, deviation), node.input(1), node.optional(2))
    return result, mean, node.apply(ops.DIVIDE, like(1.0, data), deviation)


def _layer_of_sum(node: Operation) -> tuple[Node, Node, Node, Node]:
    """A layer normalisation of what two branches and a bias sum up to, which is the last output."""
    data, axes = _sum_of_branches(node, 4), (len(node.input().shape) - 1,)
    centered, mean = _centered(node, data, axes)
    deviation = _root_mean_square(node, centered, axes, node.number("epsilon", 1e-12))
    result = _affine(node, node.apply(ops.DIVIDE, centered, deviation), node.input(2), node.optional(3))
    return result, mean, node.apply(ops.DIVIDE, like(1.0, data), deviation), data


def _root_mean_square_of_sum(node: Operation) -> tuple[Node, Node, Node, Node]:
    data, axes = _sum_of_branches(node, 3), (len(node.input().shape) - 1,)
    deviation = _root_mean_square(node, data, axes, node.number("epsilon", 1e-12))
    result = _affine(node, node.apply(ops.DIVIDE, data, deviation), node.input(2), None)
    inverse = node.apply(ops.DIVIDE, like(1.0, data), deviation)
    return result, inverse, inverse, data


def _sum_of_branches(node: Operation, bias: int) -> Node:
    total, more = node.apply(ops.ADD, node.input(0), node.input(1)), node.optional(bias)
    return total if more is None else node.apply(ops.ADD, total, more)


def _root_mean_square_layer(node: Operation) -> Node:
    data = node.input()
    deviation = _root_mean_square(node, data, _from_axis(node), node.number("epsilon", 1e-5))
    return _affine(node, node.apply(ops.DIVIDE, data, deviation), node.input(1), None)


def _group(node: Operation) -> Node:
    data, scale, bias = node.inputs()
    groups, (batch, channels) = node.integer("num_groups"), data.shape[:2]
    if groups < 1 or channels % groups:
        raise ImportModelError(f"num_groups {groups} must divide the {channels} channels")
    grouped = node.apply(ops.RESHAPE, data, newshape=(batch, groups, math.prod(data.shape[1:]) // groups))
    result = node.apply(ops.RESHAPE, _normalized(node, grouped, (2,)), newshape=data.shape)
    along = (1, channels, *(1,) * (len(data.shape) - 2))
    if node.opset >= 21:
        return _affine(node, result, scale, bias, along)
    # Until then scale and bias were those of groups.
    of_channel = node.constant(np.arange(channels, dtype=np.int64) // (channels // groups))
    scale, bias = (node.apply(ops.TAKE, value, of_channel, axis=0) for value in (scale, bias))
    return _affine(node, result, scale, bias, along)


def _mean_variance(node: Operation) -> Node:
    """Data less its mean over the deviation, to which the definition adds 1e-9."""
    data, axes = node.input(), node.integers("axes") or (0, 2, 3)
    centered, _ = _centered(node, data, axes)
    deviation = add(node.apply, _root_mean_square(node, centered, axes, 0.0), like(1e-9, data))
    return node.apply(ops.DIVIDE, centered, deviation)


def _lp(node: Operation) -> Node:
    data, order = node.input(), node.integer("p", 2)
    if order not in (1, 2):
        raise UnsupportedNodeError(f"p {order} (only 1 and 2 can be imported)")
    sizes = node.apply(ops.ABS, data) if order == 1 else node.apply(ops.MULTIPLY, data, data)
    total = node.apply(ops.SUM, sizes, axis=(node.integer("axis", -1),), keepdims=True)
    norm = total if order == 1 else node.apply(ops.SQRT, total)
    # A vector whose norm is 0, or vanishes in single precision, becomes zeros.
    return node.apply(
        ops.WHERE, node.apply(ops.GREATER, norm, like(0.0, data)), node.apply(ops.DIVIDE, data, norm), like(0.0, data)
    )


CONVERTERS: dict[str, Converter] = {
    "GroupNormalization": _group,
    "InstanceNormalization": _instance,
    "LayerNormalization": _layer,
    "LpNormalization": _lp,
    "MeanVarianceNormalization": _mean_variance,
    "RMSNormalization": _root_mean_square_layer,
    f"SkipLayerNormalization{MICROSOFT}": _layer_of_sum,
    f"SkipSimplifiedLayerNormalization{MICROSOFT}": _root_mean_square_of_sum,
}
