"""What the kernels of layers meet on calibration data: how the values under a kernel vary together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.quantized.qnn import ProductAttributes, base_attributes
from vta.native import ffi, lib
from vta.quantization.float.calibration.places import Places
from vta.support.dataclass import dataclass
from vta.support.on_cores import on_cores

__all__ = ["Moments", "PatchMoments", "shrunk_covariance", "shrunk_parts"]

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
    share, own = shrunk_parts(moments)
    found = share * moments.covariance
    every = np.arange(moments.covariance.shape[1])
    found[:, every, every] = own
    return np.asarray(found)


def shrunk_parts(moments: Moments) -> tuple[float, Array]:
    """What the shrunk covariance has: a share of what the covariance has off its diagonal, and a diagonal of its own, (G, D)."""
    size = moments.covariance.shape[1]
    own = np.diagonal(moments.covariance, axis1=1, axis2=2)
    share = size / (moments.count + size)
    level = np.maximum(own.sum(axis=1) / size, _LEAST_VARIANCE)[:, None]
    return 1 - share, (1 - share) * own + share * own + _DAMPING * level


class PatchMoments:
    """Moments of what convolutions (not transposed ones) and dense layers read, over all batches seen."""

    def __init__(self, products: Iterable[Node]) -> None:
        self._readers: dict[Node, list[_Seen]] = {}
        for product in products:
            if product.op in _PRODUCTS and _weights(product) <= _LARGEST:
                self._readers.setdefault(product.inputs[0], []).append(_Seen(product))
        self._source = Places()
        self._places: dict[Node, Array] = {}
        """Of products that are still to be met, those of each batch."""

    def sees(self, node: Node) -> bool:
        """Whether a layer whose moments are wanted reads a node."""
        return node in self._readers

    def asks_for(self, node: Node) -> bool:
        """The same."""
        return node in self._readers

    def expect(self, order: Sequence[Node], batches: int) -> None:
        """Draw the places of so many batches, whose values come in wide; one batch after the other, its nodes in `order`."""
        layers = [seen for node in order for seen in self._readers.get(node, ())]
        drawn = self._source.drawn([seen.positions for seen in layers], [seen.places for seen in layers], batches)
        self._places = {seen.product: places for seen, places in zip(layers, drawn, strict=True)}

    def add(self, node: Node, value: Array, batches: int = 1) -> None:
        """Take in the values of a node in so many batches, which were expected; one that no layer reads is passed over."""
        for seen in self._readers.get(node, ()):
            seen.add(_real(seen.product, value), self._places.pop(seen.product))

    def values(self) -> dict[Node, Moments]:
        """The moments of each product that was met, to be asked for at the end."""
        met = [seen for readers in self._readers.values() for seen in readers if seen.count]
        found: dict[Node, Moments] = {}
        on_cores(lambda seen: found.__setitem__(seen.product, seen.moments), met)
        return {seen.product: found[seen.product] for seen in met}


class _Seen:
    """What the weights of one layer have met."""

    def __init__(self, product: Node) -> None:
        self.product = product
        self.count = 0
        """Patches until now."""
        self._values = _weights(product)
        self.positions = prod(product.shape[2:])
        """Places of the output; a dense layer has one."""
        self._stride = -(-self._values // lib.VTA_MOMENTS_STRIDE) * lib.VTA_MOMENTS_STRIDE
        self._patches = _patches_of(product)
        self.places: int = self._patches.places
        """Of those that are looked at in each batch."""
        groups, stride = self._patches.groups, self._stride
        self._totals, self._squares = np.zeros((groups, stride)), np.zeros((groups, stride, stride))
        waiting = np.zeros((groups, lib.VTA_MOMENTS_BLOCK, stride), np.float32)
        products = np.zeros((groups, stride, stride), np.float32)
        self._middles = np.zeros((groups, stride), np.float32)
        arrays = {"waiting": waiting, "products": products, "middles": self._middles}
        sums = {"totals": self._totals, "squares": self._squares}
        self._kept = {name: ffi.from_buffer("float[]", array) for name, array in arrays.items()}
        self._kept |= {name: ffi.from_buffer("double[]", array) for name, array in sums.items()}
        self._moments = ffi.new("vta_moments *", {**self._kept, "stride": stride})

    def add(self, values: Array, places: NDArray[np.int64]) -> None:
        """Take in the values of some batches, and the places of each, (batches, n)."""
        given, at = ffi.from_buffer("float[]", np.ascontiguousarray(values)), ffi.from_buffer("int64_t[]", places)
        patches = self._patches
        patches.rows = len(values) // len(places)
        if not self.count:
            self._middles[...] = self._mean_of_patches(given, at)
        if lib.vta_moments_add(self._moments, patches, given, at, len(places)):
            raise self._no_memory()
        self.count += len(values) * patches.places

    def _no_memory(self) -> MemoryError:
        return MemoryError(f"layer {self.product.name!r}: no memory for what its weights meet")

    @cached_property
    def moments(self) -> Moments:
        """Of all that was met; they take the place of the sums, so that nothing is met afterwards."""
        values = self._values
        if lib.vta_moments_end(self._moments, self._patches):
            raise self._no_memory()
        means = self._totals[:, :values] / self.count
        for squares, mean in zip(self._squares, means, strict=True):
            native = ffi.new("vta_moments *", {"squares": ffi.from_buffer("double[]", squares), "stride": self._stride})
            given = ffi.from_buffer("double[]", np.ascontiguousarray(mean))
            lib.vta_moments_covariance(native, given, values, self.count)
        self._kept.clear()
        return Moments(self._squares[:, :values, :values], self.count)

    def _mean_of_patches(self, given: Any, places: Any) -> Array:
        """Variances may be tiny beside means, which single precision would not survive: these are taken off first."""
        patches = self._patches
        first = np.zeros((patches.groups, patches.rows * patches.places, self._stride), np.float32)
        lib.vta_moments_patches(patches, given, places, self._stride, ffi.from_buffer("float[]", first))
        return np.asarray(first.mean(axis=1))


def _patches_of(product: Node) -> Any:
    """Where the patches lie in what a layer reads; a dense layer has one a row."""
    found = ffi.new("vta_patches *", {"groups": 1, "places": 1, "out_width": 1})
    found.channels, found.height, found.width = product.inputs[0].shape[1], 1, 1
    found.kernel_height = found.kernel_width = 1
    found.stride_height = found.stride_width = found.dilation_height = found.dilation_width = 1
    if len(product.shape) == 2:
        return found
    attrs = base_attributes(Conv2DAttributes, product.attrs)
    found.groups, found.channels = attrs.groups, product.inputs[1].shape[1]
    found.height, found.width = product.inputs[0].shape[2:]
    found.kernel_height, found.kernel_width = product.inputs[1].shape[2:]
    found.stride_height, found.stride_width = attrs.strides
    found.dilation_height, found.dilation_width = attrs.dilation
    found.top, found.left = attrs.padding[:2]
    positions, found.out_width = product.shape[2] * product.shape[3], product.shape[3]
    found.places = min(max(_VALUES // _weights(product), _LEAST_POSITIONS), _MOST_POSITIONS, positions)
    return found


def _weights(product: Node) -> int:
    """Weights of one output channel."""
    return prod(product.inputs[1].shape[1:])


def _real(product: Node, value: Array) -> Array:
    """The values as real numbers, float32."""
    attrs = product.attrs
    if not isinstance(attrs, ProductAttributes):
        return value.astype(np.float32, copy=False)
    return (value.astype(np.float32) - np.float32(attrs.input_zero_point)) * np.float32(attrs.input_scale)
