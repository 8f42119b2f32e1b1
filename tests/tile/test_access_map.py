"""Outputs, kernel positions and source rows: every product once, none with what is not there."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.tile.access_map import access_maps, max_rows, rows_read
from vta.tile.gemm_term import GemmTerm
from vta.tile.operator import Tensor


def span(first, count):
    return range(first, first + count)


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
    outputs = span(draw(st.integers(0, 9)), draw(st.integers(1, 9)))
    return term, {"outputs": outputs, "kernel": span(first, draw(st.integers(1, kernel - first)))}


def products(term, outputs, kernel):
    """(output, kernel position, source row) as the definition has them, rows outside the source too."""
    for o in range(len(outputs)):
        for k in range(len(kernel)):
            z = outputs[o] * term.strides[1] + kernel[k] * term.dilation[1] - term.padding[1]
            if z % term.source_dilation[1] == 0:
                yield o, k, z // term.source_dilation[1]


def visited(term, box, skip_padding):
    window = rows_read(term, 1, **box).start
    for each in access_maps(term, 1, **box, skip_padding=skip_padding):
        for o in range(each.output_count):
            for k in range(each.kernel_count):
                row = each.row + k * each.row_per_kernel + o * each.row_per_output
                yield each.output + o * each.output_step, each.kernel + k * each.kernel_step, window + row


@given(axes())
def test_every_product_once(case):
    term, box = case
    assert Counter(visited(term, box, False)) == Counter(products(term, **box))


@given(axes())
def test_without_padding_every_product_that_is_inside(case):
    term, box = case
    inside = [product for product in products(term, **box) if 0 <= product[2] < term.source.width]
    assert Counter(visited(term, box, True)) == Counter(inside)


@given(axes())
def test_windows_hold_what_is_read(case):
    term, box = case
    read = rows_read(term, 1, **box)
    rows = [row for _, _, row in products(term, **box)]
    assert all(row in read for row in rows)
    assert len(read) <= max_rows(term, 1, len(box["outputs"]), len(box["kernel"]))


@pytest.mark.parametrize(("stride", "kernel", "expected"), [(1, 3, 1), (2, 4, 2), (3, 3, 3), (3, 2, 2)])
def test_one_map_for_each_phase(stride, kernel, expected):
    weights = np.zeros((1, 1, 1, kernel, 1, 1), np.int8)
    term = GemmTerm(Tensor("x", 1, 1, 1, 8), weights, padding=(0, kernel - 1), source_dilation=(1, stride))
    assert len(access_maps(term, 1, outputs=range(24), kernel=range(kernel), skip_padding=False)) == expected
