"""Arrays by any names."""

import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vta.cli.arrays import load_arrays
from vta.files.npz_writer import write_npz

KEYWORDS = ("file", "args", "kwds", "allow_pickle", "self", "compress", "arr_0", "x", "x.npy", "x.npy.npy", "", ".npy")
PLACES = ("a/b", "../up", "/etc/x", "..", "C:\\x", "имя", "a b", "a:1", "a", "%00", "\n")
ODD = ("a\0b", "a\0c", "\ud800", "n" * 70_000, "n" * 70_001, "я" * 40_000)


def read_back(names):
    file = io.BytesIO()
    write_npz(file, {name: np.full(3, index) for index, name in enumerate(names)})
    with np.load(io.BytesIO(file.getvalue()), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


@pytest.mark.parametrize("name", [*KEYWORDS, *PLACES])
def test_an_array_has_its_own_name(name):
    assert list(read_back([name])) == [name]


@given(names=st.lists(st.sampled_from([*KEYWORDS, *PLACES, *ODD]) | st.text(max_size=5), unique=True, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_none_is_lost_and_none_is_another(names, tmp_path):
    assert [array.tolist() for array in read_back(names).values()] == [[index] * 3 for index in range(len(names))]
    write_npz(tmp_path / "a.npz", {name: np.full(3, index) for index, name in enumerate(names)}, compressed=True)
    assert [array.tolist() for array in load_arrays(tmp_path / "a.npz").values()] == [[index] * 3 for index in range(len(names))]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "uint8", "bool"])
def test_types_and_shapes_are_kept(dtype):
    for shape in ((), (0, 2), (2, 3)):
        file = io.BytesIO()
        write_npz(file, {"x": np.ones(shape, dtype, order="F")})
        with np.load(io.BytesIO(file.getvalue())) as stored:
            assert (stored["x"].dtype, stored["x"].shape) == (np.dtype(dtype), shape)


def test_a_file_of_numpy_gives_each_array_by_its_name(tmp_path):
    np.savez(tmp_path / "a.npz", **{"x": np.zeros(1), "x.npy": np.ones(1)})
    assert {name: array.tolist() for name, array in load_arrays(tmp_path / "a.npz").items()} == {"x": [0], "x.npy": [1]}
