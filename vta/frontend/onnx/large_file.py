"""ONNX files with much data: large tensors stay in the file until each is asked for, so that none is in memory twice.

A parser of protocol buffers wants the whole file as bytes, and copies the bytes of each tensor. Here the parser gets the file
without those of large tensors, which become tensors with external data: in the file itself, where their bytes are.

Source of the format: protobuf.dev/programming-guides/encoding, and the numbers of fields in onnx.proto.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import onnx

from vta.files.user_file import open_regular, size_of
from vta.frontend._files import read_bytes

__all__ = ["load_model"]

_LARGE_FILE, _LARGE_TENSOR = 32 << 20, 1 << 20
"""Bytes from which on it pays."""
_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
"""Fields of ModelProto, GraphProto and TensorProto."""
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT = 10

_Change = Callable[[BinaryIO, int], bytes]


class _MalformedError(Exception):
    """The file has no such structure; the parser is to say so."""


def load_model(path: Path) -> onnx.ModelProto:
    """Parse an ONNX file. Of one with much data large tensors have external data, in this file.

    Raises `ImportModelError` if it cannot be read, and what the parser raises if it is no ONNX file.
    """
    if (model := _without_large_tensors(path)) is not None:
        return model
    return onnx.load_model_from_string(read_bytes(path))


def _without_large_tensors(path: Path) -> onnx.ModelProto | None:
    """None if there are none, or if something about the file is odd."""
    try:
        if path.resolve().parent != path.parent.resolve():
            return None  # External data lies beside a model; a link to it would lead away.
        with open_regular(path) as file:
            if size_of(file) < _LARGE_FILE:
                return None
            stripper = _Stripper(path.name)
            model = onnx.load_model_from_string(_copy(file, size_of(file), {_GRAPH: stripper.graph}))
    except (OSError, ValueError, _MalformedError):
        return None
    return model if stripper.lengths and _fit(model, stripper.lengths) else None


class _Stripper:
    """Copies graphs and tensors but for the bytes of large initializers."""

    def __init__(self, location: str) -> None:
        location.encode()  # raises ValueError, where text of the format cannot have it
        self._location = location
        self.lengths: dict[int, int] = {}
        """Bytes of the large tensors, by where they begin in the file."""

    def graph(self, file: BinaryIO, end: int) -> bytes:
        """The graph that lies from here to `end`."""
        return _copy(file, end, {_INITIALIZER: self.tensor})

    def tensor(self, file: BinaryIO, end: int) -> bytes:
        """The tensor that lies from here to `end`."""
        if end - file.tell() < _LARGE_TENSOR:
            return file.read(end - file.tell())
        places: list[tuple[int, int]] = []

        def data(file: BinaryIO, end: int) -> bytes:
            places.append((file.tell(), end - file.tell()))
            return b""

        others = _copy(file, end, {_RAW_DATA: data}, keeps_empty=False)
        if len(places) != 1:
            raise _MalformedError
        ((offset, length),) = places
        self.lengths[offset] = length
        moved = onnx.TensorProto(data_location=onnx.TensorProto.EXTERNAL)
        for key, value in (("location", self._location), ("offset", str(offset)), ("length", str(length))):
            moved.external_data.add(key=key, value=value)
        # What is serialized one after the other is one message.
        added: bytes = moved.SerializeToString()
        return others + added


def _copy(file: BinaryIO, end: int, changes: Mapping[int, _Change], *, keeps_empty: bool = True) -> bytes:
    """The message that lies from here to `end`, with other contents of some of its fields, by number."""
    copied = []
    while (start := file.tell()) < end:
        tag = _varint(file)
        number, kind = tag >> 3, tag & 7
        after = _end_of_value(file, kind)
        if after > end:
            raise _MalformedError
        if kind == _LENGTH and number in changes:
            content = changes[number](file, after)
            if content or keeps_empty:
                copied += [_as_varint(tag), _as_varint(len(content)), content]
        else:
            file.seek(start)
            copied.append(file.read(after - start))
        file.seek(after)
    return b"".join(copied)


def _end_of_value(file: BinaryIO, kind: int) -> int:
    """Where a value ends; the file is then where it begins, but for a number of varying length."""
    if kind == _VARINT:
        _varint(file)
        return file.tell()
    if kind == _LENGTH:
        length = _varint(file)
        return file.tell() + length
    if kind in _FIXED:
        return file.tell() + _FIXED[kind]
    raise _MalformedError


def _varint(file: BinaryIO) -> int:
    value = 0
    for place in range(_LONGEST_VARINT):
        byte = file.read(1)
        if not byte:
            raise _MalformedError
        value |= (byte[0] & 0x7F) << 7 * place
        if byte[0] < 0x80:
            return value
    raise _MalformedError


def _as_varint(value: int) -> bytes:
    coded = bytearray()
    while value > 0x7F:
        coded.append(value & 0x7F | 0x80)
        value >>= 7
    coded.append(value)
    return bytes(coded)


def _fit(model: onnx.ModelProto, lengths: Mapping[int, int]) -> bool:
    """Whether each large tensor has the bytes that its shape needs; of others the reader of tensors says what is wrong."""
    for tensor in model.graph.initializer:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if tensor.data_location != onnx.TensorProto.EXTERNAL or lengths.get(int(entries.get("offset", -1))) is None:
            continue
        try:
            itemsize = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        except KeyError:
            return False
        if math.prod(tensor.dims) * itemsize != int(entries["length"]):
            return False
    return True
