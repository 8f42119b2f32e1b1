"""Which operators kernels are built around: reductions, and what needs stages of its own."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.anchor import AnyAnchor, Site
from vta.host.kernels.by_element.frames import Frame
from vta.host.kernels.neighbours import window_channels
from vta.host.kernels.pooling import POOLS, pooling
from vta.host.kernels.products.convolution import convolution, dense
from vta.host.kernels.products.convolution_shape import is_depthwise
from vta.host.kernels.products.depthwise_rows import computes_rows, depthwise_rows
from vta.host.kernels.products.integers import Windows, integer_convolution, integer_dense
from vta.host.kernels.products.matmul import computed_convolution, computed_dense, matmul, matmul2d
from vta.host.kernels.products.transposed import grouped_convolution, transposed_convolution, transposed_windows, with_offsets
from vta.host.kernels.quantized_pools import quantized_average, quantized_global_average
from vta.host.kernels.reducing.gates import normalize16
from vta.host.kernels.reducing.ordered import MOST_ORDERED, top_k
from vta.host.kernels.reducing.reductions import REDUCTIONS, arg_extreme, reduction
from vta.host.kernels.reducing.rows import float_normalize, normalize, softmax_shares, softmax_terms
from vta.host.kernels.reducing.softmaxes import fixed_softmax, softmax
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.indexed import TopKAttributes
from vta.ir.ops.nn.conv import Conv2DAttributes, Conv2DTransposeAttributes
from vta.ir.ops.quantized.qnn import ProductAttributes, base_attributes

__all__ = ["anchor_names", "build_anchor", "is_anchor", "works_in_blocks"]

_Rule = Callable[[Node, Site], AnyAnchor]


def is_anchor(node: Node) -> bool:
    """Whether a kernel can be built around an operator."""
    return node.op in _RULES and all(prod(item.shape) for item in (node, *node.inputs)) and _is_known(node)


def anchor_names() -> list[str]:
    """The operators that kernels are built around."""
    return list(_RULES)


def build_anchor(node: Node, site: Site) -> AnyAnchor:
    """The stages of an operator for which `is_anchor` holds."""
    return _RULES[node.op](node, site)


def works_in_blocks(node: Node) -> bool:
    """Whether an operator reads and gives images in blocks of channels."""
    if node.op in (ops.CONV2D, ops.QNN_CONV2D, ops.CONV2D_TRANSPOSE, ops.QNN_CONV2D_TRANSPOSE):
        return _has_constants(node)
    return node.op in (*POOLS, ops.QNN_GLOBAL_AVG_POOL2D)


def _has_constants(node: Node) -> bool:
    return node.inputs[1].value is not None


def _is_known(node: Node) -> bool:
    """Long rows are sorted elsewhere."""
    if node.op == ops.TOP_K:
        attrs = attrs_of(node, TopKAttributes)
        return node.inputs[0].shape[attrs.axis] <= MOST_ORDERED
    return True


def _weight(node: Node) -> NDArray[Any]:
    return np.asarray(node.inputs[1].value)


def _zero_point(node: Node) -> int:
    return attrs_of(node, ProductAttributes).input_zero_point if node.op.startswith("qnn.") else 0


def _convolution(node: Node, site: Site) -> AnyAnchor:
    attrs = base_attributes(Conv2DAttributes, node.attrs)
    zero_point = _zero_point(node)
    frame = Frame(attrs.padding, (1, 1), zero_point)
    windows = Windows(tuple(node.inputs[1].shape[2:]), attrs.strides, attrs.dilation, attrs.groups, frame)
    if not _has_constants(node):
        return computed_convolution(node, site, windows, zero_point, turned=False)
    weight = _weight(node)
    if weight.dtype.kind != "f":
        return integer_convolution(node, site, weight, windows, zero_point)
    if computes_rows(node, site):
        return depthwise_rows(node, site, weight)
    if attrs.groups == 1 or is_depthwise(node):
        return convolution(node, site.value(0), site.layout, weight, site.target, site.tile)
    return grouped_convolution(node, site, weight, windows)


def _transposed(node: Node, site: Site) -> AnyAnchor:
    attrs = base_attributes(Conv2DTransposeAttributes, node.attrs)
    zero_point = _zero_point(node)
    if node.inputs[1].value is None:
        windows = transposed_windows(node, attrs, zero_point)
        return with_offsets(node, site, attrs, computed_convolution(node, site, windows, zero_point, turned=True))
    return with_offsets(node, site, attrs, transposed_convolution(node, site, attrs, zero_point))


def _dense(node: Node, site: Site) -> AnyAnchor:
    zero_point = _zero_point(node)
    if not _has_constants(node):
        return computed_dense(node, site, zero_point)
    weight = _weight(node)
    if weight.dtype.kind != "f":
        return integer_dense(node, site, weight, zero_point)
    return dense(node, site.value(0), weight, site.target, site.tile)


_RULES: dict[str, _Rule] = {
    ops.CONV2D: _convolution,
    ops.QNN_CONV2D: _convolution,
    ops.CONV2D_TRANSPOSE: _transposed,
    ops.QNN_CONV2D_TRANSPOSE: _transposed,
    ops.DENSE: _dense,
    ops.QNN_DENSE: _dense,
    ops.MATMUL: matmul,
    ops.MATMUL2D: matmul2d,
    ops.QNN_MATMUL: matmul,
    **dict.fromkeys(POOLS, pooling),
    ops.QNN_AVG_POOL2D: quantized_average,
    ops.QNN_GLOBAL_AVG_POOL2D: quantized_global_average,
    **dict.fromkeys(REDUCTIONS, reduction),
    ops.ARGMAX: arg_extreme,
    ops.ARGMIN: arg_extreme,
    ops.SOFTMAX: softmax,
    ops.LOG_SOFTMAX: softmax,
    ops.QNN_SOFTMAX: fixed_softmax,
    ops.QNN_SOFTMAX_TERMS: softmax_terms,
    ops.QNN_SOFTMAX_SHARES: softmax_shares,
    ops.QNN_NORMALIZE: normalize,
    ops.QNN_NORMALIZE16: normalize16,
    ops.NORMALIZE: float_normalize,
    ops.WINDOWS: window_channels,
    ops.TOP_K: top_k,
}
