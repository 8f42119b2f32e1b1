"""The commands of the bridge, as data for the driver and the hardware.

They are those of LiteX's bridges for serial lines, so that its tools can talk to the system, too: a byte that says what to do,
one that counts words, four of an address in words, and for a write the words. All numbers begin with their highest byte. A
write is not answered; a read is answered with the words.
"""

from __future__ import annotations

__all__ = ["MOST_WORDS", "READ", "READ_FIXED", "WRITE", "WRITE_FIXED"]

WRITE, READ, WRITE_FIXED, READ_FIXED = 1, 2, 3, 4
"""The first byte of a command; those that are fixed take all words from and to one address."""
MOST_WORDS = 255
"""Of one command."""
