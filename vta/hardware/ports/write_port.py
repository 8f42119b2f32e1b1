"""The write side of the memory port: sends the beats of the store unit with their addresses."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Signal

from vta.hardware.geometry import ADDRESS_BITS, Geometry

__all__ = ["AxiWrite", "WriteBeat", "WritePort"]

_INCREMENTING = 1
_COHERENT = 0b1111
_PLAIN = 0


class AxiWrite:
    """The AW, W and B channels of an AXI4 master."""

    def __init__(self, geometry: Geometry) -> None:
        self.awvalid = Signal()
        self.awready = Signal()
        self.awaddr = Signal(ADDRESS_BITS)
        self.awlen = Signal(8)
        self.awsize = Signal(3)
        self.awburst = Signal(2)
        self.awcache = Signal(4)
        self.awprot = Signal(3)
        self.wvalid = Signal()
        self.wready = Signal()
        self.wdata = Signal(8 * geometry.word_bytes)
        self.wstrb = Signal(geometry.word_bytes)
        self.wlast = Signal()
        self.bvalid = Signal()
        self.bready = Signal()
        self.bresp = Signal(2)


class WriteBeat:
    """One beat, held until `sent`: `data` under `strobe`. The `first` beat of a burst has the address of `beats` beats."""

    def __init__(self, geometry: Geometry) -> None:
        self.valid = Signal()
        self.word = Signal(ADDRESS_BITS - geometry.log_word_bytes)
        self.beats = Signal(range(geometry.timing.burst_beats + 1))
        self.first = Signal()
        self.last = Signal()
        self.data = Signal(8 * geometry.word_bytes)
        self.strobe = Signal(geometry.word_bytes)
        self.sent = Signal()


class WritePort(Elaboratable):
    """Sends `beat`; a first beat is sent when the slave has taken both address and data, which it may do in any order."""

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self.beat = WriteBeat(geometry)
        self.axi = AxiWrite(geometry)
        self.answered = Signal()
        self.failed = Signal()

    def elaborate(self, platform: object) -> Module:
        """Build the memory of which half of a beat the slave has taken."""
        m = Module()
        g, axi, beat = self._geometry, self.axi, self.beat
        address_done, data_done = Signal(), Signal()
        address_taken, data_taken = Signal(), Signal()
        m.d.comb += [
            axi.awvalid.eq(beat.valid & beat.first & ~address_done),
            axi.awaddr.eq(beat.word << g.log_word_bytes),
            axi.awlen.eq(beat.beats - 1),
            axi.awsize.eq(g.log_word_bytes),
            axi.awburst.eq(_INCREMENTING),
            axi.awcache.eq(_COHERENT),
            axi.awprot.eq(_PLAIN),
            axi.wvalid.eq(beat.valid & ~data_done),
            axi.wdata.eq(beat.data),
            axi.wstrb.eq(beat.strobe),
            axi.wlast.eq(beat.last),
            axi.bready.eq(1),
            address_taken.eq(~beat.first | address_done | axi.awready),
            data_taken.eq(data_done | axi.wready),
            beat.sent.eq(beat.valid & address_taken & data_taken),
            self.answered.eq(axi.bvalid),
            self.failed.eq(axi.bvalid & axi.bresp[1]),
        ]
        m.d.sync += [
            address_done.eq(beat.valid & beat.first & address_taken & ~beat.sent),
            data_done.eq(beat.valid & data_taken & ~beat.sent),
        ]
        return m
