"""Registers on every way between the core and a memory controller, so that no path goes through both."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, ShapeLike, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, PureInterface

from vta.hardware.geometry import Geometry
from vta.hardware.ports.axi import AxiRead, AxiWrite

__all__ = ["AxiSlices", "StreamSlice"]


class StreamSlice(Component):
    """Passes a stream on, a cycle later. It holds two payloads: whether it is ready does not depend on the other end."""

    def __init__(self, shape: ShapeLike) -> None:
        super().__init__({"given": In(stream.Signature(shape)), "taken": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        """Build what is shown, and what had no place there."""
        m = Module()
        given, taken = self.given, self.taken
        waits, waiting = Signal(), Signal.like(given.payload)
        m.d.comb += given.ready.eq(~waits)
        with m.If(taken.ready | ~taken.valid):
            m.d.sync += [taken.valid.eq(waits | given.valid), waits.eq(0)]
            with m.If(waits):
                m.d.sync += taken.payload.eq(waiting)
            with m.Else():
                m.d.sync += taken.payload.eq(given.payload)
        with m.Elif(~waits):
            m.d.sync += [waits.eq(given.valid), waiting.eq(given.payload)]
        return m


class AxiSlices(Component):
    """Passes `core_read` and `core_write` on to `read` and `write`, and the answers back, each a cycle later."""

    def __init__(self, geometry: Geometry) -> None:
        reads, writes = AxiRead(geometry), AxiWrite(geometry)
        super().__init__({"core_read": In(reads), "core_write": In(writes), "read": Out(reads), "write": Out(writes)})

    def elaborate(self, platform: object) -> Module:
        """Build a slice for each channel."""
        m = Module()
        for channel in ("ar", "aw", "w"):
            half = "read" if channel == "ar" else "write"
            self._slice(m, channel, getattr(self, f"core_{half}"), getattr(self, half))
        for channel in ("r", "b"):
            half = "read" if channel == "r" else "write"
            self._slice(m, channel, getattr(self, half), getattr(self, f"core_{half}"))
        return m

    def _slice(self, m: Module, channel: str, giver: PureInterface, taker: PureInterface) -> None:
        names = _payload_of(channel, tuple(giver.signature.members))
        given, taken = (Cat(*(getattr(end, name) for name in names)) for end in (giver, taker))
        m.submodules[channel] = registers = StreamSlice(len(given))
        m.d.comb += [
            registers.given.valid.eq(getattr(giver, f"{channel}valid")),
            getattr(giver, f"{channel}ready").eq(registers.given.ready),
            registers.given.payload.eq(given),
            getattr(taker, f"{channel}valid").eq(registers.taken.valid),
            registers.taken.ready.eq(getattr(taker, f"{channel}ready")),
            taken.eq(registers.taken.payload),
        ]


def _payload_of(channel: str, names: Sequence[str]) -> list[str]:
    """Return the signals of a channel beside its handshake."""
    handshake = (f"{channel}valid", f"{channel}ready")
    return [name for name in names if name.startswith(channel) and name not in handshake]
