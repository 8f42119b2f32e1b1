"""Pooling, reductions, normalisation and activations that ONNX has as operators of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vta.host.kernels.quantized_pools import averages_reals
from vta.host.onnxruntime.expressions import fixed_softmax, mean_of_levels
from vta.host.onnxruntime.writer import ModelWriter, Tensor, refusal
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.activation import ClipAttributes, LeakyReluAttributes
from vta.ir.ops.nn.norm import BatchNormAttributes, LRNAttributes, SoftmaxAttributes
from vta.ir.ops.nn.pool import AvgPool2DAttributes, Pool2DAttributes, SumPool2DAttributes
from vta.ir.ops.quantized.qnn import base_attributes
from vta.ir.ops.reduce import ArgAttributes, ReduceAttributes

__all__ = ["REDUCTIONS", "has_reduction"]

_CHANNEL_AXIS = 1
_SPATIAL = (2, 3)
_REDUCED = {
    ops.SUM: "ReduceSum", ops.PROD: "ReduceProd", ops.MEAN: "ReduceMean", ops.MAX: "ReduceMax", ops.MIN: "ReduceMin",
}  # fmt: skip
_BYTES = ("int8", "uint8")


def has_reduction(node: Node) -> bool:
    """Whether ONNX has an operator for a call: activations and batch norms only of float32, for which they are fast."""
    if node.op == ops.BATCH_NORM:
        return node.dtype == "float32" and attrs_of(node, BatchNormAttributes).axis == _CHANNEL_AXIS
    return node.op in REDUCTIONS and (node.op not in _FOR_FLOATS or node.dtype == "float32")


def _pads(attrs: Pool2DAttributes, node: Node) -> list[int]:
    """Borders with which windows fit without a rest."""
    after = []
    for axis in (0, 1):
        reach = (node.shape[2 + axis] - 1) * attrs.strides[axis] + attrs.pool_size[axis]
        after.append(max(0, reach - attrs.padding[axis] - node.inputs[0].shape[2 + axis]))
    return [*attrs.padding[:2], *after]


def _max_pool(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, Pool2DAttributes)
    if node.dtype == "int64":
        raise refusal(node, "it pools no int64")
    exact = node.dtype if node.dtype in (*_BYTES, "float32", "float64") else "float64"
    data = writer.cast(inputs[0], exact)
    made = writer.apply("MaxPool", [data], exact, kernel_shape=attrs.pool_size, strides=attrs.strides, pads=_pads(attrs, node))
    return writer.cast(made, node.dtype)


def _avg_pool(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, AvgPool2DAttributes)
    if node.dtype != "float32":
        raise refusal(node, f"it averages no windows of {node.dtype}")
    return writer.apply(
        "AveragePool",
        inputs,
        "float32",
        kernel_shape=attrs.pool_size,
        strides=attrs.strides,
        pads=attrs.padding,
        ceil_mode=int(attrs.ceil_mode),
        count_include_pad=int(attrs.count_include_pad),
    )


def _sum_pool(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    return _window_sums(writer, node, inputs[0], attrs_of(node, SumPool2DAttributes))


def _window_sums(writer: ModelWriter, node: Node, data: Tensor, attrs: SumPool2DAttributes) -> Tensor:
    """Sums of windows of bytes, as int32."""
    channels = node.shape[1]
    weight = writer.constant(np.full((channels, 1, *attrs.pool_size), attrs.factor, np.int8))
    return writer.apply("ConvInteger", [data, weight], "int32", strides=attrs.strides, pads=_pads(attrs, node), group=channels)


def _scaled_average(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    if averages_reals(node):
        raise refusal(node, "its windows divide by different numbers")
    if node.op == ops.QNN_GLOBAL_AVG_POOL2D:
        sums = _over(writer, "ReduceSum", writer.cast(inputs[0], "int32"), _SPATIAL, True)
    else:
        sums = _window_sums(writer, node, inputs[0], base_attributes(SumPool2DAttributes, node.attrs))
    return mean_of_levels(writer, node, sums)


def _reduced(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, ReduceAttributes)
    if node.op == ops.PROD and not node.dtype.startswith("float"):
        raise refusal(node, "its products of integers do not wrap")
    return _over(writer, _REDUCED[node.op], inputs[0], attrs.axes(len(node.inputs[0].shape)), attrs.keepdims)


def _over(writer: ModelWriter, kind: str, data: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
    """A reduction; of narrow integers by way of int64, of which low bits are kept: int32 does not wrap there."""
    wide = writer.cast(data, "int64") if data.dtype in (*_BYTES, "int16", "int32", "bool") else data
    made = writer.apply(kind, [wide, writer.integers(axes)], wide.dtype, keepdims=int(keepdims), noop_with_empty_axes=1)
    return writer.cast(made, data.dtype)


def _over_images(kind: str) -> Callable[[ModelWriter, Node, Sequence[Tensor]], Tensor]:
    return lambda writer, node, inputs: _over(writer, kind, inputs[0], _SPATIAL, True)


def _arg(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, ArgAttributes)
    data = writer.cast(inputs[0], "int32") if inputs[0].dtype == "int16" else inputs[0]
    if data.dtype == "int64":
        raise refusal(node, "it finds no extreme of int64")
    kind = "ArgMax" if node.op == ops.ARGMAX else "ArgMin"
    return writer.apply(
        kind, [data], "int64", axis=attrs.axis, keepdims=int(attrs.keepdims), select_last_index=int(attrs.select_last)
    )


def _softmax(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    kind = "Softmax" if node.op == ops.SOFTMAX else "LogSoftmax"
    return writer.apply(kind, inputs, node.dtype, axis=attrs_of(node, SoftmaxAttributes).axis)


def _lrn(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, LRNAttributes)
    if node.dtype != "float32" or attrs.size % 2 == 0:
        raise refusal(node, f"it normalises no {node.dtype} over {attrs.size} channels")
    return writer.apply("LRN", inputs, node.dtype, size=attrs.size, alpha=attrs.alpha, beta=attrs.beta, bias=attrs.bias)


def _batch_norm(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    return writer.apply("BatchNormalization", inputs, node.dtype, epsilon=attrs_of(node, BatchNormAttributes).epsilon)


def _clip(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    bounds = attrs_of(node, ClipAttributes).bounds(node.dtype)
    return writer.apply("Clip", [inputs[0], *(writer.scalar(bound, node.dtype) for bound in bounds)], node.dtype)


def _leaky_relu(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    return writer.apply("LeakyRelu", inputs, node.dtype, alpha=attrs_of(node, LeakyReluAttributes).alpha)


def _named(kind: str) -> Callable[[ModelWriter, Node, Sequence[Tensor]], Tensor]:
    return lambda writer, node, inputs: writer.apply(kind, inputs, node.dtype)


_FOR_FLOATS: dict[str, Callable[[ModelWriter, Node, Sequence[Tensor]], Tensor]] = {
    ops.RELU: _named("Relu"),
    ops.SIGMOID: _named("Sigmoid"),
    ops.CLIP: _clip,
    ops.LEAKY_RELU: _leaky_relu,
    ops.BATCH_NORM: _batch_norm,
}
REDUCTIONS: dict[str, Callable[[ModelWriter, Node, Sequence[Tensor]], Tensor]] = {
    **_FOR_FLOATS,
    **dict.fromkeys(_REDUCED, _reduced),
    ops.ARGMAX: _arg,
    ops.ARGMIN: _arg,
    ops.MAX_POOL2D: _max_pool,
    ops.AVG_POOL2D: _avg_pool,
    ops.SUM_POOL2D: _sum_pool,
    ops.QNN_AVG_POOL2D: _scaled_average,
    ops.QNN_GLOBAL_AVG_POOL2D: _scaled_average,
    ops.GLOBAL_AVG_POOL2D: _over_images("ReduceMean"),
    ops.GLOBAL_MAX_POOL2D: _over_images("ReduceMax"),
    ops.SOFTMAX: _softmax,
    ops.LOG_SOFTMAX: _softmax,
    ops.QNN_SOFTMAX: fixed_softmax,
    ops.LRN: _lrn,
}
"""Writes an operator by its name."""
