"""The channels of an AXI4 master: whole words, incrementing bursts."""

from __future__ import annotations

from amaranth.lib.wiring import In, Out, Signature

from vta.hardware.geometry import ADDRESS_BITS, Geometry

__all__ = ["COHERENT", "INCREMENTING", "PLAIN", "AxiRead", "AxiWrite"]

INCREMENTING = 1
"""AxBURST."""
COHERENT = 0b1111
"""AxCACHE: written back, allocated on reads and on writes."""
PLAIN = 0
"""AxPROT."""


class AxiRead(Signature):
    """The AR and R channels."""

    def __init__(self, geometry: Geometry) -> None:
        super().__init__(
            {
                "arvalid": Out(1),
                "arready": In(1),
                "araddr": Out(ADDRESS_BITS),
                "arlen": Out(8),
                "arsize": Out(3),
                "arburst": Out(2),
                "arid": Out(2),
                "arcache": Out(4),
                "arprot": Out(3),
                "rvalid": In(1),
                "rready": Out(1),
                "rdata": In(geometry.word_bits),
                "rlast": In(1),
                "rid": In(2),
                "rresp": In(2),
            }
        )


class AxiWrite(Signature):
    """The AW, W and B channels."""

    def __init__(self, geometry: Geometry) -> None:
        super().__init__(
            {
                "awvalid": Out(1),
                "awready": In(1),
                "awaddr": Out(ADDRESS_BITS),
                "awlen": Out(8),
                "awsize": Out(3),
                "awburst": Out(2),
                "awcache": Out(4),
                "awprot": Out(3),
                "wvalid": Out(1),
                "wready": In(1),
                "wdata": Out(geometry.word_bits),
                "wstrb": Out(geometry.word_bytes),
                "wlast": Out(1),
                "bvalid": In(1),
                "bready": Out(1),
                "bresp": In(2),
            }
        )
