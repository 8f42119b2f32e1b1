"""What one transfer of a packed tensor can do."""

from __future__ import annotations

from vta.tile.operator import Tensor

__all__ = ["MAX_PAD", "MAX_SIZE", "broken_stride"]

MAX_PAD = 15
"""Rows or columns of zeros on each side of what a transfer loads."""
MAX_SIZE = (1 << 16) - 1
"""Rows of a run, runs, and elements from one run to the next."""


def broken_stride(tensor: Tensor) -> list[str]:
    """Return the limit that a tensor breaks whose rows lie further apart than a transfer can step; empty if it keeps it."""
    if tensor.height == 1 or tensor.width <= MAX_SIZE:
        return []
    return [f"{tensor.name}: rows of {tensor.width} elements exceed the stride limit of {MAX_SIZE}"]
