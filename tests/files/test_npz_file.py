"""Arrays of users: the same as NumPy reads, or one error, and no memory for what is not there."""

import io
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from tests.refusals import refusal
from vta.errors import UsageError
from vta.files.npz_file import read_array, read_arrays

DTYPES = st.sampled_from(["?", "i1", "<u2", ">i4", "<i8", "<f2", "<f4", ">f8", "<c8", "<U3", "S2"])
ARRAYS = DTYPES.flatmap(lambda dtype: arrays_of.arrays(dtype, arrays_of.array_shapes(min_dims=0, min_side=0, max_side=4)))
HEADER = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n"


def npy(descr, shape, content=b"", version=b"\1\0"):
    header = (HEADER % (descr, shape)).encode()
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header + content


def npz(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content, zipfile.ZIP_DEFLATED)
    return path


@given(st.dictionaries(st.sampled_from("abc"), ARRAYS, max_size=3), st.booleans(), st.booleans())
def test_what_numpy_wrote_is_read(tmp_path_factory, arrays, packed, by_columns):
    path = tmp_path_factory.getbasetemp() / "a.npz"
    given_ = {name: np.asfortranarray(array) if by_columns else array for name, array in arrays.items()}
    (np.savez_compressed if packed else np.savez)(path, **given_)
    read = read_arrays(path)
    assert read.keys() == arrays.keys()
    for name, array in given_.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
        assert read[name].tobytes() == array.tobytes()
        assert read[name].flags.writeable


def test_only_what_is_named_is_read(tmp_path):
    path = npz(tmp_path / "a.npz", x=npy("<f4", (1,), bytes(4)), y=b"no array")
    assert list(read_arrays(path, ("x", "z"))) == ["x"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "array 'x': no array"),
        (b"hello there", "array 'x': .*magic"),
        (
            npy("<f4", (10**12,), bytes(8)),
            r"header claims 4000000000000 bytes \(float32 of shape \(1000000000000,\)\); its member has",
        ),
        (npy("<f4", (2**62, 2**62, 4), bytes(8)), "header claims"),
        (npy("<f4", (3,), bytes(8)), "ends after 8 of 12 bytes|header claims"),
        (npy("<f4", (-1,), bytes(8)), r"its shape is \(-1,\)"),
        (npy("<U0", (2**62,)), "no numbers or texts of a fixed size"),
        (npy("|V0", (2**62,)), "no numbers or texts of a fixed size"),
        (npy("|O", (1,), bytes(8)), "holds object, no numbers"),
        (npy("<M8[s]", (1,), bytes(8)), "no numbers"),
        (npy("<f4", (1,), bytes(4), b"\3\0"), "format version 3.0; allowed: 1.0, 2.0"),
        (npy("<f4", "(" * 300), "array 'x': "),
        (npy("f99", (1,), bytes(4)), "array 'x': "),
    ],
)
def test_members_that_are_no_arrays(content, words, tmp_path):
    with pytest.raises(UsageError, match=rf"a\.npz: cannot be read as \.npz: .*({words})") as caught:
        read_arrays(npz(tmp_path / "a.npz", x=content))
    assert "\n" not in str(caught.value)


def test_files_that_are_no_archives(tmp_path):
    np.save(tmp_path / "a.npz.npy", np.zeros(3))
    (tmp_path / "b.npz").write_bytes(b"PK")
    for path, words in (
        ("a.npz.npy", "is a single .npy array"),
        ("b.npz", "cannot be read"),
        ("none", "No such file"),
        (".", "a directory"),
    ):
        with pytest.raises(UsageError, match=words):
            read_arrays(tmp_path / path)


@given(st.data())
def test_damaged_files_give_one_error(tmp_path_factory, data):
    out = io.BytesIO()
    np.savez(out, x=np.arange(6, dtype=np.float32).reshape(2, 3), y=np.arange(2))
    content = bytearray(out.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(content)
    error = refusal(lambda: read_arrays(path), UsageError)
    assert not error or (str(path) in error and "\n" not in error)


def test_a_bomb_takes_no_memory(tmp_path):
    path = npz(tmp_path / "a.npz", x=npy("<f4", (1 << 27,), bytes(1 << 29)))
    code = (
        "import resource, sys; from vta.files.npz_file import read_array, read_arrays\n"
        f"resource.setrlimit(resource.RLIMIT_DATA, ({1 << 28}, {resource.RLIM_INFINITY}))\n"
        "try: read_arrays(sys.argv[1])\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert "its members claim 536" in done.stdout


@given(ARRAYS)
def test_single_arrays_are_those_that_numpy_reads(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("single") / "a.npy"
    np.save(path, array)
    found = read_array(path)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array, strict=True)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be read as .npy: no array"),
        (b"text of a page", "cannot be read as .npy: the magic string is not correct"),
        (npy("<f4", "(4,)", b"1234"), "cannot be read as .npy: ends after 4 of 16 bytes"),
        (npy("<f4", "(400,)", b"1234"), "cannot be read as .npy: its header claims 1600 bytes"),
        (npy("|O", "(1,)", b"12345678"), "holds object, no numbers"),
        (b"PK\3\4", "is an .npz file; expected a single .npy array"),
    ],
)
def test_files_that_are_no_single_array(tmp_path, content, words):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(UsageError, match=words):
        read_array(tmp_path / "a.npy")
