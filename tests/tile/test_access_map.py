"""Outputs, kernel positions and source rows: every product once, none with what is not there."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.tile.access_map import max_rows, reaches, rows_read
from vta.tile.operator import GemmTerm, Tensor


@st.composite
def axes(draw):
    """A term, and a box of outputs and kernel positions along its columns."""
    between = draw(st.integers(1, 4))
    stride = 1 if between > 1 else draw(st.integers(1, 3))
    kernel, dilation, padding = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(-4, 6))
    size = draw(st.integers(1, 9))
    term = GemmTerm(
        Tensor("x", 1, 1, 1, size),
        np.zeros((1, 1, 1, kernel, 1, 1), np.int8),
        strides=(1, stride),
        padding=(0, padding),
        dilation=(1, dilation),
        source_dilation=(1, between),
    )
    first = draw(st.integers(0, kernel - 1))
    return term, (draw(st.integers(0, 9)), draw(st.integers(1, 9)), first, draw(st.integers(1, kernel - first)))


def products(term, output, outputs, kernel, kernels):
    """(output, kernel position, source row) as the definition has them, rows outside the source too."""
    for o in range(outputs):
        for k in range(kernels):
            z = (output + o) * term.strides[1] + (kernel + k) * term.dilation[1] - term.padding[1]
            if z % term.source_dilation[1] == 0:
                yield o, k, z // term.source_dilation[1]


def visited(term, box, skip_padding):
    window = rows_read(term, 1, *box)[0]
    for reach in reaches(term, 1, *box, skip_padding):
        for o in range(reach.output_count):
            for k in range(reach.kernel_count):
                row = reach.row + k * reach.row_per_kernel + o * reach.row_per_output
                yield reach.output + o * reach.output_step, reach.kernel + k * reach.kernel_step, window + row


@given(axes())
def test_every_product_once(case):
    term, box = case
    assert Counter(visited(term, box, False)) == Counter(products(term, *box))


@given(axes())
def test_without_padding_every_product_that_is_inside(case):
    term, box = case
    inside = [product for product in products(term, *box) if 0 <= product[2] < term.source.width]
    assert Counter(visited(term, box, True)) == Counter(inside)


@given(axes())
def test_windows_hold_what_is_read(case):
    term, box = case
    start, count = rows_read(term, 1, *box)
    rows = [row for _, _, row in products(term, *box)]
    assert all(start <= row < start + count for row in rows)
    assert count <= max_rows(term, 1, box[1], box[3])


@pytest.mark.parametrize(("stride", "kernel", "expected"), [(1, 3, 1), (2, 4, 2), (3, 3, 3), (3, 2, 2)])
def test_one_reach_for_each_phase(stride, kernel, expected):
    weights = np.zeros((1, 1, 1, kernel, 1, 1), np.int8)
    term = GemmTerm(Tensor("x", 1, 1, 1, 8), weights, padding=(0, kernel - 1), source_dilation=(1, stride))
    assert len(reaches(term, 1, 0, 24, 0, kernel, False)) == expected
