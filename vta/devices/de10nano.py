"""The DE10-Nano: memory and registers by physical address, the fabric programmed through the chip's FPGA manager."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vta.boards.description import Board, Design
from vta.config.hardware import HardwareConfig
from vta.devices.board import BoardDevice, MemoryBlock
from vta.devices.core_control import Registers
from vta.devices.cyclone_fpga import program_fabric
from vta.devices.engine.clock import Clock, SystemClock
from vta.devices.engine.memory_pool import MemoryPool
from vta.errors import DeviceError

__all__ = ["De10NanoHost", "DevMem", "PhysicalMemory", "open_de10nano"]

_WORD = 4


class PhysicalMemory(Protocol):
    """What /dev/mem gives: the machine by physical address."""

    def registers(self, address: int, nbytes: int) -> Registers:
        """Registers at a byte address."""

    def words(self, address: int, nbytes: int) -> NDArray[np.uint32]:
        """Memory at a byte address, shape (nbytes // 4,), past the caches."""

    def close(self) -> None:
        """Let go of it."""


class DevMem:
    """A file of physical memory, by default the kernel's. Mapped without caches, as O_SYNC asks for there."""

    def __init__(self, path: Path = Path("/dev/mem")) -> None:
        """Raises `DeviceError` if the file cannot be opened."""
        try:
            self._file = os.open(path, os.O_RDWR | os.O_SYNC)
        except OSError as error:
            raise DeviceError(f"{path}: cannot be opened: {error.strerror}; it takes the rights of root") from None
        self._path = path

    def registers(self, address: int, nbytes: int) -> Registers:
        """See `PhysicalMemory.registers`."""
        return _Mapped(self.words(address, nbytes))

    def words(self, address: int, nbytes: int) -> NDArray[np.uint32]:
        """See `PhysicalMemory.words`."""
        start = address // mmap.PAGESIZE * mmap.PAGESIZE
        skipped = address - start
        try:
            window = mmap.mmap(self._file, nbytes + skipped, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=start)
        except (OSError, ValueError, OverflowError) as error:
            raise DeviceError(f"{self._path}: {nbytes} bytes at {address:#x} cannot be mapped: {error}") from None
        return np.frombuffer(window, dtype="<u4", count=nbytes // _WORD, offset=skipped)

    def close(self) -> None:
        """See `PhysicalMemory.close`. What is mapped stays so as long as it is used."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class _Mapped:
    """Registers in mapped memory."""

    def __init__(self, words: NDArray[np.uint32]) -> None:
        self._words = words

    def read(self, offset: int) -> int:
        return int(self._words[offset // _WORD])

    def write(self, offset: int, value: int) -> None:
        self._words[offset // _WORD] = value


class De10NanoHost:
    """The board behind `physical`. Its memory window is not the kernel's, and is mapped past the caches."""

    def __init__(self, board: Board, physical: PhysicalMemory, clock: Clock) -> None:
        self._board = board
        self._physical = physical
        self._clock = clock
        window = board.memory
        self._words = physical.words(window.start, window.nbytes)
        self._pool = MemoryPool(window.nbytes)

    def program(self, bitstream: Path) -> None:
        """See `BoardHost.program`."""
        program_fabric(self._physical.registers, bitstream.read_bytes(), self._clock)

    def registers(self, address: int, nbytes: int) -> Registers:
        """See `BoardHost.registers`."""
        return self._physical.registers(address, nbytes)

    def allocate(self, nbytes: int) -> MemoryBlock:
        """See `BoardHost.allocate`."""
        start = self._pool.allocate(nbytes)
        words = self._words[start // _WORD : (start + nbytes) // _WORD]
        return _Block(words, self._board.memory.device_start + start, self._pool, start)

    def close(self) -> None:
        """See `BoardHost.close`."""
        self._physical.close()


class _Block:
    """Part of the window. Uncached memory takes whole, aligned words only, so that bytes are put together here."""

    def __init__(self, words: NDArray[np.uint32], address: int, pool: MemoryPool, start: int) -> None:
        self.address = address
        self._words = words
        self._pool = pool
        self._start = start

    def write(self, offset: int, data: NDArray[np.uint8]) -> None:
        first, last, skipped = self._span(offset, data.size)
        if skipped == 0 and data.size % _WORD == 0:
            self._words[first:last] = np.frombuffer(data.tobytes(), dtype="<u4")
            return
        copy = self._words[first:last].tobytes()
        merged = copy[:skipped] + data.tobytes() + copy[skipped + data.size :]
        self._words[first:last] = np.frombuffer(merged, dtype="<u4")

    def read(self, offset: int, nbytes: int) -> NDArray[np.uint8]:
        first, last, skipped = self._span(offset, nbytes)
        data = np.array(self._words[first:last], dtype="<u4").view(np.uint8)
        return data[skipped : skipped + nbytes].copy()

    def free(self) -> None:
        self._pool.free(self._start)

    @staticmethod
    def _span(offset: int, nbytes: int) -> tuple[int, int, int]:
        """First and last word, and the bytes before `offset` in the first."""
        return offset // _WORD, -(-(offset + nbytes) // _WORD), offset % _WORD


def open_de10nano(
    hw: HardwareConfig,
    board: Board,
    design: Design,
    memory_bytes: int = 1 << 28,
    bitstream: Path | None = None,
    bitstreams: Path | None = None,
    physical: PhysicalMemory | None = None,
    clock: Clock | None = None,
) -> BoardDevice:
    """Open a board through `physical`, by default /dev/mem. See `BoardDevice` for the rest."""
    clock = clock or SystemClock()
    host = De10NanoHost(board, physical or DevMem(), clock)
    return BoardDevice(hw, board, design, host, memory_bytes, bitstream, bitstreams, clock)
