"""Tensors to and from the packed layout of DRAM: (N/b, C/c, H, W, b, c), tails zero-filled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig

__all__ = [
    "pack",
    "pack_samples",
    "packed_image_shape",
    "packed_nbytes",
    "packed_shape",
    "planes_of",
    "unpack",
    "unpack_samples",
    "weight_blocks",
]

_PLANES = {"int8": 1, "int32": 4}


def planes_of(dtype: str) -> int:
    """Byte planes that a packed tensor of `dtype` has: 1 for int8, 4 for int32.

    Raises `ValueError` for any other dtype.
    """
    if dtype not in _PLANES:
        raise ValueError(f"a tensor of dtype {dtype} cannot be packed; allowed: {', '.join(_PLANES)}")
    return _PLANES[dtype]


def packed_shape(shape: tuple[int, ...], hw: HardwareConfig) -> tuple[int, int, int, int, int, int]:
    """Shape (N/b, C/c, H, W, b, c) of one plane of a tensor of logical `shape` (N, C, H, W) or (N, C).

    Raises `ValueError` for any other rank.
    """
    if len(shape) not in (2, 4):
        raise ValueError(f"a tensor of shape {shape} cannot be packed; it must be (N, C, H, W) or (N, C)")
    rows, channels, height, width = (*shape, 1, 1)[:4]
    return -(-rows // hw.batch), -(-channels // hw.block), height, width, hw.batch, hw.block


def packed_image_shape(shape: tuple[int, ...], hw: HardwareConfig) -> tuple[int, int, int, int, int]:
    """Shape (N, C/c, H, W, c) of an image, (N, C, H, W), as it lies on a device whose batches have one row."""
    rows, blocks, height, width, _, block = packed_shape(shape, hw)
    return rows, blocks, height, width, block


def packed_nbytes(shape: tuple[int, ...], hw: HardwareConfig, planes: int = 1) -> int:
    """Bytes of `planes` packed planes of a tensor of logical `shape`."""
    return planes * int(np.prod(packed_shape(shape, hw), dtype=np.int64))


def pack(array: NDArray[Any], hw: HardwareConfig) -> NDArray[np.uint8]:
    """Pack `array`, (N, C, H, W) or (N, C), int8 or int32, to flat bytes.

    An int32 tensor gives four planes, one a byte, lowest byte first.
    """
    planes = planes_of(array.dtype.name)
    shape = packed_shape(array.shape, hw)
    if planes == 1:
        return _blocks(array.view(np.uint8), shape).reshape(-1)
    plane_bytes = np.ascontiguousarray(array, dtype="<i4").view(np.uint8).reshape(*array.shape, planes)
    result = np.empty((planes, *shape), dtype=np.uint8)
    for plane in range(planes):
        result[plane] = _blocks(plane_bytes[..., plane], shape)
    return result.reshape(-1)


def unpack(data: NDArray[np.uint8], shape: tuple[int, ...], dtype: str, hw: HardwareConfig) -> NDArray[Any]:
    """Unpack flat bytes to a tensor of logical `shape` and `dtype` (int8 or int32), undoing `pack`.

    Raises `ValueError` if `data` does not have the bytes that such a tensor packs to.
    """
    planes = planes_of(dtype)
    blocks = packed_shape(shape, hw)
    wanted = packed_nbytes(shape, hw, planes)
    if data.size != wanted:
        raise ValueError(f"a packed {dtype} tensor of shape {shape} has {wanted} bytes, got {data.size}")
    if planes == 1:
        return _logical(data.reshape(blocks), shape).view(np.int8)
    interleaved = np.ascontiguousarray(data.reshape(planes, -1).T).view("<i4")
    return _logical(interleaved.reshape(blocks), shape).astype(np.int32, copy=False)


def pack_samples(array: NDArray[Any], hw: HardwareConfig) -> NDArray[np.uint8]:
    """Pack each tensor of `array`, (samples, N, C, H, W) or (samples, N, C), as `pack` does: (samples, bytes of one)."""
    if _lie_one_by_one(array.shape[1:], array.dtype.name, hw):
        return pack(array.reshape(-1, *array.shape[2:]), hw).reshape(len(array), -1)
    return np.stack([pack(sample, hw) for sample in array])


def unpack_samples(data: NDArray[np.uint8], shape: tuple[int, ...], dtype: str, hw: HardwareConfig) -> NDArray[Any]:
    """Unpack tensors of logical `shape`, (samples, bytes of one), as `unpack` does: (samples, *shape)."""
    if _lie_one_by_one(shape, dtype, hw):
        return unpack(data.reshape(-1), (len(data) * shape[0], *shape[1:]), dtype, hw).reshape(len(data), *shape)
    return np.stack([unpack(sample, shape, dtype, hw) for sample in data])


def weight_blocks(weights: NDArray[Any], block: int) -> NDArray[Any]:
    """Weights (O, I, KH, KW), whose channels fill blocks, as a view, (O/c, I/c, KH, KW, c, c): what the core multiplies by."""
    out, inp, height, width = weights.shape
    return weights.reshape(out // block, block, inp // block, block, height, width).transpose(0, 2, 4, 5, 1, 3)


def _lie_one_by_one(shape: tuple[int, ...], dtype: str, hw: HardwareConfig) -> bool:
    """Whether tensors that are joined along their rows are packed one after the other."""
    return planes_of(dtype) == 1 and shape[0] % hw.batch == 0


def _blocks(array: NDArray[Any], shape: tuple[int, int, int, int, int, int]) -> NDArray[Any]:
    """Rearrange a logical tensor to the packed `shape`; always a new contiguous array."""
    outer, channel_blocks, height, width, batch, block = shape
    full = (outer * batch, channel_blocks * block, height, width)
    source = array.reshape(*array.shape[:2], height, width)
    if source.shape != full:
        padded = np.zeros(full, dtype=array.dtype)
        padded[: source.shape[0], : source.shape[1]] = source
        source = padded
    split = source.reshape(outer, batch, channel_blocks, block, height, width)
    return split.transpose(0, 2, 4, 5, 1, 3).copy()


def _logical(blocks: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Rearrange packed blocks to the logical `shape`, dropping tails; always a new contiguous array."""
    outer, channel_blocks, height, width, batch, block = blocks.shape
    joined = blocks.transpose(0, 4, 1, 5, 2, 3).reshape(outer * batch, channel_blocks * block, height, width)
    kept = joined[: shape[0], : shape[1]].reshape(shape)
    # A tensor of one block may come out of the rearrangement as a view of what the caller holds.
    return kept.copy() if np.shares_memory(kept, blocks) or not kept.flags.c_contiguous else kept
