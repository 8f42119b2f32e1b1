from pathlib import Path

import numpy as np
import pytest

from vta.cli.arrays import calibration_samples, given_inputs, load_arrays
from vta.errors import UsageError
from vta.ir.graph import graph_input
from vta.runtime import Preprocessing
from vta.runtime.evaluation.samples import spread

IMAGE = graph_input("image", (1, 3, 2, 2))


@pytest.mark.parametrize(
    ("samples", "limit", "chosen"), [(4, 8, [0, 1, 2, 3]), (4, 4, [0, 1, 2, 3]), (10, 4, [0, 2, 5, 7]), (9, 1, [0])]
)
def test_samples_are_spread_evenly(samples, limit, chosen):
    assert spread(np.arange(samples), limit).tolist() == chosen


def test_calibration_is_preprocessed_and_limited(tmp_path):
    x = np.arange(4 * 2 * 2 * 3, dtype=np.uint8).reshape(4, 2, 2, 3)
    np.savez(tmp_path / "c.npz", x=x)
    samples = calibration_samples(tmp_path / "c.npz", [IMAGE], Preprocessing("NHWC", 2.0, (1.0,)), 2)
    np.testing.assert_array_equal(samples["image"], x[[0, 2]].transpose(0, 3, 1, 2).astype(np.float32) / 2 - 1)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "no array 'image' or 'x' for the network's input; it holds nothing"),
        ({"x": np.float32(1)}, "shape (); expected one or more samples"),
        ({"x": np.zeros((0, 3, 2, 2))}, "expected one or more samples"),
        ({"x": np.zeros((5, 3, 2, 3))}, "(3, 2, 2)"),
    ],
)
def test_calibration_that_does_not_fit_names_file_and_shapes(arrays, words, tmp_path):
    np.savez(tmp_path / "c.npz", **arrays)
    with pytest.raises(UsageError) as error:
        calibration_samples(tmp_path / "c.npz", [IMAGE], Preprocessing(), 2)
    assert "c.npz: " in str(error.value)
    assert words in str(error.value)


def test_with_several_inputs_each_needs_its_array(tmp_path):
    np.savez(tmp_path / "c.npz", x=np.zeros((1, 3, 2, 2)))
    with pytest.raises(UsageError, match=r"no array 'image' for the network's input; it holds x"):
        calibration_samples(tmp_path / "c.npz", [IMAGE, graph_input("other", (1, 2))], Preprocessing(), 2)


def test_files_that_are_no_npz_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    (tmp_path / "b.npz").write_bytes(b"nonsense")
    np.savez(tmp_path / "c.npz", x=np.array([{}], dtype=object))
    for name, words in (
        ("a.npy", "a single .npy array"),
        ("b.npz", "cannot be read as .npz"),
        ("c.npz", "cannot be read as .npz"),
    ):
        with pytest.raises(UsageError, match=rf"{name}: .*{words}"):
            load_arrays(Path(tmp_path / name))


VALUES = np.arange(12, dtype=np.float32).reshape(IMAGE.shape)
ODD = graph_input("a=b", (2,))


@pytest.mark.parametrize("text", ["{}", "image={}"])
@pytest.mark.parametrize("file", ["x.npy", "x=y.npy"])
def test_an_input_comes_from_a_file_of_its_own(text, file, tmp_path):
    np.save(tmp_path / file, VALUES)
    np.testing.assert_array_equal(given_inputs([text.format(tmp_path / file)], [IMAGE])["image"], VALUES)


def test_names_of_inputs_may_have_an_equals_sign(tmp_path):
    np.save(tmp_path / "x.npy", VALUES)
    np.save(tmp_path / "y.npy", np.ones(2, np.float16))
    found = given_inputs([f"a=b={tmp_path / 'y.npy'}", f"image={tmp_path / 'x.npy'}"], [IMAGE, ODD])
    assert {name: (array.shape, array.dtype.name) for name, array in found.items()} == {
        "image": (IMAGE.shape, "float32"),
        "a=b": ((2,), "float32"),
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["other={}/x.npy"], "names no input of the network; expected NAME=FILE.npy with one of 'image', 'a=b'"),
        (["{}/x.npy"], "names no input of the network"),
        (["image={}/x.npy", "image={}/x.npy"], "input 'image' is given twice"),
        (["image={}/x.npy"], "no array 'a=b' for the network's input; it holds image"),
        (["image={}/x.npy", "a=b={}/x.npy"], "the array for input 'a=b' has shape (1, 3, 2, 2); expected (2,)"),
        (["image={}/x.npy", "a=b={}/none.npy"], "none.npy: cannot be read as .npy: No such file or directory"),
        (["image={}/x.npy", "a=b={}/x.npy", "h={}/x.npy"], "array 'h' is for a state of the network, which is no input"),
    ],
)
def test_inputs_that_do_not_fit(given, words, tmp_path):
    np.save(tmp_path / "x.npy", VALUES)
    with pytest.raises(UsageError) as error:
        given_inputs([text.format(tmp_path) for text in given], [IMAGE, ODD], ["h"])
    assert words in str(error.value)
