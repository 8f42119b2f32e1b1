"""Loads of windows and stores of tiles, cut into transfers that the hardware can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vta.codegen.box import Box
from vta.codegen.stream import Segment
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.tile.operator import Tensor
from vta.tile.transfer_limits import MAX_PAD, MAX_SIZE, broken_stride

if TYPE_CHECKING:
    from tests.oracles.emitter.stream import OracleStream

__all__ = ["load_window", "overlaps", "store_tile"]


def overlaps(window: Box, tensor: Tensor) -> bool:
    """Whether any of the window lies inside the tensor; nothing of an empty one does."""
    if min(window.height, window.width) < 1:
        return False
    inside_rows = window.row < tensor.height and window.row + window.height > 0
    return inside_rows and window.column < tensor.width and window.column + window.width > 0


def load_window(stream: OracleStream, tensor: Tensor, address: int, window: Box, sram: int) -> None:
    """Emit the LOADs of `window` of `tensor`, whose memory starts at arena element `address`, into input rows from `sram` on."""
    top, left = max(0, -window.row), max(0, -window.column)
    bottom = max(0, window.row + window.height - tensor.height)
    right = max(0, window.column + window.width - tensor.width)
    pads = (top, left, bottom, right)
    if max(pads) > MAX_PAD:
        raise CompileError(f"{tensor.name}: a pad of {max(pads)} exceeds the limit of {MAX_PAD} per side")
    height, width = window.height - top - bottom, window.width - left - right
    start = address + tensor.index(window.batch, window.block, window.row + top, window.column + left)
    plane = tensor.height * tensor.width
    if height > 1 and broken_stride(tensor):
        raise CompileError(broken_stride(tensor)[0])
    if not any(pads) and width == tensor.width and plane <= MAX_SIZE:
        # Rows of one block follow each other in memory, so each block is one run.
        stream.load(MemoryType.INP, sram, Segment.ARENA, start, height * width, window.blocks, plane)
    elif not any(pads) and height == 1 and plane <= MAX_SIZE:
        stream.load(MemoryType.INP, sram, Segment.ARENA, start, width, window.blocks, plane)
    else:
        for block in range(window.blocks):
            rows, stride = sram + block * window.positions, tensor.width if height > 1 else width
            stream.load(MemoryType.INP, rows, Segment.ARENA, start + block * plane, width, height, stride, pads)


def store_tile(stream: OracleStream, tensor: Tensor, address: int, tile: Box, sram: int) -> None:
    """Emit the STOREs of a tile that lies densely in output rows from `sram` on."""
    plane = tensor.height * tensor.width
    start = address + tensor.index(tile.batch, tile.block, tile.row, tile.column)
    if (tile.width == tensor.width or tile.height == 1) and (plane <= MAX_SIZE or tile.blocks == 1):
        stream.store(sram, start, tile.positions, tile.blocks, min(plane, MAX_SIZE))
        return
    for block in range(tile.blocks):
        stride = tensor.width if tile.height > 1 else tile.width
        stream.store(sram + block * tile.positions, start + block * plane, tile.width, tile.height, stride)
