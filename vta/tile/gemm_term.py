"""Sums of matrix products over packed tensors: what `GemmOperator` adds to its accumulator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vta.support.dataclass import dataclass
from vta.tile.operator import Tensor

__all__ = ["GemmTerm", "RadixDigit", "computed_term", "kept_blocks"]

_UNKNOWN = np.int8(-128)
"""Stands for weights that are computed: none is of larger magnitude."""


@dataclass(frozen=True, eq=False)
class GemmTerm:
    """A sum of matrix products over a sliding window, added to the accumulator."""

    source: Tensor
    weights: NDArray[np.int8]
    """(CO, CI, KH, KW, BLOCK_OUT, BLOCK_IN). In a diagonal term CI is 1, and CO may be 1: one block for all channels."""
    _: KW_ONLY
    diagonal: bool = False
    """Output block co reads input block co only, rather than all of them."""
    strides: tuple[int, int] = (1, 1)
    """(0, 0) where all outputs read the only position of the source."""
    padding: tuple[int, int] = (0, 0)
    """Zero rows above and zero columns to the left; what is missing below and to the right is zero too. Negative where the
    first rows or columns are not read."""
    dilation: tuple[int, int] = (1, 1)
    window: tuple[int, int] | None = None
    """Kernel size of a term whose weights, with KH = KW = 1, are the same at every kernel position."""
    groups: int = 1
    """Groups of the network's convolution; a fact about the workload, the weights alone say what is computed."""
    sparse: bool = False
    """Most weights are zero: products with blocks of zeros are left out."""
    source_dilation: tuple[int, int] = (1, 1)
    """Distance of the source's rows and columns, with zeros between, as the kernel slides over them: the stride of a transposed
    convolution. Where it is above 1, `strides` are 1. No product with the zeros is made."""
    taps: int = 1
    """Columns of the kernel that one product covers, 3 in a depthwise convolution on a config that has DEPTHWISE. KW counts them
    as one, and of a block of weights row t holds what tap t multiplies each channel by."""
    computed: Tensor | None = None
    """Where the weights are values that the region stores: one row of columns that fill blocks, of which each is an output
    channel, with the input channels in its lanes. `weights` then only has their shape, and bounds them."""
    is_transfer: bool = False
    """The products only bring the source into the accumulator; the network does not count them as its own."""

    @property
    def kernel(self) -> tuple[int, int]:
        """Kernel height and width."""
        return self.window or (self.weights.shape[2], self.weights.shape[3])

    def reach(self, axis: int) -> int:
        """Rows or columns that a product reads beyond its first."""
        return self.taps - 1 if axis == 1 else 0

    def kernel_blocks(self, kh: int, kw: int) -> int:
        """Weight blocks that `kh` x `kw` kernel positions take, for one pair of channel blocks."""
        return 1 if self.window else kh * kw

    @cached_property
    def pointwise(self) -> bool:
        """Whether output position (y, x) reads input position (y, x) and no other, or all read the only one."""
        geometry = self.kernel, self.padding, self.source_dilation, self.taps
        return geometry == ((1, 1), (0, 0), (1, 1), 1) and self.strides in ((1, 1), (0, 0))

    @property
    def broadcasts(self) -> bool:
        """Whether all outputs read the only position of the source."""
        return self.strides == (0, 0)

    @cached_property
    def products_per_row(self) -> int:
        """Products of blocks that one output row takes; where rows differ, the mean of them, rounded up."""
        positions = -(-self.kernel[0] * self.kernel[1] // (self.source_dilation[0] * self.source_dilation[1]))
        return positions * (1 if self.diagonal else self.source.blocks)

    @cached_property
    def kept_block_count(self) -> int:
        """Blocks of weights that are not zero."""
        return len(kept_blocks(self.weights))

    @cached_property
    def workload_key(self) -> Hashable:
        """Shapes and geometry, without names and values; of a sparse term, which blocks are not zero."""
        source = self.source
        shape = source.batch, source.blocks, source.height, source.width
        window = self.strides, self.padding, self.dilation, self.source_dilation, self.window, self.taps
        kept = np.packbits(self.weights.any(axis=(4, 5))).tobytes() if self.sparse else None
        return shape, self.weights.shape, self.diagonal, self.groups, window, self.computed is not None, kept

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What it reads."""
        return (self.source,) if self.computed is None else (self.source, self.computed)

    def relocated(self, tensors: Mapping[str, Tensor]) -> GemmTerm:
        """The same term on the tensor that `tensors` has for the name of its own."""
        computed = None if self.computed is None else tensors.get(self.computed.name, self.computed)
        return replace(self, source=tensors.get(self.source.name, self.source), computed=computed)

    def flattened(self) -> GemmTerm:
        """The same term with rows and columns of its source as one axis."""
        return replace(self, source=self.source.flattened())


@dataclass(frozen=True, eq=False)
class RadixDigit:
    """Terms added to the accumulator after it has been shifted left by `shift` bits: one step of Horner's scheme."""

    shift: int
    terms: tuple[GemmTerm, ...]

    def relocated(self, tensors: Mapping[str, Tensor]) -> RadixDigit:
        """The same digit on the tensors that `tensors` has for the names of its own."""
        return replace(self, terms=tuple(term.relocated(tensors) for term in self.terms))

    def flattened(self) -> RadixDigit:
        """The same digit with rows and columns of its sources as one axis."""
        return replace(self, terms=tuple(term.flattened() for term in self.terms))


def computed_term(source: Tensor, weights: Tensor, block: int, strides: tuple[int, int] = (1, 1)) -> GemmTerm:
    """The products of a tensor with another one as its weights, both with the same blocks of channels."""
    shape = weights.width // block, weights.blocks, 1, 1, block, block
    return GemmTerm(source, np.broadcast_to(_UNKNOWN, shape), strides=strides, computed=weights)


def kept_blocks(weights: NDArray[np.int8]) -> NDArray[np.int64]:
    """Positions (n, 4) of the blocks of `weights`, shape (CO, CI, KH, KW, BLOCK, BLOCK), that are not zero."""
    return np.argwhere(weights.any(axis=(4, 5))).astype(np.int64)
