"""Convolutions, also transposed, and fully connected layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.tflite.converters._fused import activated, limits, window_padding
from vta.frontend.tflite.model import TensorRecord
from vta.frontend.tflite.operation import Converter, Operation, is_quantized, quantization_of
from vta.frontend.tflite.values import TO_LAST
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.ops.shape import TransposeAttributes

__all__ = ["CONVERTERS"]

Array = NDArray[Any]

_MATRIX = 2
"""Dimensions of the weight of a fully connected layer."""


def _conv(node: Operation) -> Node:
    """Weight (O, H, W, I)."""
    weight = _weight(node, 4)
    if weight.shape[3] == 0 or node.input().shape[1] % weight.shape[3]:
        raise ImportModelError(f"weight of shape {weight.shape} does not fit {node.input().shape[1]} input channels")
    groups = node.input().shape[1] // weight.shape[3]
    return _convolution(node, weight.transpose(0, 3, 1, 2), groups, channel_axis=0)


def _depthwise(node: Operation) -> Node:
    """Weight (1, H, W, C * multiplier)."""
    weight = _weight(node, 4)
    if weight.shape[0] != 1:
        raise ImportModelError(f"a depthwise weight has shape {weight.shape}; its first dimension must be 1")
    return _convolution(node, weight.transpose(3, 0, 1, 2), node.input().shape[1], channel_axis=3)


def _convolution(node: Operation, weight: Array, groups: int, channel_axis: int) -> Node:
    data = node.input()
    if len(data.shape) != 4:
        raise UnsupportedNodeError(f"its input has shape {data.shape}; only images can be imported")
    strides = (node.option("StrideH"), node.option("StrideW"))
    dilation = (node.option("DilationHFactor"), node.option("DilationWFactor"))
    span = tuple((size - 1) * step + 1 for size, step in zip(weight.shape[2:], dilation, strict=True))
    geometry = {
        "strides": strides,
        "padding": window_padding(node, data.shape, (span[0], span[1]), strides),
        "dilation": dilation,
        "groups": groups,
    }
    if not is_quantized(node.tensor()):
        result = node.apply(ops.CONV2D, data, node.constant(_real(node, weight, channel_axis, 0)), **geometry)
        return activated(node, _biased(node, result))
    return _quantized(node, ops.QNN_CONV2D, data, weight, channel_axis, geometry)


def _transposed(node: Operation) -> Node:
    """Inputs: the shape of the output, weight (O, H, W, I), data, and perhaps a bias."""
    weight, data = _weight(node, 4), node.input(2)
    if len(data.shape) != 4 or data.shape[1] != weight.shape[3]:
        raise ImportModelError(f"weight of shape {weight.shape} does not fit an input of shape {data.shape}")
    shape = node.numbers(0, "the shape of its output")
    if len(shape) != 4 or shape[0] != data.shape[0] or shape[3] != weight.shape[0] or min(shape) < 1:
        wanted = f"{data.shape[0]} images of {weight.shape[0]} channels"
        raise ImportModelError(f"its output has shape {shape}; expected {wanted}")
    strides, kernel = (node.option("StrideH"), node.option("StrideW")), weight.shape[1:3]
    # The padding is that of the convolution that goes from the output back to the input.
    before = window_padding(node, (shape[0], shape[3], *shape[1:3]), (kernel[0], kernel[1]), strides)[:2]
    rest = [(data.shape[2 + axis] - 1) * strides[axis] + kernel[axis] - before[axis] - shape[1 + axis] for axis in (0, 1)]
    geometry = {
        "strides": strides,
        "padding": (*before, *(max(0, cut) for cut in rest)),
        "output_padding": tuple(max(0, -cut) for cut in rest),
    }
    weight = weight.transpose(3, 0, 1, 2)
    if not is_quantized(node.tensor(2)):
        product = node.apply(ops.CONV2D_TRANSPOSE, data, node.constant(_real(node, weight, 0, 1)), **geometry)
        return activated(node, _biased(node, product, 3))
    return _quantized(node, ops.QNN_CONV2D_TRANSPOSE, data, weight, 0, geometry, inputs=(2, 3))


def _fully_connected(node: Operation) -> Node:
    """Weight (M, K)."""
    if node.option("WeightsFormat") != 0:
        raise UnsupportedNodeError("its weights are shuffled")
    weight = _weight(node, 2)
    data, weight = _rows(node, weight)
    if is_quantized(node.tensor()):
        result = _quantized(node, ops.QNN_DENSE, data, weight, 0, {})
    else:
        result = activated(node, _biased(node, node.apply(ops.DENSE, data, node.constant(_real(node, weight, 0, 0)))))
    shape = node.output().shape
    if len(shape) != 2 and math.prod(shape) == math.prod(result.shape):
        result = node.from_file_layout(node.apply(ops.RESHAPE, result, newshape=shape))
    return result


def _rows(node: Operation, weight: Array) -> tuple[Node, Array]:
    """The input as (N, K); weights follow the graph's order of an image's values, which saves a transposition."""
    data, features = node.input(), weight.shape[1]
    image = _flattened_image(data)
    if image is None or math.prod(image.shape[1:]) != features:
        rows = node.in_file_layout(data)
        if features == 0 or math.prod(rows.shape) % features:
            raise ImportModelError(f"weight of shape {weight.shape} does not fit an input of shape {rows.shape}")
        flat = (math.prod(rows.shape) // features, features)
        return (rows if rows.shape == flat else node.apply(ops.RESHAPE, rows, newshape=flat)), weight
    batch, channels, height, width = image.shape
    moved = weight.reshape(-1, height, width, channels).transpose(0, 3, 1, 2).reshape(-1, features)
    return node.apply(ops.RESHAPE, image, newshape=(batch, features)), moved


def _flattened_image(data: Node) -> Node | None:
    """The image of which `data` may hold all values in a row, in the order of the file: itself, or one that was reshaped."""
    if len(data.shape) == 4:
        return data
    moved = data.inputs[0] if data.op == ops.RESHAPE else data
    return moved.inputs[0] if isinstance(moved.attrs, TransposeAttributes) and moved.attrs.axes == TO_LAST else None


def _weight(node: Operation, rank: int) -> Array:
    weight = node.array(1, "weights")
    if weight.ndim != rank:
        raise ImportModelError(f"the weight has shape {weight.shape}; expected {rank} dimensions")
    return weight


def _real(node: Operation, weight: Array, channel_axis: int, position: int) -> Array:
    """Weights of a float layer; integers with scales stand for real numbers."""
    tensor = node.tensor(1)
    if not tensor.scales:
        return weight.astype(np.float32)
    shape = [1] * weight.ndim
    shape[position] = -1
    scales = np.reshape(_scales(tensor, channel_axis, weight.shape[position]), shape)
    zero_points = np.reshape(np.asarray(tensor.zero_points, np.int64), shape)
    return np.asarray((weight.astype(np.int64) - zero_points) * scales, np.float32)


def _scales(tensor: TensorRecord, channel_axis: int, channels: int) -> tuple[float, ...]:
    if len(tensor.scales) == 1:
        return tensor.scales
    if tensor.channel_axis != channel_axis or len(tensor.scales) != channels:
        raise ImportModelError(
            f"tensor {tensor.name!r} has {len(tensor.scales)} scales along dimension {tensor.channel_axis}; "
            f"expected {channels} along {channel_axis}"
        )
    return tensor.scales


def _biased(node: Operation, result: Node, index: int = 2) -> Node:
    if not node.has(index):
        return result
    bias = node.array(index, "biases").reshape(-1)
    if bias.dtype != result.dtype:
        raise UnsupportedNodeError(f"biases of {bias.dtype} for sums of {result.dtype} cannot be imported")
    return node.apply(ops.BIAS_ADD, result, node.constant(bias.astype(result.dtype)))


def _integer_weight(tensor: TensorRecord, weight: Array) -> Array:
    """Weights less their zero point: int8, or int16 where int8 is too narrow."""
    if tensor.dtype not in ("int8", "uint8"):
        raise UnsupportedNodeError(f"weights of {tensor.dtype} for a quantised input cannot be imported")
    if len(set(tensor.zero_points)) != 1:
        raise UnsupportedNodeError("its weights have different zero points")
    if tensor.dtype == "int8" and tensor.zero_points[0] == 0:
        return weight
    values = weight.astype(np.int16) - tensor.zero_points[0]
    narrow = values.size == 0 or (values.min() >= -128 and values.max() <= 127)
    return values.astype(np.int8) if narrow else values


def _quantized(
    node: Operation,
    op: str,
    data: Node,
    weight: Array,
    channel_axis: int,
    geometry: dict[str, Any],
    inputs: tuple[int, int] = (0, 2),
) -> Node:
    """Product, bias and requantisation; `channel_axis` is that of the weight in the file, `inputs` are those of data and bias."""
    source, to = quantization_of(node.tensor(inputs[0])), quantization_of(node.output())
    tensor = node.tensor(1)
    scales = _scales(tensor, channel_axis, tensor.shape[channel_axis])
    product = node.apply(
        op,
        data,
        node.constant(_integer_weight(tensor, weight)),
        input_scale=source.scale,
        input_zero_point=source.zero_point,
        kernel_scale=scales if len(scales) > 1 else scales[0],
        **geometry,
    )
    return node.apply(
        ops.QNN_REQUANTIZE,
        _biased(node, product, inputs[1]),
        input_scale=_product_scale(weight, tensor, source.scale, scales),
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="tflite_once" if weight.ndim == _MATRIX else "tflite",
        **limits(node),
    )


def _product_scale(weight: Array, tensor: TensorRecord, scale: float, scales: tuple[float, ...]) -> Any:
    """Scales of the products, as TFLite computes them: in single precision for convolutions of unsigned bytes."""
    if len(scales) > 1:
        return tuple(scale * other for other in scales)
    if weight.ndim == _MATRIX or tensor.dtype == "int8":
        return scale * scales[0]
    return float(np.float32(scale) * np.float32(scales[0]))


CONVERTERS: dict[str, Converter] = {
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "TRANSPOSE_CONV": _transposed,
}
