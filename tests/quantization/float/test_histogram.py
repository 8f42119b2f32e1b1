from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.quantization import QuantizeConfig
from vta.quantization.float.histogram import Histogram, threshold


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
