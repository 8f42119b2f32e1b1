"""The quantised transposed convolution; see vta.ir.ops.quantized.qnn for what scales and zero points mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import Array, wrap32
from vta.ir.operator import TensorType, lookup, operator
from vta.ir.ops._checks import require_dtype
from vta.ir.ops.nn.conv import Conv2DTransposeAttributes
from vta.ir.ops.quantized.qnn import ProductAttributes, base_attributes, check_scale
from vta.support.dataclass import dataclass

__all__ = ["QnnConv2DTransposeAttributes"]

_BASE = ops.CONV2D_TRANSPOSE


@dataclass(frozen=True)
class QnnConv2DTransposeAttributes(ProductAttributes):
    """Attributes of qnn.conv2d_transpose: the scales, and those of nn.conv2d_transpose."""

    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    output_padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    taps: int = 0
    copies: int = 0


def _infer(attrs: QnnConv2DTransposeAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], ("int8",), "data")
    require_dtype(types[1], ("int8", "int16"), "weight")
    result = lookup(_BASE).infer(base_attributes(Conv2DTransposeAttributes, attrs), types)
    check_scale("input_scale", attrs.input_scale, None)
    check_scale("kernel_scale", attrs.kernel_scale, result.shape[1])
    return result


@operator(ops.QNN_CONV2D_TRANSPOSE, 2, _infer, QnnConv2DTransposeAttributes)
def _conv2d_transpose(attrs: QnnConv2DTransposeAttributes, data: Array, weight: Array) -> Array:
    convolve, base = lookup(_BASE).reference, base_attributes(Conv2DTransposeAttributes, attrs)
    result = convolve(base, data, weight)
    if attrs.input_zero_point == 0:
        return result
    zeros = convolve(base, np.ones((1, *data.shape[1:]), np.int8), weight)
    return wrap32(result.astype(np.int64) - attrs.input_zero_point * zeros.astype(np.int64))
