"""The driver of a board without a processor: its system is reached word by word through a link."""

from __future__ import annotations

import logging
import shutil
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vta.boards.controller import ControllerSetup
from vta.boards.description import Board, Design
from vta.boards.package import read_package
from vta.config.hardware import HardwareConfig
from vta.devices.board import BoardDevice, MemoryBlock
from vta.devices.core_control import Registers
from vta.devices.engine.clock import Clock, SystemClock
from vta.devices.engine.memory_pool import MemoryPool
from vta.devices.link.open_link import open_link
from vta.devices.link.training import MemoryTraining
from vta.devices.link.words import WORD_BYTES, LinkRegisters, WordLink
from vta.errors import DeviceError, UsageError
from vta.hardware.system.address_map import CONTROLLER_BASE, INFORMATION_BASE, SYSTEM_IDENTITY, Information, StateBit

__all__ = ["LinkHost", "open_linked"]

_LOADER = "openFPGALoader"
_LOADER_SECONDS = 300
_log = logging.getLogger(__name__)


class LinkHost:
    """The board behind `words`. The system has one clock, of which it tells; memory is the system's own."""

    def __init__(self, board: Board, words: WordLink, clock: Clock) -> None:
        self._board = board
        self._words = words
        self._clock = clock
        self._pool = MemoryPool(board.memory.nbytes)
        self._described: Path | None = None
        """The bitstream whose description says how memory is set up, where the host has to."""

    def program(self, bitstream: Path) -> None:
        """See `BoardHost.program`. The board's own USB cable is used, through openFPGALoader."""
        self._described = bitstream
        fpga, loader = self._board.fpga, shutil.which(_LOADER)
        if fpga is None or not fpga.loader:
            raise DeviceError(f"{self._board.source}: field loader is missing in fpga; {bitstream} cannot be put into the board")
        if loader is None:
            raise DeviceError(f"{_LOADER} is missing, which programs board {self._board.name}: apt-get install openfpgaloader")
        done = subprocess.run(
            [loader, "-b", fpga.loader, str(bitstream)], capture_output=True, text=True, check=False, timeout=_LOADER_SECONDS
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise DeviceError(f"{_LOADER} failed: {' '.join(said) or f'exit status {done.returncode}'}")

    def registers(self, address: int, nbytes: int) -> Registers:
        """See `BoardHost.registers`. The first look also sets memory up, if it is not ready."""
        self._prepare()
        return LinkRegisters(self._words, address)

    def allocate(self, nbytes: int) -> MemoryBlock:
        """See `BoardHost.allocate`."""
        start = self._pool.allocate(nbytes)
        return _Block(self._words, self._board.memory.device_start + start, self._pool, start)

    def close(self) -> None:
        """See `BoardHost.close`."""
        self._words.close()

    def _prepare(self) -> None:
        information = LinkRegisters(self._words, INFORMATION_BASE)
        found = information.read(Information.IDENTITY)
        if found != SYSTEM_IDENTITY:
            raise DeviceError(
                f"board {self._board.name}: what is behind the link is no system of this package: it says {found:#010x}, "
                f"expected {SYSTEM_IDENTITY:#010x}"
            )
        there, wanted = information.read(Information.MEMORY_BYTES), self._board.memory.nbytes
        if there < wanted:
            raise DeviceError(
                f"board {self._board.name}: the system has {there} bytes of memory; {self._board.source} says {wanted}"
            )
        if not information.read(Information.STATE) >> StateBit.MEMORY_READY & 1:
            self._set_memory_up(information.read(Information.CLOCK_HZ))
            if not information.read(Information.STATE) >> StateBit.MEMORY_READY & 1:
                raise DeviceError(f"board {self._board.name}: memory is set up, and the system does not say so")

    def _set_memory_up(self, clock_hz: int) -> None:
        setup = self._setup()
        registers = LinkRegisters(self._words, CONTROLLER_BASE)

        def wait(cycles: int) -> None:
            self._words.read(INFORMATION_BASE, 1)
            self._clock.sleep(cycles / clock_hz)

        _log.info("%s: setting up DRAM", self._board.name)
        MemoryTraining(setup, registers, wait).train()

    def _setup(self) -> ControllerSetup:
        if self._described is None:
            raise DeviceError(f"board {self._board.name}: its DRAM is not set up yet, and the bitstream's description says how")
        setup = read_package(self._described).controller
        if setup is None:
            raise DeviceError(f"{self._described}: its description does not say how DRAM is set up")
        return setup


class _Block:
    """Part of the memory. The link moves whole, aligned words, so that bytes are put together here."""

    def __init__(self, words: WordLink, address: int, pool: MemoryPool, start: int) -> None:
        self.address = address
        self._words = words
        self._pool = pool
        self._start = start

    def write(self, offset: int, data: NDArray[np.uint8]) -> None:
        first, count, skipped = self._span(offset, data.size)
        if skipped or data.size % WORD_BYTES:
            whole = self._words.read(first, count).astype("<u4").view(np.uint8)
            whole[skipped : skipped + data.size] = data
            data = whole
        self._words.write(first, np.frombuffer(data.tobytes(), dtype="<u4"))

    def read(self, offset: int, nbytes: int) -> NDArray[np.uint8]:
        first, count, skipped = self._span(offset, nbytes)
        return self._words.read(first, count).astype("<u4").view(np.uint8)[skipped : skipped + nbytes].copy()

    def free(self) -> None:
        self._pool.free(self._start)

    def _span(self, offset: int, nbytes: int) -> tuple[int, int, int]:
        """Address and number of the words, and the bytes before `offset` in the first."""
        start = self.address + offset
        first = start // WORD_BYTES * WORD_BYTES
        return first, -(-(start + nbytes - first) // WORD_BYTES), start - first


def open_linked(
    hw: HardwareConfig,
    board: Board,
    design: Design,
    memory_bytes: int = 1 << 28,
    bitstream: Path | None = None,
    bitstreams: Path | None = None,
    place: str = "",
    words: WordLink | None = None,
    clock: Clock | None = None,
) -> BoardDevice:
    """Open a board through the link at `place` (`open_link`), or through `words`. See `BoardDevice` for the rest.

    Without a bitstream to program, that which the board holds must have its DRAM set up. Raises `UsageError` if there is no link.
    """
    if words is None and not place:
        raise UsageError(
            f"board {board.name} is reached through a link: name HOST, HOST:PORT or a serial line", parameters=("link",)
        )
    clock = clock or SystemClock()
    words = words or open_link(place, board.fpga)
    try:
        return BoardDevice(hw, board, design, LinkHost(board, words, clock), memory_bytes, bitstream, bitstreams, clock)
    except BaseException:
        words.close()
        raise
