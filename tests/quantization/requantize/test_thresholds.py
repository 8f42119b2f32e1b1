"""Thresholds computed by 32-bit steps against the rounding that they stand for, at and around every step."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vta.ir.arithmetic.tflite_rounding import multiply_quantized, multiply_quantized_once, quantized_multiplier
from vta.native import lib
from vta.quantization.requantize.rounding_steps import average_steps, requantized_steps
from vta.quantization.requantize.threshold_factors import Best, Limits, ThresholdRows
from vta.quantization.requantize.threshold_fit import fit, fit_once
from vta.quantization.requantize.thresholds import Form, thresholds_of


@given(st.lists(st.integers(-50, 50), max_size=8).map(sorted), st.integers(-40, 0), st.integers(0, 40))
def test_steps_that_are_never_met_lie_at_the_ends(steps, least, most):
    at = np.array([steps, steps], np.int64)
    ends = np.array([least, -50]), np.array([most, 50])
    found = thresholds_of(0, at.copy(), *ends, np.ones(2))
    assert np.array_equal(found.at, np.clip(at, ends[0][:, None], ends[1][:, None] + 1))
    again = replace(found, low=0)  # which counts by itself
    assert np.array_equal(found.begin, again.begin)
    assert np.array_equal(found.end, again.end)
    assert np.array_equal(found.begin, (at <= ends[0][:, None]).sum(axis=1))


def fitted(ratios, zero=0, low=-128, high=127, once=False, offset=0, bound=1 << 24, close=False, ends=None):
    """The thresholds of a requantisation, and its levels by definition."""
    ratio = np.asarray(ratios, np.float64)
    multiplier, exponent = quantized_multiplier(ratio)
    at = requantized_steps(np.arange(low + 1, high + 1) - zero, multiplier, exponent, once=once)
    delay = None if once else np.where(exponent < 0, 2.0**exponent, 0.0)
    ends = ends or (np.full(len(ratio), -bound), np.full(len(ratio), bound))
    offsets = np.broadcast_to(np.asarray(offset, np.int64), ratio.shape)
    multiply = multiply_quantized_once if once else multiply_quantized

    def levels(x):
        return np.clip(multiply(x, multiplier[:, None], exponent[:, None]) + zero, low, high)

    return fit(thresholds_of(low, at, *ends, ratio, delay), offsets, close=close), levels, at, offsets[:, None]


def check(found, levels, at, offset, bound=1 << 24):
    """Compare at every step, just before it, at the ends, and at random."""
    rng = np.random.default_rng(0)
    x = np.hstack([at, at - 1, at + 1, rng.integers(-bound, bound, (len(at), 200)), [[-bound, bound, 0, -1, 1]] * len(at)])
    x = np.clip(x, -bound, bound)
    difference = np.abs(found.levels(x - offset) - levels(x))
    assert difference.max() <= 1
    assert (difference[found.exact] == 0).all()


@settings(max_examples=60)
@given(
    st.lists(st.floats(0.9, 8), min_size=1, max_size=4), st.integers(-128, 127), st.booleans(), st.integers(-(1 << 20), 1 << 20)
)
@example([1.1809733258286887], -33, False, 871875)
@example([0.0007337727247437454, 1.099474122937473], 110, False, -93629)
def test_steep_slopes_are_right_or_left_to_others(ratios, zero, once, offset):
    found, *rest = fitted(ratios, zero, once=once, offset=offset)
    if found is not None:
        check(found, *rest)


@settings(max_examples=40)
@given(
    st.lists(st.floats(2.0**-13, 1.0), min_size=1, max_size=5),
    st.integers(-128, 127),
    st.booleans(),
    st.integers(-(1 << 20), 1 << 20),
)
def test_what_is_called_exact_is(ratios, zero, once, offset):
    check(*fitted(ratios, zero, once=once, offset=offset))


@settings(max_examples=25)
@given(
    st.lists(st.floats(2.0**-16, 2.0**-12), min_size=1, max_size=3),
    st.integers(-128, 127),
    st.sampled_from([(-128, 127), (-20, 127), (-128, 50)]),
    st.booleans(),
)
@example([2.0**-15.80144244], 109, (-128, 127), False)
def test_what_saturates_is_right_where_steps_are_not(ratios, zero, limits, once):
    found, levels, _, offset = fitted(ratios, zero, *limits, once=once)
    ends = np.repeat([[-(1 << 24), 1 << 24]], len(ratios), axis=0)
    np.testing.assert_array_equal(found.levels(ends - offset), levels(ends))


@settings(max_examples=60)
@given(
    st.lists(st.floats(2.0**-16, 2.0**-3), min_size=1, max_size=5),
    st.integers(-128, 127),
    st.sampled_from([(-128, 127), (-20, 127), (-128, 50), (7, 7)]),
    st.booleans(),
    st.integers(-(1 << 20), 1 << 20),
)
def test_the_shortest_form_is_within_1(ratios, zero, limits, once, offset):
    found, *rest = fitted(ratios, zero, *limits, once=once, offset=offset, close=True)
    assert found.form is Form.ONE
    assert found.term is None
    assert found.delay is None
    check(found, *rest)
    levels, _, shift = rest
    ends = np.repeat([[-(1 << 24), 1 << 24]], len(ratios), axis=0)
    np.testing.assert_array_equal(found.levels(ends - shift), levels(ends), "values that saturate are many")


@settings(max_examples=40)
@given(st.floats(2.0**-14, 2.0**-5), st.integers(-128, 127), st.integers(0, 255), st.integers(0, 3))
def test_a_channel_that_meets_few_steps_is_within_1(ratio, zero, first, count):
    _, _, at, _ = fitted([ratio], zero)
    least, most = at[0, min(first, 254)] - 1, at[0, min(first + count, 254)]
    found, levels, *_ = fitted([ratio], zero, close=True, ends=(np.array([least]), np.array([most])))
    x = np.linspace(least, most, 300).astype(np.int64)[None]
    assert np.abs(found.levels(x) - levels(x)).max() <= 1


def test_steep_slopes_stay_exact():
    found, *rest = fitted([0.4375, 0.9], close=True)
    assert found.exact.all()
    check(found, *rest)


def test_the_shortest_form_is_off_next_to_few_steps():
    ratios = 2.0 ** -np.linspace(5, 11, 20)
    found, levels, at, offset = fitted(ratios, zero=-128, close=True)
    x = np.sort(np.random.default_rng(0).integers(0, at.max(axis=1, keepdims=True), (20, 20000)), axis=1)
    off = (found.levels(x - offset) != levels(x)).mean(axis=1)
    assert off[-1] < 0.01
    assert off[:6].max() == 0


@pytest.mark.parametrize(
    ("ratio", "form"), [(2.0**-5.3, Form.ONE), (2.0**-8.4, Form.TWO), (2.0**-10.3, Form.TERM), (2.0**-11.9, Form.BRANCH)]
)
def test_an_activation_of_any_slope_is_exact(ratio, form):
    found, levels, at, offset = fitted([ratio, ratio * 1.07], zero=-128)
    assert found.exact.all()
    assert found.form is form
    assert found.delay is None, "there are no steps below zero"
    check(found, levels, at, offset)


@pytest.mark.parametrize("ratio", [2.0**-7.2, 2.0**-9.3, 2.0**-10.8])
def test_steps_on_both_sides_of_zero_take_a_delay(ratio):
    found, levels, at, offset = fitted([ratio, ratio * 1.07], zero=5, offset=[1000, -77777])
    assert found.exact.all()
    assert found.delay is not None
    check(found, levels, at, offset)


def test_channels_that_never_move():
    ratio = np.array([2.0**-30, 2.0**-9])
    at = requantized_steps(np.arange(1, 256), *quantized_multiplier(ratio), once=False)
    offset = np.array([1 << 30, 5])
    found = fit(thresholds_of(-128, at, offset - 1000, offset + 1000, ratio), offset)
    assert found.exact.all()
    np.testing.assert_array_equal(found.levels(np.array([[-1000, 1000], [0, 1000]])), [[-127, -127], [-128, -126]])


def test_channels_with_one_slope_are_found_once_and_moved():
    offset = np.arange(-5000, 5000, 100)
    found, levels, at, _ = fitted([2.0**-7.3], zero=-128)
    at_, ratio = np.repeat(at, len(offset), axis=0), np.array([2.0**-7.3])
    moved = fit(thresholds_of(-128, at, np.array([-(1 << 24)]), np.array([1 << 24]), ratio), offset)
    assert moved.exact.all()
    x = np.clip(at_, -(1 << 24), 1 << 24)
    np.testing.assert_array_equal(moved.levels(x - offset[:, None]), np.repeat(levels(x[:1]), len(offset), axis=0))
    assert found.exact.all()


@pytest.mark.parametrize("unsigned", [True, False])
@pytest.mark.parametrize("count", [2, 4, 9, 49, 64, 144])
def test_averages_are_exact(count, unsigned):
    at = average_steps(np.arange(-127, 128), count, unsigned=unsigned)
    ends = np.array([-128 * count]), np.array([127 * count])
    found = fit(thresholds_of(-128, at, *ends, np.array([1 / count]), np.array([1 / count])), np.zeros(1, np.int64))
    assert found.exact.all()
    x = np.arange(-128 * count, 127 * count + 1)[None]
    np.testing.assert_array_equal(found.levels(x)[0], np.searchsorted(at[0], x[0], side="right") - 128)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(*[st.integers(1, 1 << 24), st.integers(0, 1 << 20)]), min_size=1, max_size=20),
    st.integers(-(1 << 40), 1 << 40),
)
def test_starts_are_the_smallest_whose_product_lies_in_between(channels, lowest):
    factor, least = (np.array(part, np.int64) for part in zip(*channels, strict=True))
    low, high = np.full(len(factor), lowest), lowest + factor // 3
    most = least + 200_000
    asked = zip(factor, low, high, least, most, strict=True)
    found = [lib.vta_threshold_start(*map(int, row), 1 << 14) for row in asked]
    for row in range(len(factor)):
        candidates = np.arange(least[row], most[row] + 1)
        fits = (candidates * factor[row] - lowest) % (1 << 32) <= factor[row] // 3
        if found[row] >= 0:
            assert fits[found[row] - least[row]]
            assert not fits[: found[row] - least[row]].any()
        else:
            assert not fits.any() or factor[row] * 200_000 >> 32 > 1 << 13


@settings(max_examples=40)
@given(st.floats(2.0**-10, 2.0**-6))
def test_proposals_that_are_called_exact_put_all_steps_right(ratio):
    multiplier, exponent = quantized_multiplier(np.array([ratio]))
    at = requantized_steps(np.arange(1, 256), multiplier, exponent, once=False)
    steps = thresholds_of(-128, at, np.array([0]), at[:, -1] + 1, np.array([ratio]))
    ends = {"first": at[:, 0] - 1, "last": at[:, -1], "least_start": np.array([127]), "most_start": np.array([1 << 30])}
    best = Best(ThresholdRows(steps, np.array([ratio]), begin=steps.begin, end=steps.end, **ends), Form.TERM)
    exact = best.propose(np.array([0]), Limits((4, 11), 200, parts=4, wanted=3))
    assert exact[0] or best.slack[0] < 0
    if best.slack[0] >= 0:
        factor, second, shift, outer = (int(part[0]) for part in (best.factor, best.second, best.shift, best.outer))
        goal = -((outer - (np.arange(-127, 129) << 24)) // second) << shift
        assert (goal[:-1] - at[0] * factor).max() == best.lowest[0]
        assert (goal[:-1] - (at[0] - 1) * factor).min() - 1 >= best.highest[0] >= best.lowest[0]


def test_what_was_found_once_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path))
    ratio = np.linspace(0.01, 0.05, 9)
    multiplier, exponent = quantized_multiplier(ratio)
    made = []

    def make():
        made.append(1)
        at = requantized_steps(np.arange(-127, 128), multiplier, exponent, once=False)
        return thresholds_of(-128, at, np.full(9, -5000), np.full(9, 5000), ratio, 2.0**exponent)

    accumulator = np.arange(-3000, 3000)[None].repeat(9, axis=0)
    for times, offset in ((1, 0), (1, 0), (2, 1)):
        integers = fit_once(make, b"key", np.full(9, offset))
        assert len(list((tmp_path / "thresholds").iterdir())) == len(made) == times
        assert integers.exact.all()
        levels = np.clip(multiply_quantized(accumulator + offset, multiplier[:, None], exponent[:, None]), -128, 127)
        assert np.array_equal(integers.levels(accumulator), levels)
    assert fit_once(make, b"key", np.full(9, 1), close=True) is not None
    assert len(made) == 3
