"""The bus between the host's link and the system: one 32-bit word at a time."""

from __future__ import annotations

from amaranth.lib.wiring import In, Out, Signature

__all__ = ["WORD_BITS", "WORD_BYTES", "WordBus"]

WORD_BITS = 32
WORD_BYTES = WORD_BITS // 8


class WordBus(Signature):
    """A transfer is `valid` until the cycle in which it is `done`; `result` is what was read, in that cycle.

    `address` is that of a byte, a multiple of 4.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "write": Out(1),
                "address": Out(32),
                "data": Out(WORD_BITS),
                "done": In(1),
                "result": In(WORD_BITS),
            }
        )
