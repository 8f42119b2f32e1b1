"""Samples from files, made to fit a network's input."""

import numpy as np
import pytest

from vta.errors import UsageError
from vta.ir.graph import graph_input
from vta.runtime.evaluation.dataset import Preprocessing, load_dataset, prepare


def test_channels_last_images_are_normalized_by_channel():
    x = np.random.default_rng(0).integers(0, 256, (2, 5, 4, 3), np.uint8)
    options = Preprocessing("NHWC", 255.0, (0.1, 0.2, 0.3), (2.0, 3.0, 4.0))
    got = prepare(x, graph_input("x", (1, 3, 5, 4)), options)
    expected = (x.transpose(0, 3, 1, 2) / 255 - np.reshape([0.1, 0.2, 0.3], (3, 1, 1))) / np.reshape([2, 3, 4], (3, 1, 1))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_networks_that_read_channels_last_get_them_so(layout):
    x = np.random.default_rng(0).integers(0, 256, (2, 5, 4, 3), np.uint8)
    stored = x if layout == "NHWC" else x.transpose(0, 3, 1, 2)
    got = prepare(stored, graph_input("x", (1, 5, 4, 3)), Preprocessing(layout, 255.0, (0.1, 0.2, 0.3)))
    np.testing.assert_allclose(got, x / 255 - np.array([0.1, 0.2, 0.3]), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(prepare(stored, graph_input("x", (1, 5, 4, 3), "uint8"), Preprocessing(layout)), x)
    assert prepare(x[..., 0], graph_input("x", (1, 5, 4, 1)), Preprocessing(layout)).shape == (2, 5, 4, 1)


def test_samples_that_fit_as_they_are_stay():
    x = np.random.default_rng(0).integers(0, 256, (2, 5, 4, 3), np.uint8)
    np.testing.assert_array_equal(prepare(x, graph_input("x", (1, 5, 4, 3), "uint8"), Preprocessing()), x)


def test_images_without_channels_and_flat_samples():
    images = np.ones((2, 8, 8))
    assert prepare(images, graph_input("x", (1, 1, 8, 8)), Preprocessing("NHWC", 2.0)).shape == (2, 1, 8, 8)
    flat = prepare(np.ones((2, 64)), graph_input("x", (1, 64)), Preprocessing(mean=(0.5,)))
    np.testing.assert_array_equal(flat, np.full((2, 64), 0.5, np.float32))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ones((2, 3), np.complex64), "the array for input 'x' is complex64; expected float32"),
        (np.array([["1", "2", "3"]]), "the array for input 'x' is <U1; expected float32"),
        (np.array([[1, 2, -1e300]]), r"the array for input 'x' is -1e\+300 at \[0, 2\], which is beyond float32"),
    ],
)
def test_what_no_float_holds_is_refused(x, message):
    with pytest.raises(UsageError, match=f"^{message}$"):
        prepare(x, graph_input("x", (1, 3)), Preprocessing())


def test_infinities_of_other_floats_stay():
    for dtype in (np.float16, np.float64, np.longdouble):
        got = prepare(np.array([[1, np.inf, -np.inf]], dtype), graph_input("x", (1, 3)), Preprocessing())
        np.testing.assert_array_equal(got, np.float32([[1, np.inf, -np.inf]]))


def test_integer_inputs_take_values_as_they_are():
    node = graph_input("x", (1, 2), "int8")
    assert prepare(np.array([[-128, 127]], np.int64), node, Preprocessing()).dtype == np.int8
    with pytest.raises(UsageError, match=r"samples of int64 do not fit input 'x' of int8"):
        prepare(np.array([[128, 0]]), node, Preprocessing())
    with pytest.raises(UsageError, match=r"of int8 \(-128 to 127\); a mean of 128 takes 128 off pixels"):
        prepare(np.array([[128, 0]], np.uint8), node, Preprocessing())
    for options in ({"scale": 2.0}, {"std": (2.0,)}, {"mean": (0.5,)}):
        with pytest.raises(UsageError, match=r"it takes no scale or std, and a mean of whole numbers"):
            prepare(np.array([[1, 0]]), node, Preprocessing(**options))


def test_a_mean_takes_pixels_to_an_int8_input():
    node = graph_input("x", (1, 3, 2, 2), "int8")
    pixels = np.random.default_rng(0).integers(0, 256, (4, 3, 2, 2), np.uint8)
    np.testing.assert_array_equal(prepare(pixels, node, Preprocessing(mean=(128.0,))), (pixels.astype(int) - 128).astype(np.int8))
    with pytest.raises(UsageError, match=r"samples of uint8 do not fit input 'x' of int8 \(-128 to 127\)$"):
        prepare(np.full((1, 3, 2, 2), 255, np.uint8), node, Preprocessing(mean=(100.0,)))
    per_channel = prepare(pixels // 2, node, Preprocessing(mean=(0.0, 1.0, 2.0)))
    assert (per_channel == (pixels // 2).astype(int) - np.arange(3).reshape(1, 3, 1, 1)).all()


def test_what_does_not_fit_is_refused():
    node = graph_input("x", (1, 3, 4, 4))
    with pytest.raises(
        UsageError, match=r"samples of shape \(4, 4, 3\) \(layout NCHW\) do not fit input 'x' of shape \(3, 4, 4\)"
    ):
        prepare(np.zeros((1, 4, 4, 3)), node, Preprocessing())
    with pytest.raises(UsageError, match=r"mean has 2 values; the samples have 3 channels"):
        prepare(np.zeros((1, 3, 4, 4)), node, Preprocessing(mean=(1.0, 2.0)))
    for options, message in (
        ({"layout": "CHWN"}, "layout 'CHWN' is unknown; allowed: NCHW, NHWC"),
        ({"scale": 0.0}, "scale 0.0"),
        ({"std": (1.0, 0.0)}, r"std \(1.0, 0.0\)"),
    ):
        with pytest.raises(UsageError, match=message):
            Preprocessing(**options)


def test_files(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=np.arange(12).reshape(4, 3), y=np.array([[0], [1], [2], [1]], np.uint8))
    data = load_dataset(path, 3)
    assert (data.x.shape, data.y.tolist(), data.y.dtype) == ((3, 3), [0, 1, 2], np.int64)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros(3)}, r"array 'y' is missing"),
        ({"y": np.zeros(3, int)}, r"array 'x' is missing"),
        ({"x": np.zeros(3), "y": np.zeros(3)}, r"'y' is float64 of shape \(3,\)"),
        ({"x": np.zeros(3), "y": np.zeros(2, int)}, r"'x' holds 3 samples, 'y' 2"),
        ({"x": np.array([object()]), "y": np.zeros(1, int)}, r"cannot be read as \.npz"),
    ],
)
def test_wrong_files(tmp_path, arrays, message):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    with pytest.raises(UsageError, match=rf"data\.npz: .*{message}|data\.npz: {message}"):
        load_dataset(path)


def test_what_is_no_npz(tmp_path):
    path = tmp_path / "data.npz"
    for data in (b"", b"garbage", b"PK\x03\x04broken"):
        path.write_bytes(data)
        with pytest.raises(UsageError, match=r"data\.npz: cannot be read as \.npz"):
            load_dataset(path)
    np.save(tmp_path / "x.npy", np.zeros(3))
    with pytest.raises(UsageError, match=r"x\.npy: "):
        load_dataset(tmp_path / "x.npy")
