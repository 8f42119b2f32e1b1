"""What the kernels of layers meet on calibration data: how the values under a kernel vary together."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.ops.nn_conv import Conv2DAttributes
from vta.ir.ops.qnn import ProductAttributes, base_attributes
from vta.support.dataclass import dataclass

__all__ = ["Moments", "PatchMoments", "shrunk_covariance"]

Array = NDArray[Any]

_LARGEST = 1536
"""Weights of one output channel; layers with more are left out: their covariance would be larger than is worth it."""
_LEAST_POSITIONS, _MOST_POSITIONS = 16, 64
_VALUES = 1 << 14
"""Places of each image that are looked at, at random: as many as these values fill, within these bounds."""
_LEAST_VARIANCE = 1e-12
_DAMPING = 0.01
"""Of the mean variance, added to each: values that hardly vary must not take up large corrections."""
_PRODUCTS = (ops.CONV2D, ops.DENSE, ops.QNN_CONV2D, ops.QNN_DENSE)


@dataclass(frozen=True)
class Moments:
    """Of the values that meet the weights of an output channel, in the order of those; G groups of channels."""

    covariance: Array
    """(G, D, D)."""
    count: int
    """Patches that it is from."""


def shrunk_covariance(moments: Moments) -> Array:
    """The covariance, drawn towards its diagonal the more, the fewer samples there are for its size; positive definite."""
    covariance = moments.covariance
    size = covariance.shape[1]
    own = np.eye(size) * np.diagonal(covariance, axis1=1, axis2=2)[:, None, :]
    share = size / (moments.count + size)
    level = np.maximum(own.sum(axis=(1, 2)) / size, _LEAST_VARIANCE)[:, None, None]
    return np.asarray((1 - share) * covariance + share * own + _DAMPING * level * np.eye(size))


class PatchMoments:
    """Moments of what convolutions (not transposed ones) and dense layers read, over all batches seen."""

    def __init__(self, products: Iterable[Node]) -> None:
        self._readers: dict[Node, list[Node]] = {}
        for product in products:
            if product.op in _PRODUCTS and _weights(product) <= _LARGEST:
                self._readers.setdefault(product.inputs[0], []).append(product)
        self._sums: dict[Node, tuple[Array, Array, int]] = {}
        self._middles: dict[Node, Array] = {}
        self._rng = np.random.default_rng(0)

    def add(self, node: Node, value: Array) -> None:
        """Take in the value of a node; one that no layer reads is passed over."""
        for product in self._readers.get(node, ()):
            patches = self._patches(product, _real(product, value))
            # Variances may be tiny beside means, which single precision would not survive.
            patches -= self._middles.setdefault(product, patches.mean(axis=1, keepdims=True))
            if product not in self._sums:
                groups, _, size = patches.shape
                self._sums[product] = np.zeros((groups, size)), np.zeros((groups, size, size)), 0
            total, squares, count = self._sums[product]
            squares += np.matmul(patches.transpose(0, 2, 1), patches)
            total += patches.sum(axis=1, dtype=np.float64)
            self._sums[product] = total, squares, count + patches.shape[1]

    def values(self) -> dict[Node, Moments]:
        """The moments of each product that was met."""
        found = {}
        for product, (total, squares, count) in self._sums.items():
            mean = total / count
            found[product] = Moments(squares / count - mean[:, :, None] * mean[:, None, :], count)
        return found

    def _patches(self, product: Node, data: Array) -> Array:
        """Values under the kernel at some positions, (G, n, D) float32."""
        if data.ndim == 2:
            return data[None].copy()
        attrs = base_attributes(Conv2DAttributes, product.attrs)
        (height, width), kernel = product.shape[2:], product.inputs[1].shape[2:]
        top, left, bottom, right = attrs.padding
        padded = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)))
        wanted = min(max(_VALUES // _weights(product), _LEAST_POSITIONS), _MOST_POSITIONS, height * width)
        places = self._rng.choice(height * width, wanted, replace=False)
        starts = (places // width * attrs.strides[0], places % width * attrs.strides[1])
        rows, columns = (
            start[:, None] + np.arange(size) * step for start, size, step in zip(starts, kernel, attrs.dilation, strict=True)
        )
        patches = padded[:, :, rows[:, :, None], columns[:, None, :]]
        batch, channels = data.shape[:2]
        split = patches.reshape(batch, attrs.groups, channels // attrs.groups, len(places), -1)
        return np.ascontiguousarray(split.transpose(1, 0, 3, 2, 4)).reshape(attrs.groups, batch * len(places), -1)


def _weights(product: Node) -> int:
    """Weights of one output channel."""
    return prod(product.inputs[1].shape[1:])


def _real(product: Node, value: Array) -> Array:
    """The values as real numbers, float32."""
    attrs = product.attrs
    if not isinstance(attrs, ProductAttributes):
        return value.astype(np.float32, copy=False)
    return (value.astype(np.float32) - np.float32(attrs.input_zero_point)) * np.float32(attrs.input_scale)
