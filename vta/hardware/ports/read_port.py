"""The read side of the memory port: clients by priority, and the AXI4 address and data channels."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, Signature

from vta.hardware.checks import check_range
from vta.hardware.geometry import Geometry
from vta.hardware.ports.axi import COHERENT, INCREMENTING, PLAIN, AxiRead
from vta.hardware.ports.bursts import burst_layout

__all__ = ["ReadClient", "ReadPort"]

_ID_BITS = 2


class ReadClient(Signature):
    """Requests `bursts` and gets their `beats`, for which it always has room: it requests only what it has room for."""

    def __init__(self, geometry: Geometry) -> None:
        super().__init__(
            {
                "bursts": Out(stream.Signature(burst_layout(geometry))),
                "beats": In(stream.Signature(geometry.word_bits, always_ready=True)),
            }
        )


class ReadPort(Component):
    """Grants the first burst that is valid among those of `clients`, in each cycle. The AXI id of a burst is its client's place.

    `failed` tells of an error response.
    """

    def __init__(self, geometry: Geometry, *, clients: int) -> None:
        check_range("clients of a read port", clients, 1, 1 << _ID_BITS)
        self._geometry = geometry
        super().__init__({"clients": In(ReadClient(geometry)).array(clients), "axi": Out(AxiRead(geometry)), "failed": Out(1)})

    def elaborate(self, platform: object) -> Module:
        """Build the choice, which holds while the slave has not taken the address, and the routing by id."""
        m = Module()
        g, axi = self._geometry, self.axi
        chosen, held, waiting = Signal(_ID_BITS), Signal(_ID_BITS), Signal()
        m.d.comb += [
            axi.arsize.eq(g.log_word_bytes),
            axi.arburst.eq(INCREMENTING),
            axi.arcache.eq(COHERENT),
            axi.arprot.eq(PLAIN),
            axi.arid.eq(chosen),
            axi.rready.eq(1),
            self.failed.eq(axi.rvalid & axi.rresp[1]),
        ]
        with m.If(waiting):
            m.d.comb += chosen.eq(held)
        for index, client in reversed(list(enumerate(self.clients))):
            with m.If(~waiting & client.bursts.valid):
                m.d.comb += chosen.eq(index)
        m.d.sync += [held.eq(chosen), waiting.eq(axi.arvalid & ~axi.arready)]
        with m.Switch(chosen):
            for index, client in enumerate(self.clients):
                burst = client.bursts.payload
                with m.Case(index):
                    m.d.comb += [
                        axi.arvalid.eq(client.bursts.valid),
                        axi.araddr.eq(burst.word << g.log_word_bytes),
                        axi.arlen.eq(burst.beats - 1),
                        client.bursts.ready.eq(axi.arready),
                    ]
        for index, client in enumerate(self.clients):
            m.d.comb += [client.beats.valid.eq(axi.rvalid & (axi.rid == index)), client.beats.payload.eq(axi.rdata)]
        return m
