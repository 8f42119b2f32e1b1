"""The registers through which the links of a simulated system go, as data for its hardware and for who drives it."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["BYTE_VALID", "LAST_WORD", "PORT_SHIFT", "WORD_VALID", "Door"]


class Door(IntEnum):
    """Byte offsets."""

    BYTE = 0x0
    """Written: a byte for the serial line. Read: one from it, and `BYTE_VALID`."""
    WORD = 0x4
    """Written: a word of a packet. Read: what waits, in bits."""
    LAST = 0x8
    """Written: the last word of a packet. Read: a word of a packet, which is taken."""
    SENDER = 0xC
    """Written: bytes of the next packet, and from `PORT_SHIFT` on the port that it comes from."""


BYTE_VALID = 1 << 8
"""In what is read: there was a byte, in the lowest bits, and it is taken."""
WORD_VALID, LAST_WORD = 1 << 0, 1 << 1
"""A word of a packet waits; it is the last."""
PORT_SHIFT = 16
"""The port that a packet comes from or goes to lies from this bit on."""
