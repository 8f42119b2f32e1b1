"""One memory port for two: the core's bursts, and the host's single words between them."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from vta.hardware.geometry import ADDRESS_BITS, Geometry, log2
from vta.hardware.ports.axi import AxiRead, AxiWrite
from vta.hardware.system.word_bus import WORD_BITS, WORD_BYTES, WordBus

__all__ = ["HOST_ID", "SharedMemory"]

HOST_ID = 3
"""The AXI id of the host's reads; the core's are below."""

_MOST_UNANSWERED = 1 << 16


class SharedMemory(Component):
    """Joins the core's `core_read` and `core_write` with transfers of the host's `bus`, towards `read` and `write`.

    The host's reads go first, between requests of the core. Its writes wait until no write of the core is going on or
    unanswered, and hold up the next one meanwhile: responses need no ids.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        reads, writes = AxiRead(geometry), AxiWrite(geometry)
        super().__init__(
            {
                "core_read": In(reads),
                "core_write": In(writes),
                "bus": In(WordBus()),
                "read": Out(reads),
                "write": Out(writes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build both halves: what passes from the core, and what the host puts in its place."""
        m = Module()
        g, bus = self._geometry, self.bus
        connect(m, flipped(self.core_read), flipped(self.read))
        connect(m, flipped(self.core_write), flipped(self.write))
        read_done, write_done, place, lane = Signal(), Signal(), Signal(ADDRESS_BITS), Signal(g.log_word_bytes - log2(WORD_BYTES))
        m.d.comb += [
            place.eq((bus.address >> g.log_word_bytes) << g.log_word_bytes),
            lane.eq(bus.address >> log2(WORD_BYTES)),
            bus.done.eq(Mux(bus.write, write_done, read_done)),
            bus.result.eq(self.read.rdata.word_select(lane, WORD_BITS)),
        ]
        self._read(m, place, read_done)
        self._write(m, place, lane, write_done)
        return m

    def _read(self, m: Module, place: Signal, done: Signal) -> None:
        """Choose the request, which holds until it is taken, and keep the host's answer from the core."""
        core, port, bus = self.core_read, self.read, self.bus
        chosen, held, waiting, asked = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            chosen.eq(Mux(waiting, held, bus.valid & ~bus.write & ~asked)),
            done.eq(port.rvalid & (port.rid == HOST_ID)),
        ]
        m.d.sync += [held.eq(chosen), waiting.eq(port.arvalid & ~port.arready)]
        with m.If(chosen):
            m.d.comb += [
                port.arvalid.eq(1),
                port.araddr.eq(place),
                port.arlen.eq(0),
                port.arid.eq(HOST_ID),
                core.arready.eq(0),
            ]
        with m.If(done):
            m.d.comb += [core.rvalid.eq(0), port.rready.eq(1)]
        m.d.sync += asked.eq(~done & (asked | (chosen & port.arready)))

    def _write(self, m: Module, place: Signal, lane: Signal, done: Signal) -> None:
        """Let the host write when all is answered that the core has begun."""
        core, port, bus = self.core_write, self.write, self.bus
        unanswered, host, blocked, going_on = Signal(range(_MOST_UNANSWERED)), Signal(), Signal(), Signal()
        address_taken, data_taken = Signal(), Signal()
        completed = self._core_bursts(m, going_on)
        m.d.comb += [blocked.eq(host | (bus.valid & bus.write & ~going_on)), done.eq(host & port.bvalid)]
        m.d.sync += unanswered.eq(unanswered + completed - (port.bvalid & port.bready & ~host))
        with m.If(blocked):
            m.d.comb += [core.awready.eq(0), core.wready.eq(0), port.awvalid.eq(0), port.wvalid.eq(0)]
        with m.If(host):
            m.d.comb += [
                core.bvalid.eq(0),
                port.bready.eq(1),
                port.awvalid.eq(~address_taken),
                port.awaddr.eq(place),
                port.awlen.eq(0),
                port.wvalid.eq(~data_taken),
                port.wdata.eq(bus.data.replicate(len(port.wdata) // WORD_BITS)),
                port.wstrb.eq(Const((1 << WORD_BYTES) - 1) << (lane << log2(WORD_BYTES))),
                port.wlast.eq(1),
            ]
            m.d.sync += [address_taken.eq(address_taken | port.awready), data_taken.eq(data_taken | port.wready)]
        with m.If(done):
            m.d.sync += [host.eq(0), address_taken.eq(0), data_taken.eq(0)]
        with m.Elif(blocked & (unanswered == 0)):
            m.d.sync += host.eq(1)

    def _core_bursts(self, m: Module, going_on: Signal) -> Signal:
        """Follow the core's bursts: one is `going_on` from the cycle after its first request to its end.

        Returns what is 1 as one ends: its address and its last beat are taken.
        """
        core = self.core_write
        address_taken, data_taken, last_taken, presented = Signal(), Signal(), Signal(), Signal()
        takes_address, takes_data, completed = core.awvalid & core.awready, core.wvalid & core.wready, Signal()
        m.d.comb += [
            going_on.eq(address_taken | data_taken | presented),
            completed.eq((address_taken | takes_address) & (last_taken | (takes_data & core.wlast))),
        ]
        # What is presented and not taken has to stay.
        m.d.sync += presented.eq((self.write.awvalid & ~self.write.awready) | (self.write.wvalid & ~self.write.wready))
        with m.If(completed):
            m.d.sync += [address_taken.eq(0), data_taken.eq(0), last_taken.eq(0)]
        with m.Else():
            m.d.sync += [
                address_taken.eq(address_taken | takes_address),
                data_taken.eq(data_taken | takes_data),
                last_taken.eq(last_taken | (takes_data & core.wlast)),
            ]
        return completed
