from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.quantization import QuantizeConfig
from vta.quantization.float.calibration.histogram import Histogram, threshold


def histogram(*parts: np.ndarray) -> Histogram:
    found = Histogram()
    for part in parts:
        found.add(part.astype(np.float32))
    return found


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20))
@settings(deadline=None, max_examples=50)
def test_counts_and_maximum_do_not_depend_on_the_order(values: list[float]):
    found = histogram(*(np.array([value]) for value in values))
    assert found.counts.sum() == len(values)
    assert found.largest == max(np.float32(value) for value in values)
    assert found.limit >= found.largest
    cumulated = np.cumsum(found.counts)
    for bin_index in (0, 100, 2047):
        edge = found.edges[bin_index]
        inner = sum(np.float32(v) < edge * (1 - 1e-9) for v in values)
        assert abs(cumulated[bin_index] - inner) <= sum(abs(np.float32(v) - edge) <= edge * 1e-6 for v in values)


def counted(parts: np.ndarray) -> np.ndarray:
    """Counts of one part after the other, by NumPy."""
    counts, limit = np.zeros(2048, np.int64), 0.0
    for magnitudes in (np.abs(part[part != 0]) for part in parts):
        if magnitudes.size and np.isfinite(magnitudes.max()):
            limit = limit or float(magnitudes.max())
            while limit < magnitudes.max():
                counts = np.concatenate([counts.reshape(-1, 2).sum(axis=1), np.zeros(1024, np.int64)])
                limit *= 2
            bins = (magnitudes.astype(np.float64) * (2048 / limit)).astype(np.int64)
            counts += np.bincount(np.minimum(bins, 2047), minlength=2048)
    return counts


@given(seed=st.integers(0, 1000), parts=st.integers(1, 5), each=st.sampled_from([1, 15, 16, 300]), zeros=st.floats(0, 1))
@settings(deadline=None, max_examples=30)
def test_parts_count_as_one_after_the_other(seed: int, parts: int, each: int, zeros: float):
    rng = np.random.default_rng(seed)
    values = (rng.standard_normal((parts, each)) * np.exp2(rng.integers(-8, 8, (parts, 1)))).astype(np.float32)
    values[rng.random(values.shape) < zeros] = 0
    values[rng.random(parts) < 0.2, -1] = -np.inf
    together, apart = Histogram(), Histogram()
    largest = together.add(values, parts)
    assert largest == max(apart.add(part) for part in values)
    np.testing.assert_array_equal(together.counts, apart.counts)
    np.testing.assert_array_equal(together.counts, counted(values))
    assert (together.limit, together.largest) == (apart.limit, apart.largest)


@pytest.mark.parametrize("place", [0, 17, 35])
def test_what_is_no_number_is_found(place: int):
    values = np.full((2, 18), np.inf, np.float32)
    values.reshape(-1)[place] = np.nan
    found = Histogram()
    assert np.isnan(found.add(values, 2))
    assert not found.counts.any()


@pytest.mark.parametrize("calibration", ["max", "percentile", "kl", "mse"])
def test_zeros_alone_have_no_range(calibration: str):
    assert threshold(histogram(np.zeros(9)), QuantizeConfig(calibration=calibration)) == 0.0


def test_max_and_percentile():
    found = histogram(np.concatenate([np.linspace(0.001, 1, 9990), np.full(10, 50.0)]))
    assert threshold(found, QuantizeConfig(calibration="max")) == 50.0
    assert threshold(found, QuantizeConfig(calibration="percentile", percentile=99.8)) == pytest.approx(1, abs=50 / 2048)
    assert threshold(found, QuantizeConfig(calibration="percentile", percentile=100)) == 50.0


@pytest.mark.parametrize("calibration", ["kl", "mse"])
def test_rare_outliers_are_clipped(calibration: str):
    rng = np.random.default_rng(1)
    found = histogram(rng.normal(0, 1, 100_000), np.array([60.0]))
    assert 2.0 < threshold(found, QuantizeConfig(calibration=calibration)) < 45.0


def test_least_error_is_the_least_of_all_ranges():
    rng = np.random.default_rng(2)
    values = rng.laplace(0, 1, 20_000)

    def error(limit: float) -> float:
        scale = limit / 127
        return float(((np.clip(np.floor(values / scale + 0.5), -127, 127) * scale - values) ** 2).mean())

    found = threshold(histogram(values), QuantizeConfig(calibration="mse"))
    assert error(found) <= 1.05 * min(error(limit) for limit in np.linspace(1, np.abs(values).max(), 200))


def test_even_values_keep_their_whole_range():
    values = np.linspace(0.01, 4, 50_000)
    for calibration in ("kl", "mse"):
        assert threshold(histogram(values), QuantizeConfig(calibration=calibration)) > 3.9
