"""Loads of a window of a packed tensor into the input buffer, cut into transfers that the hardware can do."""

from __future__ import annotations

from typing import NamedTuple

from vta.codegen.stream import Segment, Stream
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.tile.operator import Tensor
from vta.tile.transfer_limits import MAX_PAD, MAX_SIZE, broken_stride

__all__ = ["Window", "load_window"]


class Window(NamedTuple):
    """Rows and columns of `blocks` consecutive channel blocks; may reach over the tensor's edge, where it is zero."""

    batch: int
    block: int
    blocks: int
    row: int
    column: int
    height: int
    width: int

    @property
    def rows(self) -> int:
        """SRAM rows that the window takes: [blocks][height][width]."""
        return self.blocks * self.height * self.width

    def overlaps(self, tensor: Tensor) -> bool:
        """Whether any of the window lies inside the tensor; nothing of an empty one does."""
        if min(self.height, self.width) < 1:
            return False
        inside_rows = self.row < tensor.height and self.row + self.height > 0
        return inside_rows and self.column < tensor.width and self.column + self.width > 0


def load_window(stream: Stream, tensor: Tensor, address: int, window: Window, sram: int) -> None:
    """Emit the LOADs of `window` of `tensor`, whose memory starts at arena element `address`, into input rows from `sram` on.

    The window must overlap the tensor. Raises `CompileError` if a pad or stride exceeds what the instruction holds.
    """
    top, left = max(0, -window.row), max(0, -window.column)
    bottom = max(0, window.row + window.height - tensor.height)
    right = max(0, window.column + window.width - tensor.width)
    if max(top, left, bottom, right) > MAX_PAD:
        raise CompileError(f"{tensor.name}: a pad of {max(top, left, bottom, right)} exceeds the limit of {MAX_PAD} per side")
    height, width = window.height - top - bottom, window.width - left - right
    start = address + tensor.index(window.batch, window.block, window.row + top, window.column + left)
    plane = tensor.height * tensor.width
    if height > 1 and broken_stride(tensor):
        raise CompileError(broken_stride(tensor)[0])
    unpadded = not (top or left or bottom or right)
    if unpadded and width == tensor.width and plane <= MAX_SIZE:
        # Rows of one block follow each other in memory, so each block is one run.
        stream.load(MemoryType.INP, sram, Segment.ARENA, start, height * width, window.blocks, plane)
    elif unpadded and height == 1 and plane <= MAX_SIZE:
        stream.load(MemoryType.INP, sram, Segment.ARENA, start, width, window.blocks, plane)
    else:
        for block in range(window.blocks):
            stream.load(
                MemoryType.INP,
                sram + block * window.height * window.width,
                Segment.ARENA,
                start + block * plane,
                width,
                height,
                tensor.width if height > 1 else width,
                (top, left, bottom, right),
            )
