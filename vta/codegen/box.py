"""A part of a packed tensor: what a window loads and a tile stores."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Box"]


class Box(NamedTuple):
    """First index and size along each axis; a window may reach over the tensor's edges, where it is zero."""

    batch: int
    block: int
    row: int
    column: int
    blocks: int
    height: int
    width: int

    @property
    def positions(self) -> int:
        """Rows and columns of one channel block."""
        return self.height * self.width

    @property
    def rows(self) -> int:
        """SRAM rows that it takes: [blocks][height][width]."""
        return self.blocks * self.positions
