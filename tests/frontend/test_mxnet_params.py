"""The `.params` reader: every record version, and damaged files."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import ImportModelError
from vta.frontend.mxnet import decode_params, encode_params, read_params

ARRAYS = {
    "arg:w": np.arange(6, dtype=np.float32).reshape(2, 3),
    "aux:mean": np.float64([1.5]),
    "arg:q": np.int8([-1, 2]),
    "plain": np.zeros((2, 0, 3), np.float16),
    "arg:b": np.array([True, False]),
    "arg:i": np.int64([1 << 40]),
}


def test_round_trip(tmp_path):
    path = tmp_path / "net.params"
    path.write_bytes(encode_params(ARRAYS))
    got = read_params(path)
    assert list(got) == ["w", "mean", "q", "plain", "b", "i"]
    for name, array in ARRAYS.items():
        value = got[name.split(":")[-1]]
        assert value.dtype == array.dtype
        assert np.array_equal(value, array)


def record_file(record: bytes) -> bytes:
    return struct.pack("<QQQ", 0x112, 0, 1) + record + struct.pack("<QQ", 1, 5) + b"arg:x"


VALUES = np.float32([1, 2, 3, 4]).tobytes()


@pytest.mark.parametrize(
    ("record", "shape"),
    [
        (struct.pack("<Iii2q", 0xF993FAC9, 0, 2, 2, 2), (2, 2)),
        (struct.pack("<Iii1q", 0xF993FACA, 0, 1, 4), (4,)),
        (struct.pack("<Ii1q", 0xF993FAC8, 1, 4), (4,)),
        (struct.pack("<I2I", 2, 4, 1), (4, 1)),
    ],
)
def test_record_versions(record, shape):
    got = decode_params(record_file(record + struct.pack("<iii", 1, 0, 0) + VALUES))["x"]
    assert got.shape == shape
    assert got.reshape(-1).tolist() == [1, 2, 3, 4]


def test_the_third_version_has_scalars():
    record = struct.pack("<Iii", 0xF993FACA, 0, 0) + struct.pack("<iii", 1, 0, 0) + VALUES[:4]
    assert decode_params(record_file(record))["x"].shape == ()


def test_older_versions_have_arrays_of_nothing():
    assert decode_params(record_file(struct.pack("<Iii", 0xF993FAC9, 0, 0)))["x"].size == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "truncated"),
        (b"12345678", "not an MXNet .params file"),
        (record_file(struct.pack("<Iii", 0xF993FAC9, 1, 0)), "storage type 1; only dense"),
        (record_file(struct.pack("<Iii", 0xF993FAC9, 0, 99)), "rank 99"),
        (record_file(struct.pack("<I", 0xF993FAC7)), "rank"),
        (record_file(struct.pack("<Iii1q", 0xF993FAC9, 0, 1, -4)), "shape"),
        (record_file(struct.pack("<Iii1q3i", 0xF993FAC9, 0, 1, 1, 1, 0, 12)), "data type 12"),
        (record_file(struct.pack("<Iii1q3i", 0xF993FAC9, 0, 1, 1 << 50, 1, 0, 0)), "needs .* bytes, .* are left"),
        (struct.pack("<QQQ", 0x112, 0, 1 << 60), "truncated"),
        (struct.pack("<QQQQ", 0x112, 0, 0, 3), "0 arrays but 3 names"),
        (encode_params(ARRAYS)[:-3], "a name needs"),
        (encode_params({"arg:w": np.zeros(1, np.float32)})[:-1] + b"\xff", "not UTF-8"),
    ],
)
def test_damage_is_named(content, message):
    with pytest.raises(ImportModelError, match=f"net: .*{message}"):
        decode_params(content, "net")


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_damaged_files_raise_nothing_else(data):
    content = bytearray(encode_params(ARRAYS))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    for _ in range(data.draw(st.integers(0, 3))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode_params(bytes(content), "net")
    except ImportModelError as error:
        assert str(error).startswith("net: ")  # noqa: PT017


def test_what_the_format_cannot_hold_is_refused():
    with pytest.raises(ImportModelError, match="cannot hold int16"):
        encode_params({"x": np.int16([1])})
