"""Boards with a Zynq, reached through the package pynq: its contiguous buffers, mapped registers and bitstreams."""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.boards.description import Board, Design
from vta.config.hardware import HardwareConfig
from vta.devices.board import BoardDevice, MemoryBlock
from vta.devices.core_control import Registers
from vta.devices.engine.clock import Clock
from vta.errors import DeviceError

__all__ = ["PynqHost", "open_pynq"]

_log = logging.getLogger(__name__)


class PynqHost:
    """A board behind `pynq`: the package, or what has its `allocate`, `MMIO`, `Bitstream`, `Overlay` and `Clocks`.

    `pynq_device` is the device of that package that is meant; None is its active one.
    """

    def __init__(self, board: Board, design: Design, pynq: Any, pynq_device: Any = None) -> None:
        self._board = board
        self._design = design
        self._pynq = pynq
        self._device = pynq_device

    def program(self, bitstream: Path) -> None:
        """See `BoardHost.program`. A `.hwh` file beside the bitstream says how the processor's ports are to be set."""
        if bitstream.with_suffix(".hwh").exists():
            self._pynq.Overlay(str(bitstream), device=self._device)
        else:
            if self._board.family != "zynq-7000":
                _log.warning("%s: no .hwh file beside it, so the widths of the processor's ports stay as they are", bitstream)
            self._pynq.Bitstream(str(bitstream), device=self._device).download()
        self._pynq.Clocks.fclk0_mhz = self._design.clock_mhz

    def registers(self, address: int, nbytes: int) -> Registers:
        """See `BoardHost.registers`."""
        registers: Registers = self._pynq.MMIO(address, nbytes, device=self._device)
        return registers

    def allocate(self, nbytes: int) -> MemoryBlock:
        """See `BoardHost.allocate`."""
        buffer = self._pynq.allocate(shape=(nbytes,), dtype=np.uint8, target=self._device, cacheable=True)
        line = 0 if self._design.coherent else self._board.cache_line_bytes
        return _PynqBlock(buffer, self._board.memory.device_offset, line)

    def close(self) -> None:
        """See `BoardHost.close`. The fabric keeps its bitstream."""


class _PynqBlock:
    """A buffer of pynq. With lines of `line` bytes in a cache that the accelerator does not see, 0 if it sees all."""

    def __init__(self, buffer: Any, offset: int, line: int) -> None:
        self._buffer = buffer
        self._line = line
        self.address = int(buffer.physical_address) + offset

    def write(self, offset: int, data: NDArray[np.uint8]) -> None:
        """See `MemoryBlock.write`."""
        if not data.size:
            return
        end = offset + data.size
        if self._line and (offset % self._line or end % self._line):
            # The rest of a line that is written in part goes back to memory with it: it must not be an old copy.
            self._lines(offset, end).invalidate()
        self._buffer[offset:end] = data
        if self._line:
            self._lines(offset, end).flush()

    def read(self, offset: int, nbytes: int) -> NDArray[np.uint8]:
        """See `MemoryBlock.read`."""
        if self._line and nbytes:
            self._lines(offset, offset + nbytes).invalidate()
        return np.array(self._buffer[offset : offset + nbytes], dtype=np.uint8, subok=False)

    def free(self) -> None:
        """See `MemoryBlock.free`."""
        self._buffer.freebuffer()

    def _lines(self, start: int, end: int) -> Any:
        """The buffer's bytes from `start` to `end` with what shares a line with them."""
        return self._buffer[start // self._line * self._line : -(-end // self._line) * self._line]


def open_pynq(
    hw: HardwareConfig,
    board: Board,
    design: Design,
    memory_bytes: int = 1 << 28,
    bitstream: Path | None = None,
    bitstreams: Path | None = None,
    pynq: Any = None,
    pynq_device: Any = None,
    clock: Clock | None = None,
) -> BoardDevice:
    """Open a board through `pynq`, by default the installed package. See `BoardDevice` for the rest.

    Raises `DeviceError` if the package is missing or finds no board here.
    """
    host = PynqHost(board, design, pynq or _installed_pynq(), pynq_device)
    return BoardDevice(hw, board, design, host, memory_bytes, bitstream, bitstreams, clock)


def _installed_pynq() -> Any:
    try:
        return importlib.import_module("pynq")
    except ImportError as error:
        raise DeviceError(f"the package pynq is needed, which the images of these boards bring along: {error}") from None
