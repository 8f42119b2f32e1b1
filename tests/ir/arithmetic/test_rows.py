"""Reciprocals and roots of integers, in 32 bits."""

import numpy as np
import pytest

from vta.ir.arithmetic.rows import LARGEST_ROOT, ONE, Factor, Reciprocal, Root, Squares, high_product


@pytest.mark.parametrize("number", [0.3, 1.0, 5.5, -7.25, 4096.0, 1e-6])
def test_a_factor_is_the_number(number):
    values = np.arange(-5000, 5000, 7) << 4
    np.testing.assert_allclose(Factor.of(number).applied(values), values * number, atol=1.0, rtol=1e-6)


def test_a_product_rounds_halves_up():
    assert high_product(np.array([1, -1, 3]), np.array([1 << 30] * 3), 0).tolist() == [1, 0, 2]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 197, 1024, 4096])
def test_reciprocals(count):
    """Within one in two thousand, and what sums lose by their shift."""
    largest = LARGEST_ROOT**2
    sums = np.unique(np.linspace(largest, largest * count, 3000).astype(np.int64))
    of = Reciprocal(count)
    assert (np.abs(of.of(sums) * (sums / 2.0**of.shift) / ONE - 1) < 5e-4 + of.half / sums).all()


def test_roots():
    """Within one in four thousand for all magnitudes."""
    values = np.unique(np.geomspace(1, (1 << 30) - 1, 5000).astype(np.int64))
    root, shifts = Root.of(values)
    assert (shifts % 2 == 0).all()
    np.testing.assert_allclose(root / 2.0**Root.BITS, 2.0 ** (15 - shifts // 2) / np.sqrt(values), rtol=2.5e-4)


@pytest.mark.parametrize("count", [1, 5, 128, 1024, 4096])
def test_sums_of_squares_stay_in_32_bits(count):
    of = Squares(count)
    assert (count << 14 << of.fraction) < 1 << 31
    assert (count * 128 << of.left) < 1 << 31
    assert of.mean.applied(np.array([-128 * count])) > -(1 << 31)
    assert (of.least << of.most_shifts) >> 30 == 0
    assert (of.least << of.most_shifts) >> 28
