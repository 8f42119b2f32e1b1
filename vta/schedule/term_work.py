"""What every schedule of an operator has to do for one of its terms: products, and what they read.

Schedules leave out products with zero padding, and of a term whose weights are mostly zero those with blocks of zeros; what is
not multiplied with is not loaded either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm

__all__ = ["TermWork", "term_work"]

Bools = NDArray[np.bool_]


class TermWork(NamedTuple):
    """The least of a term."""

    products: int
    """Of a row of the input with a block of weights."""
    inputs: int
    """Elements of the source that some product reads."""
    weights: int
    """Blocks of weights that some product takes."""


def term_work(term: GemmTerm, operator: GemmOperator) -> TermWork:
    """What a term of `operator` takes at least, whatever the schedule."""
    down, across = (_axis(term, operator, axis) for axis in (0, 1))
    counts = np.outer(down.counts, across.counts)
    blocks, weights = _blocks(term, operator, counts > 0)
    products = int((blocks.sum(axis=0) * counts).sum()) * operator.output.batch
    patterns, times = np.unique(blocks > 0, axis=0, return_counts=True)
    inputs = sum(int(count) * _touched(pattern, down, across) for pattern, count in zip(patterns, times, strict=True))
    return TermWork(products, inputs * term.source.batch, weights)


class _Axis(NamedTuple):
    """Rows or columns of the source, and the kernel positions that meet them."""

    counts: NDArray[np.int64]
    """By kernel position: how many outputs read inside the source."""
    read: Bools
    """By kernel position and row: whether some output reads it."""


def _axis(term: GemmTerm, operator: GemmOperator, axis: int) -> _Axis:
    extent = (operator.output.height, operator.output.width)[axis]
    size = (term.source.height, term.source.width)[axis]
    read = np.zeros((term.kernel[axis], size), np.bool_)
    counts = np.zeros(term.kernel[axis], np.int64)
    outputs = np.arange(extent) * term.strides[axis] - term.padding[axis]
    for tap in range(term.kernel[axis]):
        rows, between = np.divmod(outputs + tap * term.dilation[axis], term.source_dilation[axis])
        reached = np.zeros(extent, np.bool_)
        for further in range(term.reach(axis) + 1):
            inside = (between == 0) & (rows + further >= 0) & (rows + further < size)
            read[tap, rows[inside] + further] = True
            reached |= inside
        counts[tap] = reached.sum()
    return _Axis(counts, read)


def _touched(pattern: Bools, down: _Axis, across: _Axis) -> int:
    """Elements of one input block that are read at the kernel positions in `pattern`."""
    if pattern.all():
        return int(down.read.any(axis=0).sum()) * int(across.read.any(axis=0).sum())
    meets = down.read.T.astype(np.int32) @ pattern.astype(np.int32) @ across.read.astype(np.int32)
    return int(np.count_nonzero(meets))


def _blocks(term: GemmTerm, operator: GemmOperator, reached: Bools) -> tuple[NDArray[np.int64], int]:
    """By input block and kernel position: with how many output blocks there are products; and how many weight blocks these take.

    `reached`, shape (KH, KW), are the kernel positions that lie on the input for some output.
    """
    out, kernel = operator.output.blocks, term.kernel
    source = min(out, term.source.blocks) if term.diagonal else term.source.blocks
    shape = term.weights.shape[:4]
    kept: Bools = np.asarray(term.weights.any(axis=(4, 5))) if term.sparse else np.ones(shape, np.bool_)
    at = kept & (reached.any() if term.window else reached)
    # Diagonal weights have the shape (out or 1, 1, ...): each output block reads the input block of its own number.
    by_source = np.broadcast_to(kept[:, 0], (source, *kept.shape[2:])) if term.diagonal else kept.sum(axis=0)
    return np.broadcast_to(by_source, (source, *kernel)) * reached, int(at.sum())
