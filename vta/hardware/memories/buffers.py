"""The memories of the instruction set in banks: a bank for each element of a beat."""

from __future__ import annotations

from vta.config.targets import MemoryType
from vta.hardware.geometry import Geometry
from vta.hardware.memories.banks import BankedMemory, RowRead, RowWrites, WindowRead

__all__ = ["INPUT_BANKS", "buffer_of", "row_read_of", "window_read_of", "writes_of"]

INPUT_BANKS = 4
"""Of the input memory, if DEPTHWISE reads three of its rows in a cycle."""


def buffer_of(geometry: Geometry, memory: MemoryType, *, rows: int = 0, windows: int = 0, forwards: bool = False) -> BankedMemory:
    """Return the memory `memory`, with as many reads of `rows` and `windows`; see `BankedMemory`."""
    return BankedMemory(
        shape=geometry.elem_bits(memory),
        row_bits=geometry.row_bits(memory),
        banks=_banks(geometry, memory),
        rows=rows,
        windows=windows,
        forwards=forwards,
    )


def writes_of(geometry: Geometry, memory: MemoryType) -> RowWrites:
    """Return the interface that writes `memory`."""
    return RowWrites(shape=geometry.elem_bits(memory), row_bits=geometry.row_bits(memory), banks=_banks(geometry, memory))


def row_read_of(geometry: Geometry, memory: MemoryType) -> RowRead:
    """Return the interface that reads a row of `memory`."""
    return RowRead(shape=geometry.elem_bits(memory), row_bits=geometry.row_bits(memory))


def window_read_of(geometry: Geometry, memory: MemoryType) -> WindowRead:
    """Return the interface that reads a beat of rows of `memory`."""
    return WindowRead(shape=geometry.elem_bits(memory), row_bits=geometry.row_bits(memory), banks=_banks(geometry, memory))


def _banks(geometry: Geometry, memory: MemoryType) -> int:
    if memory is MemoryType.INP and geometry.hw.depthwise_unit:
        return max(INPUT_BANKS, geometry.lanes(memory))
    # A beat has as many accumulator rows as it has of 8 bits a scalar.
    return geometry.lanes(MemoryType.ACC_8BIT if memory is MemoryType.ACC else memory)
