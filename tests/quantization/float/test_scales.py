from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.ir.arithmetic.fixed_point import multiplier_and_shift
from vta.quantization.float import scales

magnitudes = st.floats(1e-3, 10)


def weights(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (5, 3, 3, 3)) * rng.uniform(0.01, 3, (5, 1, 1, 1))


@pytest.mark.parametrize(("threshold", "kind", "expected"), [(8.0, "power_of_two", 2**-4), (8.1, "power_of_two", 2**-3)])
def test_power_of_two_scales_cover_the_range(threshold: float, kind: str, expected: float):
    assert scales.activation_scale(threshold, kind) == expected


def test_real_scale_reaches_127():
    assert scales.activation_scale(12.7, "real") == pytest.approx(0.1)
    assert scales.activation_scale(0.0, "real") == 1.0


@given(magnitudes, magnitudes, st.booleans(), st.integers(0, 1000))
@settings(deadline=None, max_examples=50)
def test_shifted_scales_requantize_by_a_shift(input_scale: float, output_scale: float, per_channel: bool, seed: int):
    weight = weights(seed)
    kernel = scales.shifted_kernel_scales(weight, input_scale, output_scale, per_channel)
    exponents = np.log2(input_scale * kernel / output_scale)
    assert np.allclose(exponents, np.round(exponents), atol=1e-9)
    assert per_channel or len(set(kernel)) == 1
    reconstructed = scales.quantized_weight(weight, kernel) * kernel.reshape(-1, 1, 1, 1)
    assert np.linalg.norm(reconstructed - weight) <= 0.03 * np.linalg.norm(weight) or exponents.min() <= -15


@given(magnitudes, magnitudes, st.integers(0, 1000))
@settings(deadline=None, max_examples=50)
def test_multiplied_scales_are_finer_and_exact(input_scale: float, output_scale: float, seed: int):
    weight = weights(seed)
    kernel = scales.multiplied_kernel_scales(weight, input_scale, output_scale, True)
    multiplier, shift = multiplier_and_shift(input_scale * kernel / output_scale, 2**16)
    assert (multiplier <= 255).all() or input_scale / output_scale > 1
    assert np.allclose(multiplier * 2.0**-shift, input_scale * kernel / output_scale, rtol=1e-12) or (shift > 15).any()
    assert (scales.plain_kernel_scales(weight, True) <= kernel * (1 + 1e-6)).all()


@given(magnitudes, magnitudes)
@settings(deadline=None, max_examples=100)
def test_residual_scales_are_dyadic_and_cover(residual: float, finest: float):
    found = scales.residual_output_scales(residual, finest)
    assert all(finest * (1 - 1e-6) <= scale <= 2 * finest * (1 + 1e-6) for scale in found)
    assert found[0] <= finest * 1.126
    for scale, bits in zip(found, (4, 3, 2, 1), strict=True):
        mantissa = np.frexp(residual / scale)[0] * 2**bits
        assert mantissa == pytest.approx(round(mantissa), rel=1e-9)


def test_residual_multipliers_must_be_integers_or_large():
    assert scales.residual_representable(1.0, np.array([0.25, 0.5]), exact=True)
    assert not scales.residual_representable(1.0, np.array([0.3]), exact=True)
    assert not scales.residual_representable(1.0, np.array([0.3]), exact=False)
    assert scales.residual_representable(1.0, np.array([0.003]), exact=False)
    assert not scales.residual_representable(1.0, np.array([2.0**-15]), exact=True)


def test_scales_are_widened_until_the_residual_fits():
    kernel = scales.widened_for_residual(np.array([2.0**-20, 0.5]), 1.0, 1.0)
    assert kernel.tolist() == [2.0**-14, 0.5]


@given(magnitudes, st.sampled_from([1, 9, 49, 64]), magnitudes, st.booleans())
@settings(deadline=None, max_examples=50)
def test_pool_scales_divide_exactly(input_scale: float, count: int, finest: float, multiplies: bool):
    scale = scales.pool_scale(input_scale, count, finest, multiplies)
    assert scale >= finest * (1 - 1e-6)
    multiplier, shift = multiplier_and_shift(input_scale / (scale * count), 128 * count)
    assert multiplier * 2.0**-shift == pytest.approx(input_scale / (scale * count), rel=1e-9)
    assert multiplies or multiplier & (multiplier - 1) == 0


def test_weights_and_biases_are_rounded_half_up_and_clipped():
    weight = np.array([[0.5, -0.5, 1.5, 300, -300]])
    assert scales.quantized_weight(weight, np.array([1.0])).tolist() == [[1, 0, 2, 127, -127]]
    assert scales.quantized_bias(np.array([0.5, 1e30]), np.array([1.0, 1.0])).tolist() == [1, 2**30]


@given(st.integers(0, 1000), st.booleans(), st.integers(1, 70), st.booleans())
@settings(deadline=None, max_examples=50)
def test_of_two_scales_the_one_of_less_squared_error_is_taken(seed: int, per_channel: bool, values: int, in_float: bool):
    rng = np.random.default_rng(seed)
    weight = (rng.standard_t(3, (7, values)) * rng.uniform(0.01, 3, (7, 1))).astype(np.float32 if in_float else np.float64)
    kernel = scales.shifted_kernel_scales(weight, 0.1, 0.2, per_channel)
    # Whichever was taken, it is one of two that differ by a factor of two.
    errors = {}
    for factor in (0.5, 1.0, 2.0):
        steps = (factor * kernel).astype(np.float32).reshape(-1, 1)
        single = weight.astype(np.float32)
        off = np.clip(np.rint(single / steps), -127, 127) * steps - single
        errors[factor] = (off.astype(np.float64) ** 2).sum(axis=1)
    largest = np.abs(weight).max(axis=1) if per_channel else np.full(7, np.abs(weight).max())
    is_finer = 127 * kernel < largest * (1 - 1e-6)
    if per_channel:
        assert (errors[1.0] <= np.where(is_finer, errors[2.0], errors[0.5]) * (1 + 1e-6)).all()
    else:
        other = np.where(is_finer, errors[2.0], errors[0.5])
        assert errors[1.0].sum() <= other.sum() * (1 + 1e-6)


def test_halves_are_rounded_up_and_the_largest_cut():
    levels = np.array([-200, -127.5, -1.5, -0.5, -0.25, 0.0, 0.5, 0.75, 1.5, 126.5, 127.5, 1e30, 2**24 + 1, -(2.0**40)])
    for dtype in (np.float32, np.float64):
        rows = np.tile(levels, 5).astype(dtype)[None]
        found = scales.quantized_weight(rows, np.array([1.0]))
        np.testing.assert_array_equal(found, scales.nearest_levels(rows.astype(np.float64)).astype(np.int8))
        assert found[0, :5].tolist() == [-127, -127, -1, 0, 0]
