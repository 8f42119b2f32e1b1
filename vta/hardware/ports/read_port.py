"""The read side of the memory port: three clients by priority, and the AXI4 address and data channels."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Elaboratable, Module, Signal

from vta.hardware.geometry import ADDRESS_BITS, Geometry
from vta.hardware.ports.bursts import ReadRequest

__all__ = ["AxiRead", "ReadPort"]

_INCREMENTING = 1
_COHERENT = 0b1111
_PLAIN = 0


class AxiRead:
    """The AR and R channels of an AXI4 master."""

    def __init__(self, geometry: Geometry) -> None:
        self.arvalid = Signal()
        self.arready = Signal()
        self.araddr = Signal(ADDRESS_BITS)
        self.arlen = Signal(8)
        self.arsize = Signal(3)
        self.arburst = Signal(2)
        self.arid = Signal(2)
        self.arcache = Signal(4)
        self.arprot = Signal(3)
        self.rvalid = Signal()
        self.rready = Signal()
        self.rdata = Signal(8 * geometry.word_bytes)
        self.rlast = Signal()
        self.rid = Signal(2)
        self.rresp = Signal(2)


class ReadPort(Elaboratable):
    """Grants the first valid request of `clients` in each cycle. The AXI id of a burst is its client's place in the list.

    `delivered[i]` is 1 in a cycle in which `axi.rdata` is a beat for client i: there is always room for it,
    because clients request only what they have room for. `failed` tells of an error response.
    """

    def __init__(self, geometry: Geometry, clients: Sequence[ReadRequest]) -> None:
        self._geometry = geometry
        self._clients = tuple(clients)
        self.axi = AxiRead(geometry)
        self.delivered = Signal(len(self._clients))
        self.failed = Signal()

    def elaborate(self, platform: object) -> Module:
        """Build the choice, which holds while the slave has not taken the address, and the routing by id."""
        m = Module()
        g, axi = self._geometry, self.axi
        chosen, held, waiting = Signal(2), Signal(2), Signal()
        m.d.comb += [
            axi.arsize.eq(g.log_word_bytes),
            axi.arburst.eq(_INCREMENTING),
            axi.arcache.eq(_COHERENT),
            axi.arprot.eq(_PLAIN),
            axi.arid.eq(chosen),
            axi.rready.eq(1),
            self.failed.eq(axi.rvalid & axi.rresp[1]),
        ]
        with m.If(waiting):
            m.d.comb += chosen.eq(held)
        for index, client in reversed(list(enumerate(self._clients))):
            with m.If(~waiting & client.valid):
                m.d.comb += chosen.eq(index)
        m.d.sync += [held.eq(chosen), waiting.eq(axi.arvalid & ~axi.arready)]
        with m.Switch(chosen):
            for index, client in enumerate(self._clients):
                with m.Case(index):
                    m.d.comb += [
                        axi.arvalid.eq(client.valid),
                        axi.araddr.eq(client.word << g.log_word_bytes),
                        axi.arlen.eq(client.beats - 1),
                        client.grant.eq(client.valid & axi.arready),
                    ]
        for index in range(len(self._clients)):
            m.d.comb += self.delivered[index].eq(axi.rvalid & (axi.rid == index))
        return m
