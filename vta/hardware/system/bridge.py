"""The host's end of the system: commands as bytes in, transfers of words on the bus, and what was read as bytes out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.system.commands import MOST_WORDS, READ, READ_FIXED, WRITE, WRITE_FIXED
from vta.hardware.system.word_bus import WORD_BITS, WORD_BYTES, WordBus

__all__ = ["Bridge"]

_ADDRESS_BITS = 30


class Bridge(Component):
    """Executes the commands of `received` on `bus`; what is read goes to `sent`.

    A command that stops in its middle for `patience` cycles is forgotten, so that a host which begins anew is understood.
    """

    def __init__(self, *, patience: int) -> None:
        self._patience = patience
        self._command, self._words, self._place = Signal(3), Signal(range(MOST_WORDS + 1)), Signal(range(WORD_BYTES))
        self._address, self._word = Signal(_ADDRESS_BITS), Signal(WORD_BITS)
        self._taken, self._last, self._reads, self._idle = Signal(), Signal(), Signal(), Signal(range(patience + 1))
        super().__init__({"received": In(stream.Signature(8)), "sent": Out(stream.Signature(8)), "bus": Out(WordBus())})

    def elaborate(self, platform: object) -> Module:
        """Build the reader of commands."""
        m = Module()
        given = self.received.payload
        self._connect(m)
        with m.FSM():
            with m.State("command"):
                m.d.comb += self.received.ready.eq(1)
                m.d.sync += [self._command.eq(given), self._idle.eq(0)]
                with m.If(self._taken & (given >= WRITE) & (given <= READ_FIXED)):
                    m.next = "length"
            with m.State("length"), self._taking(m):
                m.d.sync += [self._words.eq(given), self._place.eq(0)]
                m.next = "address"
            with m.State("address"), self._taking(m):
                m.d.sync += self._address.eq(Cat(given, self._address[:-8]))
                with m.If(self._last):
                    self._begin_word(m, ends=self._words == 0)
            with m.State("data"), self._taking(m):
                m.d.sync += self._word.eq(Cat(given, self._word[:-8]))
                with m.If(self._last):
                    m.next = "transfer"
            with m.State("transfer"):
                m.d.comb += self.bus.valid.eq(1)
                with m.If(self.bus.done & self._reads):
                    m.d.sync += self._word.eq(self.bus.result)
                    m.next = "answer"
                with m.Elif(self.bus.done):
                    self._end_word(m)
            with m.State("answer"):
                m.d.comb += self.sent.valid.eq(1)
                with m.If(self.sent.ready):
                    m.d.sync += self._place.eq(self._place + 1)
                    with m.If(self._last):
                        self._end_word(m)
        return m

    def _connect(self, m: Module) -> None:
        """Drive the bus and the bytes of the answer."""
        digits = Array(self._word.word_select(index, 8) for index in reversed(range(WORD_BYTES)))
        m.d.comb += [
            self._taken.eq(self.received.valid & self.received.ready),
            self._last.eq(self._place == WORD_BYTES - 1),
            self._reads.eq((self._command == READ) | (self._command == READ_FIXED)),
            self.bus.address.eq(self._address << 2),
            self.bus.data.eq(self._word),
            self.bus.write.eq(~self._reads),
            self.sent.payload.eq(digits[self._place]),
        ]

    @contextmanager
    def _taking(self, m: Module) -> Iterator[None]:
        """Take a byte of a command, or give up waiting for it."""
        m.d.comb += self.received.ready.eq(1)
        with m.If(self._taken):
            m.d.sync += [self._place.eq(self._place + 1), self._idle.eq(0)]
            yield
        with m.Elif(self._idle == self._patience):
            m.next = "command"
        with m.Else():
            m.d.sync += self._idle.eq(self._idle + 1)

    def _begin_word(self, m: Module, ends: Value) -> None:
        """Go on with the next word, unless the command `ends`."""
        with m.If(ends):
            m.next = "command"
        with m.Elif(self._reads):
            m.next = "transfer"
        with m.Else():
            m.next = "data"

    def _end_word(self, m: Module) -> None:
        """Count a word that is done, and step to the next address unless that is fixed."""
        fixed = (self._command == WRITE_FIXED) | (self._command == READ_FIXED)
        m.d.sync += [self._words.eq(self._words - 1), self._address.eq(self._address + ~fixed), self._idle.eq(0)]
        self._begin_word(m, ends=self._words == 1)
