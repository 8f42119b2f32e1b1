from __future__ import annotations

import numpy as np
import pytest

from vta.ir.arithmetic.decibels import decibels


def test_a_ratio_of_powers():
    assert decibels(np.array([3.0, 4.0]), np.array([3.0, 4.5])) == pytest.approx(20.0)
    assert decibels(np.array([3, 4], np.int8), np.array([3, 4], np.int8)) == np.inf


def test_values_that_are_not_finite():
    masked = np.array([1.0, -np.inf, np.nan])
    assert decibels(masked, masked) == np.inf
    assert decibels(masked, masked + np.array([0.1, 0, 0])) == pytest.approx(20.0)
    assert decibels(np.array([1.0, 2.0]), np.array([1.0, np.inf])) == -np.inf
    assert decibels(np.array([1.0, 2.0]), np.array([1.0, np.nan])) == -np.inf
