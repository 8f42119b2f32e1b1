"""Convolutions. Data is NCHW; references go through BLAS and are exact for integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.operator import Attributes, TensorType, check_elements, operator
from vta.ir.ops._checks import check_int, check_ints, check_padded, require, require_rank
from vta.ir.ops._matmul import exact_dtype, product_dtype, wrap_int32
from vta.support.dataclass import dataclass

__all__ = [
    "Conv2DAttributes",
    "Conv2DTransposeAttributes",
    "conv2d_integers",
    "conv2d_shape",
    "convolve",
    "phase_sums",
    "spread_phases",
    "transposed_weight",
]

Array = NDArray[Any]

_BLOCK_ELEMENTS = 1 << 18
"""Elements of an im2col matrix at a time: larger batches are convolved in slices whose columns fit into the cache."""


@dataclass(frozen=True, kw_only=True)
class Conv2DAttributes(Attributes):
    """Geometry of a convolution."""

    strides: tuple[int, int] = (1, 1)
    """Vertical, horizontal."""
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Zeros at top, left, bottom, right."""
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    taps: int = 0
    """Weights of each output that the network has, where others are zero by construction; 0: all. Says what counts as work."""
    copies: int = 0
    """The last output channels, that repeat others: no work of the network's."""

    def __post_init__(self) -> None:
        check_ints(self, "strides", 2, 1)
        check_ints(self, "padding", 4, 0)
        check_ints(self, "dilation", 2, 1)
        check_int(self, "groups", 1)
        check_int(self, "taps", 0)
        check_int(self, "copies", 0)


def conv2d_shape(attrs: Conv2DAttributes, data: TensorType, weight: TensorType) -> tuple[int, ...]:
    """Return the output shape of a convolution; raises `GraphError` if the shapes do not go together."""
    require_rank(data, 4, "data")
    require_rank(weight, 4, "weight")
    batch, channels, height, width = data.shape
    out_channels, in_channels, kernel_h, kernel_w = weight.shape
    groups = attrs.groups
    require(
        channels == in_channels * groups,
        f"data has {channels} channels, but weight {weight.shape} with groups={groups} needs {in_channels * groups}",
    )
    require(out_channels % groups == 0, f"groups={groups} must divide the {out_channels} output channels")
    top, left, bottom, right = attrs.padding
    span_h, span_w = (kernel_h - 1) * attrs.dilation[0] + 1, (kernel_w - 1) * attrs.dilation[1] + 1
    require(min(kernel_h, kernel_w) >= 1, f"weight {weight.shape} has no kernel positions")
    check_padded(data, attrs.padding)
    full_h, full_w = height + top + bottom, width + left + right
    require(
        full_h >= span_h and full_w >= span_w,
        f"the kernel spans {span_h}x{span_w}, more than the padded data, {full_h}x{full_w}",
    )
    out_h, out_w = (full_h - span_h) // attrs.strides[0] + 1, (full_w - span_w) // attrs.strides[1] + 1
    return batch, out_channels, out_h, out_w


def _infer_conv2d(attrs: Conv2DAttributes, types: Sequence[TensorType]) -> TensorType:
    data, weight = types
    return TensorType(conv2d_shape(attrs, data, weight), product_dtype(data, weight))


def _fill_columns(columns: Array, padded: Array, attrs: Conv2DAttributes) -> None:
    """Fill ``[N, C, KH, KW, OH, OW]`` with what each kernel position meets."""
    out = (columns.shape[4], columns.shape[5])
    for i in range(columns.shape[2]):
        for j in range(columns.shape[3]):
            columns[:, :, i, j] = _shifted(padded, i, j, attrs, out)


def _zero_border(data: Array, padding: tuple[int, ...]) -> Array:
    top, left, bottom, right = padding
    if not any(padding):
        return data
    batch, channels, height, width = data.shape
    padded = np.zeros((batch, channels, height + top + bottom, width + left + right), data.dtype)
    padded[:, :, top : top + height, left : left + width] = data
    return padded


def _shifted(padded: Array, i: int, j: int, attrs: Conv2DAttributes, out: tuple[int, int]) -> Array:
    """The elements of `padded` that kernel position (i, j) meets, (N, C, OH, OW)."""
    (stride_h, stride_w), (dilate_h, dilate_w) = attrs.strides, attrs.dilation
    top, left = i * dilate_h, j * dilate_w
    rows = slice(top, top + (out[0] - 1) * stride_h + 1, stride_h)
    return padded[:, :, rows, left : left + (out[1] - 1) * stride_w + 1 : stride_w]


def convolve(attrs: Conv2DAttributes, data: Array, weight: Array, dtype: Any) -> Array:
    """Return the convolution computed in floating-point type `dtype`, of shape ``[N, O, OH, OW]``."""
    return _convolved(attrs, data, weight, np.dtype(dtype), np.dtype(dtype))


def conv2d_integers(attrs: Conv2DAttributes, data: Array, weight: Array) -> Array:
    """Return the exact convolution of integer arrays modulo 2^32, as int32."""
    dtype = np.dtype(exact_dtype(data, weight.reshape(weight.shape[0], -1)))
    return _convolved(attrs, data, weight, dtype, np.dtype(np.int32))


def _convolved(attrs: Conv2DAttributes, data: Array, weight: Array, dtype: np.dtype[Any], result_dtype: np.dtype[Any]) -> Array:
    """Convolve in `dtype`, some images at a time; an int32 result is taken modulo 2^32."""
    shape = conv2d_shape(attrs, TensorType(data.shape, "?"), TensorType(weight.shape, "?"))
    weight = weight.astype(dtype, copy=False)
    result = np.empty(shape, result_dtype)
    depthwise = weight.shape[0] == attrs.groups and weight.shape[1] == 1
    kernel, positions = weight.shape[2] * weight.shape[3], shape[2] * shape[3]
    per_image = data.shape[1] * positions * (1 if depthwise else kernel)
    step = max(1, min(shape[0], _BLOCK_ELEMENTS // max(1, per_image)))
    compute = (_depthwise if depthwise else _multiplied)(attrs, data, weight, (step, *shape[1:]))
    for first in range(0, shape[0], step):
        values = compute(data[first : first + step])
        result[first : first + step] = values if result_dtype == dtype else wrap_int32(values)
    return result


_Block = Callable[[Array], Array]
"""From a few images to their results; what it returns is overwritten by the next call."""


def _multiplied(attrs: Conv2DAttributes, data: Array, weight: Array, shape: tuple[int, ...]) -> _Block:
    """Convolution as a product of matrices, of up to ``shape[0]`` images at a time. The columns stay in the cache."""
    groups, kernel, out = attrs.groups, weight.shape[2:], shape[2:]
    matrix = weight.reshape(groups, shape[1] // groups, -1)
    whole = kernel == (1, 1) and not any(attrs.padding)
    columns = np.empty(0 if whole else (shape[0], data.shape[1], *kernel, *out), weight.dtype)
    products = np.empty((shape[0], groups, shape[1] // groups, out[0] * out[1]), weight.dtype)

    def compute(images: Array) -> Array:
        count = len(images)
        if whole:
            filled = images[:, :, :: attrs.strides[0], :: attrs.strides[1]].astype(weight.dtype, copy=False)
        else:
            filled = columns[:count]
            _fill_columns(filled, _zero_border(images, attrs.padding), attrs)
        depth = filled.reshape(count, groups, matrix.shape[2], out[0] * out[1])
        if groups == 1:
            np.matmul(matrix[0], depth[:, 0], out=products[:count, 0])
        else:
            np.matmul(matrix, depth, out=products[:count])
        return products[:count].reshape(count, *shape[1:])

    return compute


def _depthwise(attrs: Conv2DAttributes, data: Array, weight: Array, shape: tuple[int, ...]) -> _Block:
    """One kernel a channel: too little arithmetic for BLAS, so add up kernel positions."""
    total, product = np.empty(shape, weight.dtype), np.empty(shape, weight.dtype)

    def compute(images: Array) -> Array:
        count = len(images)
        padded = _zero_border(images, attrs.padding).astype(weight.dtype, copy=False)
        total[:count] = 0
        for i in range(weight.shape[2]):
            for j in range(weight.shape[3]):
                factor = weight[:, 0, i, j, None, None]
                np.multiply(_shifted(padded, i, j, attrs, (shape[2], shape[3])), factor, out=product[:count])
                total[:count] += product[:count]
        return total[:count]

    return compute


@operator(ops.CONV2D, 2, _infer_conv2d, Conv2DAttributes)
def conv2d(attrs: Conv2DAttributes, data: Array, weight: Array) -> Array:
    """Convolve data (N, C, H, W) with weight (O, C/groups, KH, KW)."""
    if data.dtype == np.int8:
        return conv2d_integers(attrs, data, weight)
    return convolve(attrs, data, weight, data.dtype)


@dataclass(frozen=True, kw_only=True)
class Conv2DTransposeAttributes(Conv2DAttributes):
    """Geometry of a transposed convolution; `padding` is cut from the output."""

    output_padding: tuple[int, int] = (0, 0)
    """Rows added at the bottom and columns added at the right."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ints(self, "output_padding", 2, 0)


def _transposed_extent(attrs: Conv2DTransposeAttributes, size: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[int, int]:
    """Height and width before `padding` is cut off."""
    high, wide = ((size[a] - 1) * attrs.strides[a] + (kernel[a] - 1) * attrs.dilation[a] + 1 for a in (0, 1))
    return high, wide


def _infer_conv2d_transpose(attrs: Conv2DTransposeAttributes, types: Sequence[TensorType]) -> TensorType:
    data, weight = types[:2]
    require_rank(data, 4, "data")
    require_rank(weight, 4, "weight")
    require(data.shape[1] == weight.shape[0], f"data has {data.shape[1]} channels, but weight has {weight.shape[0]}")
    require(data.shape[1] % attrs.groups == 0, f"groups={attrs.groups} must divide the {data.shape[1]} input channels")
    high, wide = _transposed_extent(attrs, data.shape[2:], weight.shape[2:])
    check_elements((data.shape[0], weight.shape[1] * attrs.groups, high, wide), "the output before padding is cut off")
    top, left, bottom, right = attrs.padding
    out = (high - top - bottom + attrs.output_padding[0], wide - left - right + attrs.output_padding[1])
    require(min(out) >= 1, f"padding {attrs.padding} leaves nothing of the {high}x{wide} output")
    result = TensorType((data.shape[0], weight.shape[1] * attrs.groups, *out), product_dtype(data, weight))
    wanted = TensorType((result.shape[1], *attrs.strides), result.dtype)
    require(len(types) == 2 or types[2] == wanted, f"what is added by phase must be {wanted}, got {types[-1]}")
    return result


def transposed_weight(weight: Array, groups: int) -> Array:
    """Weights of the convolution that a transposed one is, once zeros lie between its input's rows and columns; and back.

    From shape (C, O/groups, KH, KW) to (O, C/groups, KH, KW), turned upside down and left to right.
    """
    channels, out_group, height, width = weight.shape
    grouped = weight.reshape(groups, channels // groups, out_group, height, width).swapaxes(1, 2)
    return np.ascontiguousarray(grouped.reshape(groups * out_group, channels // groups, height, width)[:, :, ::-1, ::-1])


def phase_sums(values: Array, attrs: Conv2DTransposeAttributes) -> Array:
    """Sums of `values` (O, KH, KW) over the kernel positions that meet in one output, for each phase: shape (O, SH, SW).

    Output (y, x) before `padding` is cut off belongs to phase ``(y % strides[0], x % strides[1])``. Positions are those of the
    operator's weights, not turned.
    """
    sums = np.zeros((len(values), *attrs.strides), values.dtype)
    for i in range(values.shape[1]):
        for j in range(values.shape[2]):
            sums[:, i * attrs.dilation[0] % attrs.strides[0], j * attrs.dilation[1] % attrs.strides[1]] += values[:, i, j]
    return sums


def spread_phases(values: Array, attrs: Conv2DTransposeAttributes, extent: tuple[int, ...]) -> Array:
    """Values (O, SH, SW) of each phase at the outputs that belong to it, after `padding` is cut off: (O, *extent)."""
    (down, across), (top, left) = attrs.strides, attrs.padding[:2]
    rows, columns = (np.arange(extent[0]) + top) % down, (np.arange(extent[1]) + left) % across
    return np.asarray(values[:, rows[:, None], columns])


@operator(ops.CONV2D_TRANSPOSE, (2, 3), _infer_conv2d_transpose, Conv2DTransposeAttributes)
def conv2d_transpose(attrs: Conv2DTransposeAttributes, data: Array, weight: Array, offsets: Array | None = None) -> Array:
    """Transposed convolution of data (N, C, H, W) with weight (C, O/groups, KH, KW).

    Each value adds itself times the kernel to the output, `strides` apart: ``out[y * stride + k * dilation] += x[y] * w[k]``.
    `offsets` (O, SH, SW) are added to all outputs, by their phase (see `phase_sums`).
    """
    batch, channels, height, width = data.shape
    groups, (out_group, kernel_h, kernel_w) = attrs.groups, weight.shape[1:]
    integer = data.dtype == np.int8
    dtype = np.dtype(np.float64) if integer else data.dtype
    matrix = weight.astype(dtype).reshape(groups, channels // groups, -1).transpose(0, 2, 1)
    columns = data.astype(dtype).reshape(batch, groups, channels // groups, height * width)
    product = (matrix @ columns).reshape(batch, groups * out_group, kernel_h, kernel_w, height, width)

    full_h, full_w = _transposed_extent(attrs, (height, width), (kernel_h, kernel_w))
    top, left, bottom, right = attrs.padding
    below, beside = attrs.output_padding
    full = np.zeros((batch, groups * out_group, full_h + below, full_w + beside), dtype)
    for i in range(kernel_h):
        for j in range(kernel_w):
            _shifted(full, i, j, attrs, (height, width))[...] += product[:, :, i, j]
    result = full[:, :, top : full_h + below - bottom, left : full_w + beside - right]
    if offsets is not None:
        result = result + spread_phases(offsets, attrs, result.shape[2:])
    return wrap_int32(result) if integer else np.ascontiguousarray(result)
