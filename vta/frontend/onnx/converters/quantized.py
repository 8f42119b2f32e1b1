"""ONNX's quantised operators. Unsigned bytes are held as int8: values and zero points less 128."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import like
from vta.frontend.onnx.converters.neural import kernel_of
from vta.frontend.onnx.converters.pooling import Window, as_before, as_image
from vta.frontend.onnx.operation import MICROSOFT, Converter, Operation
from vta.frontend.onnx.tensors import dtype_of
from vta.frontend.onnx.unsigned import BYTE_OFFSET
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import INT32_MAX, product_scale
from vta.ir.graph import Node, call
from vta.ir.interpreter import constant_value, evaluate_node

__all__ = ["CONVERTERS", "held", "one_scale", "zero_point_of"]

Array = NDArray[Any]

_BYTES = ("int8", "uint8")


def zero_point_of(node: Operation, index: int, operand: Node) -> tuple[int, str]:
    """Return the zero point at input `index` for values held as int8, and its type in the file; absent, it is 0 in the type of
    `operand`."""
    value = node.array(index, "zero points")
    if value is None:
        return (-BYTE_OFFSET, "uint8") if operand.dtype == "uint8" else (0, "int8")
    if value.dtype not in _BYTES:
        raise UnsupportedNodeError(f"zero points of type {value.dtype}; only int8 and uint8 can be imported")
    if len(set(value.reshape(-1).tolist())) > 1:
        raise UnsupportedNodeError("its zero points differ between channels (only those of constant weights may)")
    return int(value.reshape(-1)[0]) - (BYTE_OFFSET if value.dtype == np.uint8 else 0), value.dtype.name


def _scale(node: Operation, index: int) -> Any:
    """A scale: a float, or a tuple of one for each channel."""
    value = node.array(index, "scales")
    if value is None:
        raise ImportModelError(f"input {index}, a scale, is missing")
    scales = tuple(float(scale) for scale in value.reshape(-1))
    return scales[0] if len(scales) == 1 else scales


def one_scale(node: Operation, index: int) -> float:
    """Return the scale at input `index`, which must be one number."""
    scale = _scale(node, index)
    if isinstance(scale, tuple):
        raise UnsupportedNodeError("a scale for each channel of an activation")
    return float(scale)


def held(node: Operation, index: int, zero_at: int) -> tuple[Node, int]:
    """Return input `index` as int8 with its zero point; a constant of unsigned bytes is shifted by 128."""
    value = node.input(index)
    return node.held(value), zero_point_of(node, zero_at, value)[0]


def _weight(node: Operation, index: int, zero_at: int, axis: int) -> Node:
    """Constant weights less their zero points, one or one for each place of `axis`: int8, or int16 where that is too narrow."""
    value, zero_points = node.input(index), node.array(zero_at, "zero points")
    if value.value is None:
        raise UnsupportedNodeError("its weights are not constant")
    if value.dtype not in _BYTES:
        raise ImportModelError(f"weights must be int8 or uint8, got {value.dtype}")
    values = value.value.astype(np.int16)
    if zero_points is not None:
        along = [1] * values.ndim
        along[axis] = -1
        values = values - zero_points.astype(np.int16).reshape(along)
    narrow = not values.size or (values.min() >= -128 and values.max() <= 127)
    return node.constant(values.astype(np.int8) if narrow else values)


def _quantize_linear(node: Operation) -> Node:
    if node.integer("block_size", 0):
        raise UnsupportedNodeError("block_size (scales of blocks)")
    zero_point, dtype = zero_point_of(node, 2, node.input())
    if node.optional(2) is None:
        code = node.integer("output_dtype", 0)
        dtype = dtype_of(code) if code else "uint8"
        zero_point = -BYTE_OFFSET if dtype == "uint8" else 0
    if dtype not in _BYTES:
        raise UnsupportedNodeError(f"to {dtype}; only int8 and uint8 can be imported")
    data, scale = node.input(), _scale(node, 1)
    axis = node.integer("axis", 1) if isinstance(scale, tuple) else 0
    value = node.apply(ops.QNN_QUANTIZE, data, scale=scale, zero_point=zero_point, axis=axis, rounding="even")
    levels = constant_value(value)
    return node.typed(value if levels is None else node.constant(levels), dtype)


def _dequantize_linear(node: Operation) -> Node:
    value = node.input()
    known = constant_value(value)
    if known is not None:
        return _dequantized_constant(node, known)
    if node.integer("block_size", 0):
        raise UnsupportedNodeError("block_size (scales of blocks) of a value that is not constant")
    scale = _scale(node, 1)
    if value.dtype == "int32":
        zero_point = _wide_zero_point(node)
    else:
        value, zero_point = held(node, 0, 2)
    return node.apply(ops.QNN_DEQUANTIZE, value, scale=scale, zero_point=zero_point, axis=_dequantized_axis(node))


def _dequantized_axis(node: Operation) -> int:
    return node.integer("axis", 1) % max(1, len(node.input().shape))


def _wide_zero_point(node: Operation) -> int:
    """The zero point of sums, which have none mostly."""
    zero_points = node.array(2, "zero points")
    if zero_points is None or not zero_points.any():
        return 0
    if zero_points.size > 1:
        raise UnsupportedNodeError("zero points for each channel of int32 values")
    return int(zero_points.item())


def _dequantized_constant(node: Operation, value: Array) -> Node:
    """A constant as the quantised dialect holds it, else as the real numbers that it stands for.

    Integers whose zero points differ are less their zero points, in 32 bits; layers can still be computed with them.
    """
    scales, zero_points = node.array(1, "scales"), node.array(2, "zero points")
    plain = scales is not None and scales.ndim < 2 and (scales > 0).all() and np.isfinite(scales).all()
    if not plain or node.integer("block_size", 0) or value.dtype.kind not in "iu" or value.itemsize > 4:
        return node.constant(_dequantized(node, value))
    if value.dtype in _BYTES and (zero_points is None or len(set(zero_points.reshape(-1).tolist())) <= 1):
        levels, zero_point = node.held(node.constant(value)), zero_point_of(node, 2, node.input())[0]
    else:
        less = value.astype(np.int64) - (0 if zero_points is None else _along_axis(node, zero_points.astype(np.int64), value))
        if less.size and (np.abs(less) > INT32_MAX).any():
            return node.constant(_dequantized(node, value))
        levels, zero_point = node.constant(less.astype(np.int32)), 0
    return node.apply(ops.QNN_DEQUANTIZE, levels, scale=_scale(node, 1), zero_point=zero_point, axis=_dequantized_axis(node))


def _along_axis(node: Operation, parameter: Array, value: Array) -> Array:
    """A scale or zero point, or one for each place of an axis of `value`, or of each block along it, so that they broadcast."""
    axis, block = _dequantized_axis(node), node.integer("block_size", 0)
    if block:
        spread = np.repeat(parameter, block, axis)[tuple(slice(dim) for dim in value.shape)]
        if parameter.ndim != value.ndim or spread.shape != value.shape:
            raise ImportModelError(
                f"blocks of {block} along axis {axis} of {value.shape} have no parameters of {parameter.shape}"
            )
        return spread
    if parameter.size == 1:
        return parameter.reshape(())
    if parameter.shape != value.shape[axis : axis + 1]:
        raise ImportModelError(f"parameters of shape {parameter.shape} do not fit axis {axis} of {value.shape}")
    return parameter.reshape([-1 if index == axis else 1 for index in range(value.ndim)])


def _dequantized(node: Operation, value: Array) -> Array:
    """The real numbers that a constant stands for, whatever its type, zero points and blocks."""
    scales, zero_points = node.array(1, "scales"), node.array(2, "zero points")
    if scales is None:
        raise ImportModelError("input 1, the scales, is missing")
    less = 0 if zero_points is None else _along_axis(node, zero_points.astype(np.int64), value)
    return np.asarray((value.astype(np.int64) - less) * _along_axis(node, scales, value), np.float32)


def _product(scale: float, scales: Any) -> Any:
    """Scales of products, in single precision."""
    products = product_scale(scale, scales)
    return float(products) if products.ndim == 0 else tuple(float(product) for product in products)


def _requantized(node: Operation, value: Node, scale: Any, to: int, operand: Node) -> Node:
    """Accumulators at the output scale of input `to`, with the zero point after it."""
    zero_point, dtype = zero_point_of(node, to + 1, operand)
    attributes = {"input_scale": scale, "output_scale": one_scale(node, to), "output_zero_point": zero_point}
    return node.typed(node.apply(ops.QNN_REQUANTIZE, value, rounding="even", **attributes), dtype)


def _convolution(node: Operation, data: Node, zero_point: int, weight: Node, scales: tuple[float, Any]) -> Node:
    """The sums of a convolution, 1-D ones with one row; see `as_before`."""
    window, image = Window.of(node, kernel_of(node, weight)), as_image(node, data)
    return node.apply(
        ops.QNN_CONV2D,
        image,
        as_image(node, weight),
        input_scale=scales[0],
        kernel_scale=scales[1],
        input_zero_point=zero_point,
        strides=window.strides,
        padding=window.padding(image.shape),
        dilation=window.dilation,
        groups=node.integer("group", 1),
    )


def _qlinear_conv(node: Operation) -> Node:
    data, zero_point = held(node, 0, 2)
    weight = _weight(node, 3, 5, 0)
    scale, scales = one_scale(node, 1), _scale(node, 4)
    result = _convolution(node, data, zero_point, weight, (scale, scales))
    bias = node.optional(8)
    if bias is not None:
        result = node.apply(ops.BIAS_ADD, result, bias)
    return as_before(node, _requantized(node, result, _product(scale, scales), 6, node.input(0)))


def _qlinear_matmul(node: Operation) -> Node:
    data, zero_point = held(node, 0, 2)
    if node.input(3).value is None or len(node.input(3).shape) > 2:
        return _product_of_tensors(node, data, zero_point)
    scale, scales = one_scale(node, 1), _scale(node, 4)
    result = _dense(node, data, zero_point, _weight(node, 3, 5, -1), (scale, scales))
    return _in_shape(node, _requantized(node, result, _product(scale, scales), 6, node.input(0)), data)


def _product_of_tensors(node: Operation, data: Node, zero_point: int) -> Node:
    """A QLinearMatMul of two tensors."""
    second, second_zero_point = held(node, 3, 5)
    result = node.apply(ops.QNN_MATMUL, data, second, lhs_zero_point=zero_point, rhs_zero_point=second_zero_point)
    return _requantized(node, result, _product(one_scale(node, 1), one_scale(node, 4)), 6, node.input(0))


def _dense(
    node: Operation, data: Node, zero_point: int, weight: Node, scales: tuple[float, Any], transposed: bool = False
) -> Node:
    """The product of rows of data with a matrix (K, M), or (M, K) where it is `transposed`; (N, M), see `_in_shape`."""
    if len(data.shape) < 2 or weight.value is None or len(weight.shape) != 2:
        raise UnsupportedNodeError(f"of shapes {data.shape} and {weight.shape} (the second must be one constant matrix)")
    matrix = weight if transposed else node.constant(np.ascontiguousarray(weight.value.T))
    rows = data if len(data.shape) == 2 else node.apply(ops.RESHAPE, data, newshape=(math.prod(data.shape[:-1]), data.shape[-1]))
    attributes = {"input_scale": scales[0], "kernel_scale": scales[1], "input_zero_point": zero_point}
    return node.apply(ops.QNN_DENSE, rows, matrix, **attributes)


def _in_shape(node: Operation, rows: Node, data: Node) -> Node:
    """The rows of a product, with the leading dimensions of `data` again."""
    return rows if len(data.shape) == 2 else node.apply(ops.RESHAPE, rows, newshape=(*data.shape[:-1], rows.shape[1]))


def _qgemm(node: Operation) -> Node:
    """A Gemm of bytes; without an output scale the result is float."""
    data, zero_point = held(node, 0, 2)
    by_column, scale, scales = not node.integer("transB", 0), one_scale(node, 1), _scale(node, 4)
    if node.integer("transA", 0):
        data = node.apply(ops.TRANSPOSE, data, axes=(1, 0))
    scale = float(np.float32(scale) * np.float32(node.number("alpha", 1.0)))
    weight = _weight(node, 3, 5, 1 if by_column else 0)
    result = _dense(node, data, zero_point, weight, (scale, scales), transposed=not by_column)
    bias = node.optional(6)
    if bias is not None:
        vector = bias.value is not None and bias.shape in ((result.shape[1],), (1, result.shape[1]))
        flat = node.apply(ops.RESHAPE, bias, newshape=(-1,)) if vector else bias
        result = node.apply(ops.BIAS_ADD if vector else ops.ADD, result, flat)
    if node.optional(7) is None:
        return node.apply(ops.QNN_DEQUANTIZE, result, scale=_product(scale, scales))
    return _requantized(node, result, _product(scale, scales), 7, node.input(0))


def _conv_integer(node: Operation) -> Node:
    data, weight = node.held(node.input(0)), _weight(node, 1, 3, 0)
    known = _known_zero_point(node)
    if known is not None:
        return as_before(node, _convolution(node, data, known, weight, (1.0, 1.0)))
    # Padding stands for the zero point, so what zero points add to a product is constant but for the zero point itself.
    counted = _convolution(node, node.constant(np.ones((1, *data.shape[1:]), np.int8)), 0, weight, (1.0, 1.0))
    sums = _less_zero_point(node, _convolution(node, data, 0, weight, (1.0, 1.0)), _folded(node, counted))
    return as_before(node, sums)


def _matmul_integer(node: Operation) -> Node:
    known = _known_zero_point(node)
    if node.input(1).value is None and known is not None:
        second, second_zero_point = held(node, 1, 3)
        zero_points = {"lhs_zero_point": known, "rhs_zero_point": second_zero_point}
        return node.apply(ops.QNN_MATMUL, node.held(node.input(0)), second, **zero_points)
    data, weight = node.held(node.input(0)), _weight(node, 1, 3, -1)
    result = _dense(node, data, known or 0, weight, (1.0, 1.0))
    if known is None:
        assert weight.value is not None
        result = _less_zero_point(node, result, node.constant(weight.value.sum(axis=0, dtype=np.int32)))
    return _in_shape(node, result, data)


def _known_zero_point(node: Operation) -> int | None:
    """The zero point of the first operand; None if it is computed at run time."""
    zero_point = node.optional(2)
    return zero_point_of(node, 2, node.input(0))[0] if zero_point is None or zero_point.value is not None else None


def _less_zero_point(node: Operation, product: Node, counted: Node) -> Node:
    """A product of bytes less what their zero point, held like them, adds to it."""
    zero_point = call(ops.CAST, [node.held(node.input(2))], node.name, dtype="int32")
    return node.apply(ops.SUBTRACT, product, node.apply(ops.MULTIPLY, counted, zero_point))


def _folded(node: Operation, product: Node) -> Node:
    """A quantised product of constants as a constant."""
    return node.constant(evaluate_node(product, [source.value for source in product.inputs if source.value is not None]))


def _dynamic_quantize_linear(node: Operation) -> tuple[Node, Node, Node]:
    """Bytes at the scale that the data asks for, that scale, and the zero point."""
    data, apply = node.input(), node.apply
    low = apply(ops.MINIMUM, apply(ops.MIN, data), like(0.0, data))
    high = apply(ops.MAXIMUM, apply(ops.MAX, data), like(0.0, data))
    scale = apply(ops.DIVIDE, apply(ops.SUBTRACT, high, low), like(255.0, data))
    # Data of zeros only are zero at any scale that can be divided by.
    scale = apply(ops.MAXIMUM, scale, like(float(np.finfo(np.float32).tiny), data))
    zero = apply(ops.ROUND, apply(ops.CLIP, apply(ops.NEGATIVE, apply(ops.DIVIDE, low, scale)), a_min=0.0, a_max=255.0))
    levels = apply(ops.CLIP, apply(ops.ADD, apply(ops.ROUND, apply(ops.DIVIDE, data, scale)), zero), a_min=0.0, a_max=255.0)
    value, zero_point = (
        node.typed(apply(ops.CAST, apply(ops.SUBTRACT, part, like(float(BYTE_OFFSET), data)), dtype="int8"), "uint8")
        for part in (levels, zero)
    )
    return value, scale, zero_point


CONVERTERS: dict[str, Converter] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize_linear,
    "DynamicQuantizeLinear": _dynamic_quantize_linear,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize_linear,
    f"DequantizeLinear{MICROSOFT}": _dequantize_linear,
    f"QGemm{MICROSOFT}": _qgemm,
    f"QuantizeLinear{MICROSOFT}": _quantize_linear,
}
