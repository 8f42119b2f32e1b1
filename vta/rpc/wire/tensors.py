"""Arrays as headers and a stream of bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import RemoteError
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.limits import CHUNK_BYTES

__all__ = ["chunks", "header", "split_tensors", "total_bytes"]

Array = NDArray[Any]

_DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")
_DIMENSIONS = 32
_ADDRESSES = 1 << 63
"""What NumPy can count to, of bytes, even where another dimension is 0."""


def header(name: str, array: Array) -> pb.Tensor:
    """Describe an array. Raises `RemoteError` for one whose elements are not plain numbers."""
    if array.dtype.name not in _DTYPES:
        raise RemoteError(f"tensor {name!r} has dtype {array.dtype}; allowed: {', '.join(_DTYPES)}")
    return pb.Tensor(name=name, dtype=array.dtype.name, shape=array.shape)


def chunks(arrays: Sequence[Array]) -> Iterator[bytes]:
    """The bytes of arrays, one after the other, in pieces that fit a message."""
    for array in arrays:
        data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
        for start in range(0, data.size, CHUNK_BYTES):
            yield data[start : start + CHUNK_BYTES].tobytes()


def total_bytes(headers: Sequence[pb.Tensor]) -> int:
    """How many bytes follow the headers. Raises `RemoteError` naming a tensor that cannot be."""
    total = 0
    for tensor in headers:
        if tensor.dtype not in _DTYPES or len(tensor.shape) > _DIMENSIONS:
            raise RemoteError(
                f"tensor {tensor.name!r}: dtype {tensor.dtype!r} with {len(tensor.shape)} dimensions; "
                f"allowed: {', '.join(_DTYPES)}, up to {_DIMENSIONS} dimensions"
            )
        itemsize = np.dtype(tensor.dtype).itemsize
        if itemsize * math.prod(size for size in tensor.shape if size) >= _ADDRESSES:
            raise RemoteError(f"tensor {tensor.name!r} is too large: {list(tensor.shape)} of {tensor.dtype}")
        total += itemsize * math.prod(tensor.shape)
    return total


def split_tensors(headers: Sequence[pb.Tensor], data: NDArray[np.uint8]) -> Mapping[str, Array]:
    """The arrays in `data`, shape (bytes,), by name. Raises `RemoteError` if they are not as the headers say."""
    wanted = total_bytes(headers)
    if wanted != data.size:
        raise RemoteError(f"{data.size} bytes of tensors came; their headers say {wanted}")
    arrays: dict[str, Array] = {}
    start = 0
    for tensor in headers:
        if tensor.name in arrays:
            raise RemoteError(f"tensor {tensor.name!r} came twice")
        dtype = np.dtype(tensor.dtype).newbyteorder("<")
        end = start + dtype.itemsize * math.prod(tensor.shape)
        # A copy, because the bytes of a tensor need not lie at a multiple of its element size.
        array = np.frombuffer(data[start:end].tobytes(), dtype=dtype).reshape(tuple(tensor.shape))
        arrays[tensor.name] = array.astype(dtype.newbyteorder("="), copy=False)
        start = end
    return arrays
