"""Words of a system behind a serial line: the host's end of the bridge (`vta.hardware.system.bridge`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.devices.link.byte_link import ByteLink
from vta.devices.link.words import WORD_BYTES
from vta.hardware.system.commands import MOST_WORDS, READ, WRITE

__all__ = ["SerialWords"]

_AHEAD_BYTES = 1 << 16
"""Of writes that are sent in one piece."""


class SerialWords:
    """A `WordLink` through a line of bytes."""

    def __init__(self, link: ByteLink) -> None:
        self._link = link

    def read(self, address: int, count: int) -> NDArray[np.uint32]:
        """See `WordLink.read`."""
        parts = []
        for first in range(0, count, MOST_WORDS):
            words = min(MOST_WORDS, count - first)
            self._link.send(_command(READ, words, address + WORD_BYTES * first))
            parts.append(np.frombuffer(self._link.receive(WORD_BYTES * words), dtype=">u4"))
        return np.concatenate(parts).astype(np.uint32) if parts else np.zeros(0, np.uint32)

    def write(self, address: int, words: NDArray[np.uint32]) -> None:
        """See `WordLink.write`."""
        pending = bytearray()
        for first in range(0, len(words), MOST_WORDS):
            part = words[first : first + MOST_WORDS]
            pending += _command(WRITE, len(part), address + WORD_BYTES * first) + part.astype(">u4").tobytes()
            if len(pending) >= _AHEAD_BYTES:
                self._link.send(bytes(pending))
                pending.clear()
        self._link.send(bytes(pending))

    def close(self) -> None:
        """See `WordLink.close`."""
        self._link.close()


def _command(what: int, words: int, address: int) -> bytes:
    return bytes((what, words)) + (address // WORD_BYTES).to_bytes(WORD_BYTES, "big")
