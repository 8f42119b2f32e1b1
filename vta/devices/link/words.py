"""Words of a system behind a link, whatever the link is made of."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["WORD_BYTES", "LinkRegisters", "WordLink"]

WORD_BYTES = 4


class WordLink(Protocol):
    """Reads and writes 32-bit words at byte addresses, multiples of 4. Writes are done when a later read is answered."""

    def read(self, address: int, count: int) -> NDArray[np.uint32]:
        """`count` words from `address` on. Raises `OSError` or `DeviceError` if the board does not answer."""

    def write(self, address: int, words: NDArray[np.uint32]) -> None:
        """Write `words`, shape (n,), from `address` on. Raises like `read`."""

    def close(self) -> None:
        """Let go of the link."""


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
