"""A serial line of 8 data bits, no parity and one stop bit."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.checks import check_range

__all__ = ["UartReceiver", "UartTransmitter"]

_FRAME_BITS = 10
_LEAST_DIVISOR = 4


class UartReceiver(Component):
    """Gives the bytes that come in on `line`, a bit each `divisor` cycles. A byte that is not taken at once is lost.

    A frame whose stop bit is 0 is dropped.
    """

    def __init__(self, *, divisor: int) -> None:
        check_range("cycles of a bit", divisor, _LEAST_DIVISOR)
        self._divisor = divisor
        super().__init__({"line": In(1, init=1), "bytes": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        """Sample each bit in its middle."""
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronizer = FFSynchronizer(self.line, line, init=1)
        timer, bits, frame = Signal(range(self._divisor)), Signal(range(_FRAME_BITS + 1)), Signal(_FRAME_BITS)
        with m.If(self.bytes.ready):
            m.d.sync += self.bytes.valid.eq(0)
        with m.If(bits == 0):
            m.d.sync += timer.eq(self._divisor // 2 - 1)
            with m.If(~line):
                m.d.sync += bits.eq(_FRAME_BITS)
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Else():
            m.d.sync += [timer.eq(self._divisor - 1), frame.eq(Cat(frame[1:], line)), bits.eq(bits - 1)]
            with m.If((bits == _FRAME_BITS) & line):
                m.d.sync += bits.eq(0)
            with m.If(bits == 1):
                m.d.sync += [self.bytes.valid.eq(line), self.bytes.payload.eq(frame[2:])]
        return m


class UartTransmitter(Component):
    """Sends `bytes` on `line`, a bit each `divisor` cycles."""

    def __init__(self, *, divisor: int) -> None:
        check_range("cycles of a bit", divisor, _LEAST_DIVISOR)
        self._divisor = divisor
        super().__init__({"bytes": In(stream.Signature(8)), "line": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        """Shift out start bit, data and stop bit."""
        m = Module()
        timer, bits, frame = Signal(range(self._divisor)), Signal(range(_FRAME_BITS + 1)), Signal(_FRAME_BITS, init=-1)
        m.d.comb += [self.bytes.ready.eq(bits == 0), self.line.eq(Mux(bits == 0, 1, frame[0]))]
        with m.If(bits == 0), m.If(self.bytes.valid):
            m.d.sync += [frame.eq(Cat(0, self.bytes.payload, 1)), bits.eq(_FRAME_BITS), timer.eq(self._divisor - 1)]
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Else():
            m.d.sync += [timer.eq(self._divisor - 1), frame.eq(frame[1:]), bits.eq(bits - 1)]
        return m
