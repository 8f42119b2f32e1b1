"""How fast a link to a board is, and what is behind it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vta.boards.description import Board
from vta.devices.link.words import WORD_BYTES, LinkRegisters, WordLink
from vta.errors import DeviceError
from vta.hardware.system.address_map import INFORMATION_BASE, SYSTEM_IDENTITY, Information, StateBit
from vta.support.dataclass import dataclass

__all__ = ["LinkSpeed", "measure_link"]

_ROUNDS = 16


@dataclass(frozen=True)
class LinkSpeed:
    """What was found."""

    clock_hz: int
    """Of the system, as it says."""
    memory_bytes: int
    memory_ready: bool
    round_trip_seconds: float
    """Of one word: the least of several."""
    read_megabytes_per_second: float
    write_megabytes_per_second: float | None
    """None: memory is not set up."""


def measure_link(board: Board, words: WordLink, nbytes: int) -> LinkSpeed:
    """Move `nbytes` from the start of the memory of `board` to here and back again, through `words`.

    Memory keeps what it has. Raises `DeviceError` if no system of this package is there, or what was written reads otherwise.
    """
    information = LinkRegisters(words, INFORMATION_BASE)
    found = information.read(Information.IDENTITY)
    if found != SYSTEM_IDENTITY:
        raise DeviceError(f"board {board.name}: what is behind the link is no system of this package: it says {found:#010x}")
    round_trips = [_seconds(lambda: information.read(Information.IDENTITY)) for _ in range(_ROUNDS)]
    memory_bytes = information.read(Information.MEMORY_BYTES)
    ready = bool(information.read(Information.STATE) >> StateBit.MEMORY_READY & 1)
    count, start = min(nbytes, memory_bytes) // WORD_BYTES, board.memory.device_start
    kept: list[NDArray[np.uint32]] = []
    reading = _seconds(lambda: kept.append(words.read(start, count)))
    writing = None
    if ready:

        def write() -> None:
            words.write(start, kept[0])
            words.read(start, 1)

        writing = _seconds(write)
        if not np.array_equal(words.read(start, count), kept[0]):
            raise DeviceError(f"board {board.name}: memory reads otherwise than it was written")
    moved = WORD_BYTES * count / 1e6
    return LinkSpeed(
        clock_hz=information.read(Information.CLOCK_HZ),
        memory_bytes=memory_bytes,
        memory_ready=ready,
        round_trip_seconds=min(round_trips),
        read_megabytes_per_second=moved / reading,
        write_megabytes_per_second=None if writing is None else moved / writing,
    )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
