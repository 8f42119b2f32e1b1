"""The hardware that stands around a system in simulation: its links are registers, so that the harness of the core drives it."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import Component, In, Out, Signature, connect, flipped

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.emit import TOP_MODULE, verilog_of
from vta.hardware.geometry import Geometry
from vta.hardware.ports.axi import AxiRead, AxiWrite
from vta.hardware.ports.axil import AxiLite
from vta.hardware.system.address_map import MemoryKind
from vta.hardware.system.door_register import BYTE_VALID, LAST_WORD, PORT_SHIFT, WORD_VALID, Door
from vta.hardware.system.packet_door import PacketDoor
from vta.hardware.system.parameters import SystemParameters
from vta.hardware.system.system import System
from vta.hardware.system.wishbone import Wishbone

__all__ = ["SystemDoor", "door_verilog"]


class SystemDoor(Component):
    """The links of a system as the registers of `Door`. `irq`: something waits to be read.

    With DRAM it has the ports `controller` and `memory_ready`, too.
    """

    def __init__(self, hw: HardwareConfig, timing: TimingParameters, parameters: SystemParameters) -> None:
        geometry = Geometry(hw, timing)
        self._system = System(hw, timing, parameters)
        self._packets = PacketDoor() if parameters.network else None
        master = Signature({"read": Out(AxiRead(geometry)), "write": Out(AxiWrite(geometry))})
        self._outside = parameters.memory_kind is MemoryKind.DRAM
        ports = {"s_axil": In(AxiLite()), "m_axi": Out(master), "irq": Out(1)}
        if self._outside:
            ports |= {"controller": Out(Wishbone()), "memory_ready": In(1)}
        super().__init__(ports)

    @property
    def ports(self) -> dict[str, Signal]:
        """The signals by the names that the core gives them."""
        return {"_".join((path[0], *path[1:][-1:])): port for path, _, port in self.signature.flatten(self)}

    def elaborate(self, platform: object) -> Module:
        """Join the links with the registers."""
        m = Module()
        m.submodules.system = system = self._system
        connect(m, system.read, flipped(self.m_axi.read))
        connect(m, system.write, flipped(self.m_axi.write))
        if self._outside:
            connect(m, system.wishbone, flipped(self.controller))
            m.d.comb += system.memory_ready.eq(self.memory_ready)
        else:
            m.d.comb += system.memory_ready.eq(1)
        bus = self.s_axil
        taken, writes, reads, answer = Signal(), Signal(), Signal(), Signal(32)
        m.d.comb += [
            writes.eq(bus.awvalid & bus.wvalid & ~bus.bvalid),
            bus.awready.eq(taken & writes),
            bus.wready.eq(taken & writes),
            bus.arready.eq(~bus.rvalid),
            reads.eq(bus.arvalid & bus.arready),
        ]
        self._bytes(m, writes, reads, taken, answer)
        if self._packets is not None:
            self._words(m, self._packets, writes, reads, taken, answer)
        with m.If(writes & taken):
            m.d.sync += bus.bvalid.eq(1)
        with m.Elif(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(reads):
            m.d.sync += [bus.rvalid.eq(1), bus.rdata.eq(answer)]
        with m.Elif(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        return m

    def _bytes(self, m: Module, writes: Value, reads: Value, taken: Value, answer: Value) -> None:
        """The serial line's register."""
        bus, received, sent = self.s_axil, self._system.received, self._system.sent
        m.d.comb += [received.payload.eq(bus.wdata), self.irq.eq(sent.valid)]
        with m.If(bus.awaddr == int(Door.BYTE)):
            m.d.comb += [received.valid.eq(writes), taken.eq(received.ready)]
        with m.If(bus.araddr == int(Door.BYTE)):
            m.d.comb += [sent.ready.eq(reads), answer.eq(sent.payload | sent.valid << BYTE_VALID.bit_length() - 1)]

    def _words(self, m: Module, packets: PacketDoor, writes: Value, reads: Value, taken: Value, answer: Value) -> None:
        """The network's registers."""
        m.submodules.packets = packets
        connect(m, packets.wishbone, self._system.network)
        bus, received, sent = self.s_axil, packets.received, packets.sent
        last = Signal()
        state = sent.valid << WORD_VALID.bit_length() - 1 | sent.payload.last << LAST_WORD.bit_length() - 1
        m.d.comb += [
            last.eq(bus.awaddr == int(Door.LAST)),
            received.payload.data.eq(bus.wdata),
            received.payload.last.eq(last),
            self.irq.eq(self._system.sent.valid | sent.valid),
        ]
        with m.If((bus.awaddr == int(Door.WORD)) | last):
            m.d.comb += [received.valid.eq(writes), taken.eq(received.ready)]
        with m.If(bus.awaddr == int(Door.SENDER)):
            m.d.comb += taken.eq(1)
            with m.If(writes):
                m.d.sync += [packets.length.eq(bus.wdata), packets.port.eq(bus.wdata >> PORT_SHIFT)]
        with m.If(bus.araddr == int(Door.WORD)):
            m.d.comb += answer.eq(state | packets.to_port << PORT_SHIFT)
        with m.If(bus.araddr == int(Door.LAST)):
            m.d.comb += [sent.ready.eq(reads), answer.eq(sent.payload.data)]


def door_verilog(hw: HardwareConfig, timing: TimingParameters, parameters: SystemParameters, name: str = TOP_MODULE) -> str:
    """The system and what stands around it as the module `name`, with the ports of the core."""
    door = SystemDoor(hw, timing, parameters)
    return verilog_of(door, name, door.ports)
