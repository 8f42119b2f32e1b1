"""ONNX's quantised operators. Unsigned bytes are held as int8: values and zero points less 128."""

from __future__ import annotations

from typing import Any

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.onnx.converters.neural import require_2d
from vta.frontend.onnx.converters.pooling import Window
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

_OFFSET = 128
_MICROSOFT = " (com.microsoft)"


def _zero_point(node: Operation, index: int) -> tuple[int, str]:
    """A zero point for values held as int8, and the type that the file has; 0 of uint8 where it is absent."""
    value = node.array(index, "zero points")
    if value is None:
        return -_OFFSET, "uint8"
    if len(set(value.reshape(-1).tolist())) > 1:
        raise UnsupportedNodeError("its zero points differ")
    offset = _OFFSET if value.dtype == np.uint8 else 0
    return int(value.reshape(-1)[0]) - offset, value.dtype.name


def _scale(node: Operation, index: int) -> Any:
    """A scale: a float, or a tuple of one for each channel."""
    value = node.array(index, "scales")
    if value is None:
        raise ImportModelError(f"input {index} is missing")
    scales = tuple(float(scale) for scale in value.reshape(-1))
    return scales[0] if len(scales) == 1 else scales


def _one_scale(node: Operation, index: int) -> float:
    scale = _scale(node, index)
    if isinstance(scale, tuple):
        raise UnsupportedNodeError("a scale for each channel of an activation")
    return float(scale)


def _held(node: Operation, index: int, zero_at: int) -> tuple[Node, int]:
    """Input `index` as int8 with its zero point; a constant of unsigned bytes is shifted by 128."""
    zero_point, _ = _zero_point(node, zero_at)
    value = node.input(index)
    if value.value is not None and value.dtype == "uint8":
        value = node.constant((value.value.astype(np.int16) - _OFFSET).astype(np.int8))
    return value, zero_point


def _weight(node: Operation, index: int, zero_at: int) -> Node:
    """Constant weights less their zero point: int8, or int16 where int8 is too narrow."""
    value, zero_point = _held(node, index, zero_at)
    if value.value is None:
        raise UnsupportedNodeError("its weights are not constant")
    values = value.value.astype(np.int16) - zero_point
    narrow = not values.size or (values.min() >= -128 and values.max() <= 127)
    return node.constant(values.astype(np.int8) if narrow else values)


def _quantize_linear(node: Operation) -> Node:
    zero_point, dtype = _zero_point(node, 2)
    if dtype not in ("int8", "uint8"):
        raise UnsupportedNodeError(f"to {dtype}")
    return node.apply("qnn.quantize", node.input(), scale=_one_scale(node, 1), zero_point=zero_point, rounding="even")


def _dequantize_linear(node: Operation) -> Node:
    value, scale = node.input(), _scale(node, 1)
    if value.dtype == "int32":
        zero_point = 0
    else:
        value, zero_point = _held(node, 0, 2)
    axis = node.integer("axis", 1)
    return node.apply("qnn.dequantize", value, scale=scale, zero_point=zero_point, axis=axis % max(1, len(value.shape)))


def _product(scale: float, scales: Any) -> Any:
    """Scales of products, in single precision."""
    products = np.float32(scale) * np.asarray(scales, np.float32)
    return float(products) if products.ndim == 0 else tuple(float(product) for product in products)


def _requantized(node: Operation, value: Node, scale: Any, to_scale: float, to_zero_point: int) -> Node:
    return node.apply(
        "qnn.requantize",
        value,
        input_scale=scale,
        output_scale=to_scale,
        output_zero_point=to_zero_point,
        rounding="even",
    )


def _convolution(node: Operation, data: Node, zero_point: int, weight: Node, scales: tuple[float, Any]) -> Node:
    window = Window.of(node, require_2d(weight))
    return node.apply(
        "qnn.conv2d",
        data,
        weight,
        input_scale=scales[0],
        kernel_scale=scales[1],
        input_zero_point=zero_point,
        strides=window.strides,
        padding=window.padding(data.shape),
        dilation=window.dilation,
        groups=node.integer("group", 1),
    )


def _qlinear_conv(node: Operation) -> Node:
    data, zero_point = _held(node, 0, 2)
    weight = _weight(node, 3, 5)
    scale, scales = _one_scale(node, 1), _scale(node, 4)
    result = _convolution(node, data, zero_point, weight, (scale, scales))
    bias = node.optional(8)
    if bias is not None:
        result = node.apply("nn.bias_add", result, bias)
    return _requantized(node, result, _product(scale, scales), _one_scale(node, 6), _zero_point(node, 7)[0])


def _qlinear_matmul(node: Operation) -> Node:
    data, zero_point = _held(node, 0, 2)
    scale, scales = _one_scale(node, 1), _scale(node, 4)
    result = _dense(node, data, zero_point, _weight(node, 3, 5), (scale, scales))
    return _requantized(node, result, _product(scale, scales), _one_scale(node, 6), _zero_point(node, 7)[0])


def _dense(node: Operation, data: Node, zero_point: int, weight: Node, scales: tuple[float, Any]) -> Node:
    if len(data.shape) != 2 or weight.value is None or len(weight.shape) != 2:
        raise UnsupportedNodeError(f"of shapes {data.shape} and {weight.shape} (only matrices can be imported)")
    matrix = node.constant(np.ascontiguousarray(weight.value.T))
    attributes = {"input_scale": scales[0], "kernel_scale": scales[1], "input_zero_point": zero_point}
    return node.apply("qnn.dense", data, matrix, **attributes)


def _optional_zero_point(node: Operation, index: int, value: Node) -> int:
    """The zero point of an integer operator, whose absence means 0."""
    if node.optional(index) is None:
        return -_OFFSET if value.dtype == "uint8" else 0
    return _zero_point(node, index)[0]


def _integer_operands(node: Operation) -> tuple[Node, int, Node]:
    data, raw = node.input(0), node.input(1)
    weight_zero = _optional_zero_point(node, 3, raw)
    if raw.value is None:
        raise UnsupportedNodeError("its weights are not constant")
    offset = _OFFSET if raw.dtype == "uint8" else 0
    values = raw.value.astype(np.int16) - offset - weight_zero
    if node.optional(2) is None and data.dtype == "int8":
        raise UnsupportedNodeError("without a zero point it is not known whether its bytes are signed")
    return data, _zero_point(node, 2)[0], node.constant(values)


def _conv_integer(node: Operation) -> Node:
    data, zero_point, weight = _integer_operands(node)
    return _convolution(node, data, zero_point, weight, (1.0, 1.0))


def _matmul_integer(node: Operation) -> Node:
    data, zero_point, weight = _integer_operands(node)
    return _dense(node, data, zero_point, weight, (1.0, 1.0))


def _qlinear_add(node: Operation) -> Node:
    (lhs, lhs_zero), (rhs, rhs_zero) = _held(node, 0, 2), _held(node, 3, 5)
    lhs_scale, rhs_scale = _one_scale(node, 1), _one_scale(node, 4)
    to_scale, (to_zero, dtype) = _one_scale(node, 6), _zero_point(node, 7)
    if lhs.value is not None:
        lhs, lhs_zero, lhs_scale, rhs, rhs_zero, rhs_scale = rhs, rhs_zero, rhs_scale, lhs, lhs_zero, lhs_scale
    if rhs.shape != lhs.shape:
        rhs = node.apply("broadcast_to", rhs, shape=lhs.shape)
    return node.apply(
        "qnn.add",
        lhs,
        rhs,
        lhs_scale=lhs_scale,
        lhs_zero_point=lhs_zero,
        rhs_scale=rhs_scale,
        rhs_zero_point=rhs_zero,
        output_scale=to_scale,
        output_zero_point=to_zero,
        rounding="even_unsigned" if dtype == "uint8" else "even",
    )


def _qlinear_global_average(node: Operation) -> Node:
    if node.integer("channels_last", 0):
        raise UnsupportedNodeError("channels_last=1")
    data, zero_point = _held(node, 0, 2)
    return node.apply(
        "qnn.global_avg_pool2d",
        data,
        input_scale=_one_scale(node, 1),
        input_zero_point=zero_point,
        output_scale=_one_scale(node, 3),
        output_zero_point=_zero_point(node, 4)[0],
        rounding="even",
    )


CONVERTERS: dict[str, Converter] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize_linear,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize_linear,
    f"QLinearAdd{_MICROSOFT}": _qlinear_add,
    f"QLinearGlobalAveragePool{_MICROSOFT}": _qlinear_global_average,
    f"QuantizeLinear{_MICROSOFT}": _quantize_linear,
    f"DequantizeLinear{_MICROSOFT}": _dequantize_linear,
}
