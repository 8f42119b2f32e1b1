"""The elements under a sliding window, as channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import check_ints, require, require_rank
from vta.support.dataclass import dataclass

__all__ = ["WindowsAttributes", "windows"]

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class WindowsAttributes(Attributes):
    """Geometry of a window; all pairs are vertical, horizontal."""

    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Zeros at top, left, bottom, right."""
    dilation: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        check_ints(self, "kernel", 2, 1)
        check_ints(self, "strides", 2, 1)
        check_ints(self, "padding", 4, 0)
        check_ints(self, "dilation", 2, 1)

    def extents(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of windows over an image."""
        top, left, bottom, right = self.padding
        sizes = (height + top + bottom, width + left + right)
        spans = [(count - 1) * step + 1 for count, step in zip(self.kernel, self.dilation, strict=True)]
        require(all(size >= span for size, span in zip(sizes, spans, strict=True)), f"windows of {spans} in an image of {sizes}")
        down, across = ((size - span) // step + 1 for size, span, step in zip(sizes, spans, self.strides, strict=True))
        return down, across


def _infer_windows(attrs: WindowsAttributes, types: Sequence[TensorType]) -> TensorType:
    require_rank(types[0], 4, "data")
    batch, channels, height, width = types[0].shape
    return TensorType((batch, channels * attrs.kernel[0] * attrs.kernel[1], *attrs.extents(height, width)), types[0].dtype)


@operator(ops.WINDOWS, 1, _infer_windows, WindowsAttributes)
def windows(attrs: WindowsAttributes, data: Array) -> Array:
    """Return (N, KH * KW * C, OH, OW) of `data` (N, C, H, W): window position (i, j) of channel c is (i * KW + j) * C + c."""
    batch, channels, height, width = data.shape
    top, left, bottom, right = attrs.padding
    padded = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)))
    rows, columns = attrs.extents(height, width)
    result = np.empty((batch, *attrs.kernel, channels, rows, columns), data.dtype)
    for i in range(attrs.kernel[0]):
        for j in range(attrs.kernel[1]):
            first, start = i * attrs.dilation[0], j * attrs.dilation[1]
            down = slice(first, first + (rows - 1) * attrs.strides[0] + 1, attrs.strides[0])
            across = slice(start, start + (columns - 1) * attrs.strides[1] + 1, attrs.strides[1])
            result[:, i, j] = padded[:, :, down, across]
    return result.reshape(batch, -1, rows, columns)
