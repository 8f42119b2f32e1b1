"""Words of a system behind a link: the host's end of the bridge (`vta.hardware.system.bridge`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.devices.link.byte_link import ByteLink
from vta.hardware.system.commands import MOST_WORDS, READ, WRITE

__all__ = ["WORD_BYTES", "LinkRegisters", "WordLink"]

WORD_BYTES = 4
_AHEAD_BYTES = 1 << 16
"""Of writes that are sent in one piece."""


class WordLink:
    """Reads and writes 32-bit words at byte addresses, multiples of 4. Writes are done when a later read is answered."""

    def __init__(self, link: ByteLink) -> None:
        self._link = link

    def read(self, address: int, count: int) -> NDArray[np.uint32]:
        """`count` words from `address` on. Raises `OSError` if the board does not answer."""
        parts = []
        for first in range(0, count, MOST_WORDS):
            words = min(MOST_WORDS, count - first)
            self._link.send(_command(READ, words, address + WORD_BYTES * first))
            parts.append(np.frombuffer(self._link.receive(WORD_BYTES * words), dtype=">u4"))
        return np.concatenate(parts).astype(np.uint32) if parts else np.zeros(0, np.uint32)

    def write(self, address: int, words: NDArray[np.uint32]) -> None:
        """Write `words`, shape (n,), from `address` on."""
        pending = bytearray()
        for first in range(0, len(words), MOST_WORDS):
            part = words[first : first + MOST_WORDS]
            pending += _command(WRITE, len(part), address + WORD_BYTES * first) + part.astype(">u4").tobytes()
            if len(pending) >= _AHEAD_BYTES:
                self._link.send(bytes(pending))
                pending.clear()
        self._link.send(bytes(pending))

    def close(self) -> None:
        """Let go of the link."""
        self._link.close()


class LinkRegisters:
    """Registers from byte address `base` on."""

    def __init__(self, words: WordLink, base: int) -> None:
        self._words = words
        self._base = base

    def read(self, offset: int) -> int:
        """The register at a byte offset."""
        return int(self._words.read(self._base + offset, 1)[0])

    def write(self, offset: int, value: int) -> None:
        """Set the register at a byte offset."""
        self._words.write(self._base + offset, np.array([value], np.uint32))


def _command(what: int, words: int, address: int) -> bytes:
    return bytes((what, words)) + (address // WORD_BYTES).to_bytes(WORD_BYTES, "big")
