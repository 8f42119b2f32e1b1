"""Sums of products of what lies under kernels: by vectors and by matrix tiles, bit for bit what the definition says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.native import ffi, lib

BLOCK, RUN = 32, 4096


def rounded(values):
    """With 8 significant bits, halves to even; zero below 2^-50."""
    with np.errstate(over="ignore"):
        mantissa, exponent = np.frexp(values.astype(np.float64))
        found = np.ldexp(np.rint(mantissa * 256) / 256, exponent).astype(np.float32)
    return np.where(np.abs(values) < 2.0**-50, np.float32(0), found)


def sums_of(rows):
    """The totals of rows and the sums of their products, as the header of products says, (n, D) -> (D,), (D, D)."""
    found = np.zeros((rows.shape[1],) * 2)
    for run in range(0, len(rows), RUN):
        of_run = np.zeros(found.shape, np.float32)
        for first in range(run, min(run + RUN, len(rows)), BLOCK):
            block = rows[first : min(first + BLOCK, run + RUN)]
            halves = []
            for start in (0, 1):
                half = np.zeros(found.shape, np.float32)
                for row in block[start::2].astype(np.float64):
                    half = (half + np.outer(row, row)).astype(np.float32)
                halves.append(half)
            of_run += halves[0] + halves[1]
        found += of_run
    return rows.astype(np.float64).sum(axis=0), found


def natively(data, places, middles, kernel, groups, vectors):
    """Totals and squares of each group, as the core finds them; samples come in two calls."""
    samples, rows, channels, height, width = data.shape
    values = channels // groups * kernel * kernel
    stride = -(-values // lib.VTA_MOMENTS_STRIDE) * lib.VTA_MOMENTS_STRIDE
    patches = {"rows": rows, "groups": groups, "channels": channels // groups, "height": height, "width": width}
    patches |= {"kernel_height": kernel, "kernel_width": kernel, "stride_height": 1, "stride_width": 1}
    patches |= {"dilation_height": 1, "dilation_width": 1, "top": kernel // 2, "left": kernel // 2}
    where = ffi.new("vta_patches *", patches | {"out_width": width, "places": places.shape[1]})
    padded = np.zeros((groups, stride), np.float32)
    padded[:, :values] = middles
    totals, squares = np.zeros((groups, stride)), np.zeros((groups, stride, stride))
    waiting, products = np.zeros((groups, BLOCK, stride), np.float32), np.zeros((groups, stride, stride), np.float32)
    kept = {"middles": padded, "waiting": waiting, "products": products}
    kept = {name: ffi.from_buffer("float[]", array) for name, array in kept.items()}
    kept |= {"totals": ffi.from_buffer("double[]", totals), "squares": ffi.from_buffer("double[]", squares)}
    moments = ffi.new("vta_moments *", {**kept, "stride": stride, "vectors": vectors})
    for part in (slice(samples // 3), slice(samples // 3, samples)):
        given, at = ffi.from_buffer("float[]", data[part]), ffi.from_buffer("int64_t[]", places[part])
        assert lib.vta_moments_add(moments, where, given, at, len(data[part])) == 0
    assert lib.vta_moments_end(moments, where) == 0
    assert moments.met == samples * rows * places.shape[1]
    return totals[:, :values], squares[:, :values, :values]


def patches_of(data, places, kernel, groups):
    """What lies under the kernel at the places of each sample and row, (G, n, D)."""
    edge = kernel // 2
    padded = np.pad(data, ((0, 0), (0, 0), (0, 0), (edge, edge), (edge, edge)))
    found = []
    for sample, own in zip(padded, places, strict=True):
        for row in sample:
            for place in own:
                y, x = divmod(int(place), data.shape[-1])
                found.append(row[:, y : y + kernel, x : x + kernel].reshape(groups, -1))
    return np.stack(found, axis=1)


def ways():
    """Values of `vectors` that this processor can go by."""
    return (1, 0) if lib.vta_moments_has_tiles() else (1,)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    samples=st.integers(1, 5),
    rows=st.integers(1, 3),
    channels=st.integers(1, 14),
    groups=st.integers(1, 2),
    kernel=st.sampled_from((1, 3)),
    size=st.integers(1, 6),
    scale=st.integers(-60, 40),
)
def test_sums_are_those_of_the_definition(seed, samples, rows, channels, groups, kernel, size, scale):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((samples, rows, channels * groups, size, size)).astype(np.float32)
    data[rng.random(data.shape) < 0.4] = 0
    data = np.ldexp(data, scale)
    count = int(rng.integers(1, size * size + 1))
    places = np.stack([rng.permutation(size * size)[:count] for _ in range(samples)]).astype(np.int64)
    middles = np.ldexp(rng.standard_normal((groups, channels * kernel * kernel)).astype(np.float32), scale)
    left = rounded(patches_of(data, places, kernel, groups) - middles[:, None])
    upper = np.triu_indices(left.shape[2])
    for vectors in ways():
        totals, squares = natively(data, places, middles, kernel, groups, vectors)
        for group in range(groups):
            wanted_totals, wanted = sums_of(left[group])
            np.testing.assert_allclose(totals[group], wanted_totals, rtol=1e-12, atol=1e-12 * np.abs(left).sum(), strict=True)
            assert np.array_equal(squares[group][upper], wanted[upper])


def test_more_rows_than_single_precision_adds_up():
    rng = np.random.default_rng(5)
    data = rng.standard_normal((300, 1, 9, 4, 4)).astype(np.float32)
    places = np.tile(np.arange(16), (300, 1))
    middles = np.zeros((1, 9), np.float32)
    _, wanted = sums_of(rounded(patches_of(data, places, 1, 1))[0])
    upper = np.triu_indices(9)
    for vectors in ways():
        assert np.array_equal(natively(data, places, middles, 1, 1, vectors)[1][0][upper], wanted[upper])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_values_that_are_not_finite_stay_so(value):
    data = np.ones((1, 1, 3, 1, 1), np.float32)
    data[0, 0, 1] = value
    for vectors in ways():
        totals, squares = natively(data, np.zeros((1, 1), np.int64), np.zeros((1, 3), np.float32), 1, 1, vectors)
        assert np.isfinite(totals[0]).tolist() == [True, False, True]
        assert np.array_equal(np.isfinite(squares[0][np.triu_indices(3)]), [True, False, True, False, False, True])


def test_the_smallest_values_are_zeros():
    """Products of them would be too small for processors to agree."""
    data = np.full((1, 1, 2, 1, 1), 2.0**-49, np.float32)
    data[0, 0, 1] = np.nextafter(np.float32(2.0**-50), np.float32(0))
    for vectors in ways():
        totals, squares = natively(data, np.zeros((1, 1), np.int64), np.zeros((1, 2), np.float32), 1, 1, vectors)
        assert totals[0].tolist() == [2.0**-49, 0.0]
        assert squares[0][np.triu_indices(2)].tolist() == [2.0**-98, 0.0, 0.0]
