"""Which outputs, kernel positions and rows of the source meet along one axis of a term.

Output position o and kernel position k meet at z = o * stride + k * dilation - padding. The source has a row there if z is a
multiple of its own dilation u, namely row z / u. For u above 1 the term is a transposed convolution: kernel positions that lie
u / gcd(u, dilation) apart reach the same outputs, every u-th one, and no product with the zeros between rows is made.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from vta.tile.operator import GemmTerm

__all__ = ["Reach", "max_rows", "reaches", "rows_read"]


class Reach(NamedTuple):
    """Kernel positions of a step and the outputs of a tile that they all reach: first index, count and distance of each."""

    kernel: int
    kernel_count: int
    kernel_step: int
    output: int
    output_count: int
    output_step: int
    row: int
    """Row of the window that the first kernel position reads for the first output."""
    row_per_kernel: int
    row_per_output: int


Ints = NDArray[np.int64]


@overload
def max_rows(term: GemmTerm, axis: int, outputs: int, kernel: int) -> int: ...


@overload
def max_rows(term: GemmTerm, axis: int, outputs: Ints, kernel: int | Ints) -> Ints: ...


def max_rows(term: GemmTerm, axis: int, outputs: int | Ints, kernel: int | Ints) -> int | Ints:
    """Most rows of the source that `outputs` outputs in a row read at `kernel` kernel positions in a row."""
    return ((outputs - 1) * term.strides[axis] + (kernel - 1) * term.dilation[axis]) // term.source_dilation[axis] + 1


def rows_read(term: GemmTerm, axis: int, output: int, outputs: int, kernel: int, kernels: int) -> tuple[int, int]:
    """First row of the source, possibly outside it, and how many from it on `outputs` outputs read at `kernels` positions."""
    first = output * term.strides[axis] + kernel * term.dilation[axis] - term.padding[axis]
    last = first + (outputs - 1) * term.strides[axis] + (kernels - 1) * term.dilation[axis]
    between = term.source_dilation[axis]
    start = -(-first // between)
    return start, last // between - start + 1


def reaches(
    term: GemmTerm, axis: int, output: int, outputs: int, kernel: int, kernels: int, skip_padding: bool
) -> tuple[Reach, ...]:
    """All products of `kernels` kernel positions with the tile of `outputs` outputs from `output` on, without repetition.

    With `skip_padding`, those with rows outside the source are left out.
    """
    size = (term.source.height, term.source.width)[axis]
    stride, dilation, between = term.strides[axis], term.dilation[axis], term.source_dilation[axis]
    window = rows_read(term, axis, output, outputs, kernel, kernels)[0]
    kernel_step = between // gcd(between, dilation)
    steps = kernel_step, dilation * kernel_step // between
    found: list[Reach] = []
    for phase in range(min(kernels, kernel_step)):
        at = output * stride + (kernel + phase) * dilation - term.padding[axis]
        skipped = -at % between
        count = -(-(outputs - skipped) // between)
        row = (at + skipped) // between
        positions = -(-(kernels - phase) // kernel_step)
        if count <= 0:
            continue
        if not skip_padding:
            found.append(Reach(phase, positions, steps[0], skipped, count, between, row - window, steps[1], stride))
            continue
        runs = _inside([row + index * steps[1] for index in range(positions)], count, stride, size)
        for index, length, begin, end in runs:
            first = row + index * steps[1] + begin * stride - window
            outputs_from = skipped + begin * between
            found.append(
                Reach(phase + index * steps[0], length, steps[0], outputs_from, end - begin, between, first, steps[1], stride)
            )
    return tuple(found)


def _inside(rows: list[int], count: int, stride: int, size: int) -> list[tuple[int, int, int, int]]:
    """Runs of neighbours in `rows` for which the same of `count` outputs read inside: (first, length, begin, end).

    Output i reads ``rows[j] + i * stride``.
    """
    found: list[tuple[int, int, int, int]] = []
    for index, row in enumerate(rows):
        begin, end = max(0, -(row // stride)), min(count, -(-(size - row) // stride))
        if end <= begin:
            continue
        if found and found[-1][0] + found[-1][1] == index and found[-1][2:] == (begin, end):
            found[-1] = (found[-1][0], found[-1][1] + 1, begin, end)
        else:
            found.append((index, 1, begin, end))
    return found
