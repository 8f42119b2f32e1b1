"""The write side of the memory port: sends the beats of the store unit with their addresses."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.geometry import ADDRESS_BITS, Geometry
from vta.hardware.ports.axi import COHERENT, INCREMENTING, PLAIN, AxiWrite

__all__ = ["WritePort", "beat_layout", "frame_layout"]


def frame_layout(geometry: Geometry) -> StructLayout:
    """Return the layout of what a beat has besides data: the bytes that count, and its place in its burst.

    The `first` beat of a burst has the address of `beats` beats: they begin at the bus word `word`.
    """
    return StructLayout(
        {
            "word": ADDRESS_BITS - geometry.log_word_bytes,
            "beats": range(geometry.timing.burst_beats + 1),
            "first": 1,
            "last": 1,
            "strobe": geometry.word_bytes,
        }
    )


def beat_layout(geometry: Geometry) -> StructLayout:
    """Return the layout of a beat to write."""
    return StructLayout({"frame": frame_layout(geometry), "data": geometry.word_bits})


class WritePort(Component):
    """Sends `beats`; a first beat is sent when the slave has taken both address and data, which it may do in any order.

    `answered` is 1 as a burst is answered, `failed` if with an error.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        super().__init__(
            {
                "beats": In(stream.Signature(beat_layout(geometry))),
                "axi": Out(AxiWrite(geometry)),
                "answered": Out(1),
                "failed": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the memory of which half of a beat the slave has taken."""
        m = Module()
        g, axi, valid, frame = self._geometry, self.axi, self.beats.valid, self.beats.payload.frame
        address_done, data_done = Signal(), Signal()
        address_taken, data_taken, sent = Signal(), Signal(), Signal()
        m.d.comb += [
            axi.awvalid.eq(valid & frame.first & ~address_done),
            axi.awaddr.eq(frame.word << g.log_word_bytes),
            axi.awlen.eq(frame.beats - 1),
            axi.awsize.eq(g.log_word_bytes),
            axi.awburst.eq(INCREMENTING),
            axi.awcache.eq(COHERENT),
            axi.awprot.eq(PLAIN),
            axi.wvalid.eq(valid & ~data_done),
            axi.wdata.eq(self.beats.payload.data),
            axi.wstrb.eq(frame.strobe),
            axi.wlast.eq(frame.last),
            axi.bready.eq(1),
            address_taken.eq(~frame.first | address_done | axi.awready),
            data_taken.eq(data_done | axi.wready),
            self.beats.ready.eq(address_taken & data_taken),
            sent.eq(valid & self.beats.ready),
            self.answered.eq(axi.bvalid),
            self.failed.eq(axi.bvalid & axi.bresp[1]),
        ]
        m.d.sync += [
            address_done.eq(valid & frame.first & address_taken & ~sent),
            data_done.eq(valid & data_taken & ~sent),
        ]
        return m
