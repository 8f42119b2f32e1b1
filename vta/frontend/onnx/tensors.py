"""Tensors of an ONNX file as arrays, also from external data files; every size is checked against the bytes there are."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.files.user_file import open_regular, size_of
from vta.frontend._errors import MAX_ARRAY_BYTES
from vta.support.on_cores import on_cores
from vta.support.shorten import shown

__all__ = ["WIDENED", "as_imported", "declared_dtype", "dtype_of", "tensor_array"]

Array = NDArray[Any]
_Type = onnx.TensorProto
_READ_AT_ONCE = 8 << 20
"""Bytes of a file. The memory that they go to is new, and takes longer to get than the bytes."""


def _same(array: Array) -> Array:
    return array


def _widen(array: Array) -> Array:
    return array.astype(np.float32)


def _from_bfloat16(array: Array) -> Array:
    return (array.astype(np.uint32) << 16).view(np.float32)


_TYPES: dict[int, tuple[str, str, Callable[[Array], Array]]] = {
    _Type.FLOAT: ("<f4", "float_data", _same),
    _Type.DOUBLE: ("<f8", "double_data", _widen),
    _Type.FLOAT16: ("<f2", "int32_data", _widen),
    _Type.BFLOAT16: ("<u2", "int32_data", _from_bfloat16),
    _Type.INT8: ("i1", "int32_data", _same),
    _Type.UINT8: ("u1", "int32_data", _same),
    _Type.INT16: ("<i2", "int32_data", _same),
    _Type.INT32: ("<i4", "int32_data", _same),
    _Type.INT64: ("<i8", "int64_data", _same),
    _Type.BOOL: ("?", "int32_data", _same),
}
"""Stored type, field that holds values which are not raw bytes, and conversion: all floats become float32."""


def dtype_of(code: int) -> str:
    """Return the data type that values of an ONNX element type have here; raises `ImportModelError` if they have none."""
    if code not in _TYPES:
        name = _Type.DataType.Name(code) if code in _Type.DataType.values() else str(code)
        raise ImportModelError(f"element type {name} cannot be imported")
    stored, _, convert = _TYPES[code]
    return convert(np.zeros(1, stored)).dtype.name


WIDENED = ("float16", "float64")
"""Types that inputs and outputs may have, and nothing between them."""


def declared_dtype(code: int) -> str:
    """Return the data type of inputs and outputs of an ONNX element type: its own, but that NumPy has no bfloat16."""
    dtype = dtype_of(code)
    return dtype if code == _Type.BFLOAT16 else np.dtype(_TYPES[code][0]).name


def as_imported(array: Array) -> Array:
    """Return a value in the type that it has here; raises `ImportModelError` if it has none."""
    return array.astype(dtype_of(onnx.helper.np_dtype_to_tensor_dtype(array.dtype)), copy=False)


def tensor_array(tensor: onnx.TensorProto, folder: Path | None) -> Array:
    """Return the value of `tensor`, read-only; `folder` is where its external data file is, None if there can be none.

    Raises `ImportModelError` naming the tensor if type, size or external file are wrong.
    """
    where = f"tensor {tensor.name!r}"
    try:
        dtype_of(tensor.data_type)
    except ImportModelError as error:
        raise ImportModelError(f"{where}: {error}") from None
    stored, field, convert = _TYPES[tensor.data_type]
    shape = tuple(tensor.dims)
    if any(dim < 0 for dim in shape) or math.prod(shape) * np.dtype(stored).itemsize > MAX_ARRAY_BYTES:
        raise ImportModelError(f"{where}: shape {shape} is negative or too large")
    if tensor.data_location == _Type.EXTERNAL:
        return _read_only(convert(_external(tensor, np.empty(shape, stored), folder, where)))
    if tensor.HasField("raw_data"):
        flat = np.frombuffer(_checked(tensor.raw_data, stored, where), stored)
    else:
        flat = _typed(getattr(tensor, field), stored)
    if flat.size != math.prod(shape):
        raise ImportModelError(f"{where}: shape {shape} needs {math.prod(shape)} values, the file has {flat.size}")
    return _read_only(convert(flat.reshape(shape)))


def _read_only(array: Array) -> Array:
    """Constants take an array that nobody can change without a copy."""
    array.setflags(write=False)
    return array


def _checked(raw: bytes, stored: str, where: str) -> bytes:
    if len(raw) % np.dtype(stored).itemsize:
        raise ImportModelError(f"{where}: {len(raw)} bytes are no whole number of {np.dtype(stored)} values")
    return raw


def _typed(values: Any, stored: str) -> Array:
    """Values from a typed field: sixteen-bit floats are there as the integers of their bits."""
    if stored in ("<f2", "<u2"):
        return np.array(values, np.int64).astype(np.uint16).view(stored)
    return np.array(values, np.float64 if stored == "<f8" else None).astype(stored)


def _external(tensor: onnx.TensorProto, array: Array, folder: Path | None, where: str) -> Array:
    """Fill an array of the tensor's shape and stored type from its external data."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise ImportModelError(f"{where}: external data {shown(location)}, but the model is not a file")
    path = (folder / location).resolve()
    if not location or not path.is_relative_to(folder.resolve()):
        raise ImportModelError(f"{where}: external data {shown(location)} is not beside the model")
    offset, length = int(entries.get("offset", 0)), int(entries.get("length", array.nbytes))
    if offset < 0 or length != array.nbytes:
        raise ImportModelError(f"{where}: external data at {offset} has {length} bytes, the shape needs {array.nbytes}")
    try:
        with open_regular(path) as file:
            there = max(0, size_of(file) - offset)
            if there < length:
                raise ImportModelError(f"{where}: external data {path.name} ends after {there} of {length} bytes")
            if not _fill(array.reshape(-1).view(np.uint8).data, file.fileno(), offset):
                raise ImportModelError(f"{where}: external data {path.name} became shorter while it was read")
            return array
    except OSError as error:
        raise ImportModelError(f"{where}: external data {path.name}: {error.strerror or error}") from None


def _fill(target: memoryview, descriptor: int, offset: int) -> bool:
    """Fill `target` with what is at `offset` of a file, on all cores; whether there was as much."""
    missing: list[int] = []

    def read(start: int) -> None:
        end = min(start + _READ_AT_ONCE, len(target))
        while start < end:
            count = os.preadv(descriptor, [target[start:end]], offset + start)
            if not count:
                missing.append(start)
                return
            start += count

    on_cores(read, range(0, len(target), _READ_AT_ONCE))
    return not missing
