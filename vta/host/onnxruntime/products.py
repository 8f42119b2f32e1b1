"""Convolutions and products of matrices in ONNX: of floats, and of integers to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.products.packing import byte_parts
from vta.host.onnxruntime.writer import ModelWriter, Tensor, refusal
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.matmul import Matmul2DAttributes, MatmulAttributes
from vta.ir.ops.nn.conv import Conv2DAttributes, Conv2DTransposeAttributes, spread_phases
from vta.ir.ops.quantized.qnn import ProductAttributes, base_attributes

__all__ = ["PRODUCTS"]

_EXACT = 1 << 24
"""Sums of integers below it are exact in single precision."""
_LARGEST_BYTE = 128
_WITH_WEIGHT = 2


def _zero_point(node: Node) -> int:
    return attrs_of(node, ProductAttributes).input_zero_point if node.op.startswith("qnn.") else 0


def _require_float32(node: Node) -> None:
    if node.dtype == "float64":
        raise refusal(node, "it has no products of float64")


def _geometry(attrs: Conv2DAttributes, kernel: Sequence[int]) -> dict[str, Any]:
    return {
        "strides": attrs.strides,
        "pads": attrs.padding,
        "dilations": attrs.dilation,
        "group": attrs.groups,
        "kernel_shape": list(kernel),
    }


def _convolution(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = base_attributes(Conv2DAttributes, node.attrs)
    geometry = _geometry(attrs, node.inputs[1].shape[2:])
    if node.dtype != "int32":
        _require_float32(node)
        return writer.apply("Conv", inputs, node.dtype, **geometry)
    zero = writer.scalar(_zero_point(node), "int8")
    return _by_bytes(writer, node, inputs, lambda part: writer.apply("ConvInteger", [inputs[0], part, zero], "int32", **geometry))


def _by_bytes(writer: ModelWriter, node: Node, inputs: Sequence[Tensor], product: Callable[[Tensor], Tensor]) -> Tensor:
    """The sum of products with weights of 8 bits that wider ones are the sum of."""
    weight = node.inputs[1]
    if weight.dtype == "int8":
        return product(inputs[1])
    parts = byte_parts(np.asarray(weight.value)) if weight.value is not None else []
    if not parts:
        raise refusal(node, f"it has no products with such weights of {weight.dtype}")
    return reduce(writer.add, [product(writer.constant(part)) for part in parts])


def _transposed(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = base_attributes(Conv2DTransposeAttributes, node.attrs)
    geometry = {**_geometry(attrs, node.inputs[1].shape[2:]), "output_padding": attrs.output_padding}
    if node.dtype == "int32":
        _require_exact(node, attrs)
        centered = writer.cast(inputs[0], "float32")
        if _zero_point(node):
            centered = writer.apply("Sub", [centered, writer.scalar(_zero_point(node), "float32")], "float32")
        sums = writer.apply("ConvTranspose", [centered, writer.cast(inputs[1], "float32")], "float32", **geometry)
        made = writer.cast(sums, "int32")
    else:
        _require_float32(node)
        made = writer.apply("ConvTranspose", inputs[:_WITH_WEIGHT], node.dtype, **geometry)
    if len(inputs) == _WITH_WEIGHT:
        return made
    if node.inputs[2].value is None:
        raise refusal(node, "what is added by phase is no constant")
    return writer.add(made, writer.constant(spread_phases(node.inputs[2].value, attrs, node.shape[2:])))


def _require_exact(node: Node, attrs: Conv2DTransposeAttributes) -> None:
    """Transposed convolutions of integers are those of floats, where these are exact."""
    weight = node.inputs[1].value
    largest = 2 * _LARGEST_BYTE if _zero_point(node) else _LARGEST_BYTE
    depth = node.inputs[1].shape[0] // attrs.groups * prod(node.inputs[1].shape[2:])
    most = _LARGEST_BYTE * depth if weight is None else int(_sums_of_sizes(weight, attrs.groups).max(initial=0))
    if most * largest >= _EXACT or node.inputs[1].dtype != "int8":
        raise refusal(node, "sums of its integers are not exact in single precision")


def _sums_of_sizes(weight: NDArray[Any], groups: int) -> NDArray[Any]:
    sizes = np.abs(weight.astype(np.int64)).reshape(groups, -1, *weight.shape[1:])
    return np.asarray(sizes.sum(axis=(1, 3, 4)))


def _dense(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    if node.dtype != "int32":
        return writer.apply("Gemm", inputs, node.dtype, transB=1)
    zero = writer.scalar(_zero_point(node), "int8")
    return _by_bytes(
        writer,
        node,
        inputs,
        lambda part: writer.apply("MatMulInteger", [inputs[0], writer.transpose(part, (1, 0)), zero], "int32"),
    )


def _matmul(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    if node.dtype != "int32":
        return writer.apply("MatMul", inputs, node.dtype)
    attrs = attrs_of(node, MatmulAttributes)
    return _integer_product(writer, inputs, attrs.lhs_zero_point, attrs.rhs_zero_point)


def _integer_product(writer: ModelWriter, inputs: Sequence[Tensor], left: int, right: int) -> Tensor:
    return writer.apply("MatMulInteger", [*inputs, writer.scalar(left, "int8"), writer.scalar(right, "int8")], "int32")


def _matmul2d(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    """Group by group: places by channels, times channels by columns."""
    attrs = attrs_of(node, Matmul2DAttributes)
    batch, channels, height, width = node.inputs[0].shape
    columns, depth = node.inputs[1].shape[3], channels // attrs.groups
    data = writer.transpose(writer.reshape(inputs[0], (batch, attrs.groups, depth, height * width)), (0, 1, 3, 2))
    weights = writer.reshape(inputs[1], (batch, attrs.groups, depth, columns))
    sums = _integer_product(writer, [data, weights], attrs.lhs_zero_point, attrs.rhs_zero_point)
    return writer.reshape(writer.transpose(sums, (0, 1, 3, 2)), node.shape)


PRODUCTS: dict[str, Callable[[ModelWriter, Node, Sequence[Tensor]], Tensor]] = {
    ops.CONV2D: _convolution,
    ops.QNN_CONV2D: _convolution,
    ops.CONV2D_TRANSPOSE: _transposed,
    ops.QNN_CONV2D_TRANSPOSE: _transposed,
    ops.DENSE: _dense,
    ops.QNN_DENSE: _dense,
    ops.MATMUL: _matmul,
    ops.QNN_MATMUL: _matmul,
    ops.MATMUL2D: _matmul2d,
}
"""Writes an operator by its name."""
