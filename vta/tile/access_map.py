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

from vta.tile.gemm_term import GemmTerm

__all__ = ["AccessMap", "max_rows", "access_maps", "rows_read"]


class AccessMap(NamedTuple):
    """Kernel positions of a step and the outputs of a tile that they all reach: first index, count and distance of each.

    All are relative to the step, the tile and its window. Output i and kernel position j of the map meet at row
    ``row + i * row_per_output + j * row_per_kernel``.
    """

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


@overload
def max_rows(term: GemmTerm, axis: int, outputs: int | Ints, kernel: int | Ints) -> int | Ints: ...


def max_rows(term: GemmTerm, axis: int, outputs: int | Ints, kernel: int | Ints) -> int | Ints:
    """Most rows of the source that `outputs` outputs in a row read at `kernel` kernel positions in a row."""
    between = (outputs - 1) * term.strides[axis] + (kernel - 1) * term.dilation[axis]
    return between // term.source_dilation[axis] + 1 + term.reach(axis)


def rows_read(term: GemmTerm, axis: int, *, outputs: range, kernel: range) -> range:
    """Rows of the source, possibly outside it, that neighboring `outputs` read at neighboring `kernel` positions."""
    first = outputs.start * term.strides[axis] + kernel.start * term.dilation[axis] - term.padding[axis]
    last = first + (len(outputs) - 1) * term.strides[axis] + (len(kernel) - 1) * term.dilation[axis]
    between = term.source_dilation[axis]
    return range(-(-first // between), last // between + 1 + term.reach(axis))


def access_maps(term: GemmTerm, axis: int, *, outputs: range, kernel: range, skip_padding: bool) -> tuple[AccessMap, ...]:
    """All products of neighboring `kernel` positions with a tile of neighboring `outputs`, without repetition.

    With `skip_padding`, those with rows outside the source are left out, unless a product reads several.
    """
    skip_padding = skip_padding and not term.reach(axis)
    size = (term.source.height, term.source.width)[axis]
    stride, dilation, between = term.strides[axis], term.dilation[axis], term.source_dilation[axis]
    window = rows_read(term, axis, outputs=outputs, kernel=kernel).start
    kernel_step = between // gcd(between, dilation)
    row_per_kernel = dilation * kernel_step // between
    found: list[AccessMap] = []
    for phase in range(min(len(kernel), kernel_step)):
        at = outputs.start * stride + (kernel.start + phase) * dilation - term.padding[axis]
        skipped = -at % between
        count = -(-(len(outputs) - skipped) // between)
        if count <= 0:
            continue
        row = (at + skipped) // between
        rows = range(row, row + -(-(len(kernel) - phase) // kernel_step) * row_per_kernel, row_per_kernel)
        ranges = _valid_ranges(rows, count, stride, size) if skip_padding else [_ValidRange(0, len(rows), 0, count)]
        found += [
            AccessMap(
                kernel=phase + valid.kernel * kernel_step,
                kernel_count=valid.kernel_count,
                kernel_step=kernel_step,
                output=skipped + valid.output * between,
                output_count=valid.output_stop - valid.output,
                output_step=between,
                row=rows[valid.kernel] + valid.output * stride - window,
                row_per_kernel=row_per_kernel,
                row_per_output=stride,
            )
            for valid in ranges
        ]
    return tuple(found)


class _ValidRange(NamedTuple):
    """Neighboring kernel positions for which the same outputs read inside the source."""

    kernel: int
    kernel_count: int
    output: int
    output_stop: int


def _valid_ranges(rows: range, outputs: int, stride: int, size: int) -> list[_ValidRange]:
    """What of `outputs` outputs reads inside a source of `size` rows: output i reads ``rows[j] + i * stride`` at position j."""
    found: list[_ValidRange] = []
    for index, row in enumerate(rows):
        if stride:
            begin, stop = max(0, -(row // stride)), min(outputs, -(-(size - row) // stride))
        else:
            begin, stop = 0, outputs if 0 <= row < size else 0
        if stop <= begin:
            continue
        last = found[-1] if found else None
        if last is not None and last.kernel + last.kernel_count == index and last[2:] == (begin, stop):
            found[-1] = last._replace(kernel_count=last.kernel_count + 1)
        else:
            found.append(_ValidRange(index, 1, begin, stop))
    return found
