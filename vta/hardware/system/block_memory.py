"""Block memories of the FPGA as the memory behind the port: a system without DRAM."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In

from vta.hardware.checks import check_power_of_two
from vta.hardware.geometry import Geometry, log2
from vta.hardware.ports.axi import AxiRead, AxiWrite

__all__ = ["BlockMemory"]


class BlockMemory(Component):
    """`nbytes` of memory that serve a burst at a time each way. Addresses beyond it wrap."""

    def __init__(self, geometry: Geometry, *, nbytes: int) -> None:
        check_power_of_two("bytes of memory", nbytes)
        self._geometry = geometry
        self._words = nbytes // geometry.word_bytes
        super().__init__({"read": In(AxiRead(geometry)), "write": In(AxiWrite(geometry))})

    def elaborate(self, platform: object) -> Module:
        """Build the memory and a counter of words for each way."""
        m = Module()
        m.submodules.memory = memory = Memory(shape=self._geometry.word_bits, depth=self._words, init=[])
        self._read(m, memory)
        self._write(m, memory)
        return m

    def _word(self) -> Signal:
        return Signal(range(self._words))

    def _read(self, m: Module, memory: Memory) -> None:
        axi, port = self.read, memory.read_port()
        word, left, answer, moves = self._word(), Signal(9), Signal(), Signal()
        m.d.comb += [
            moves.eq(~answer | axi.rready),
            axi.arready.eq((left == 0) & moves),
            axi.rvalid.eq(answer),
            axi.rdata.eq(port.data),
            axi.rresp.eq(0),
            port.addr.eq(word),
            port.en.eq(moves),
        ]
        with m.If(axi.arvalid & axi.arready):
            m.d.sync += [word.eq(axi.araddr >> log2(self._geometry.word_bytes)), left.eq(axi.arlen + 1), axi.rid.eq(axi.arid)]
        with m.If(moves):
            m.d.sync += [answer.eq(left != 0), axi.rlast.eq(left == 1)]
            with m.If(left != 0):
                m.d.sync += [word.eq(word + 1), left.eq(left - 1)]

    def _write(self, m: Module, memory: Memory) -> None:
        axi, port = self.write, memory.write_port(granularity=8)
        word, going_on = self._word(), Signal()
        m.d.comb += [
            axi.awready.eq(~going_on & ~axi.bvalid),
            axi.wready.eq(going_on),
            axi.bresp.eq(0),
            port.addr.eq(word),
            port.data.eq(axi.wdata),
        ]
        with m.If(axi.wvalid & axi.wready):
            m.d.comb += port.en.eq(axi.wstrb)
            m.d.sync += word.eq(word + 1)
        with m.If(axi.awvalid & axi.awready):
            m.d.sync += [word.eq(axi.awaddr >> log2(self._geometry.word_bytes)), going_on.eq(1)]
        with m.If(axi.wvalid & axi.wready & axi.wlast):
            m.d.sync += [going_on.eq(0), axi.bvalid.eq(1)]
        with m.Elif(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
