"""The hardware that stands around a system in simulation: its bytes are registers, so that the harness of the core drives it."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Component, In, Out, Signature, connect, flipped

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.emit import TOP_MODULE, verilog_of
from vta.hardware.geometry import Geometry
from vta.hardware.ports.axi import AxiRead, AxiWrite
from vta.hardware.ports.axil import AxiLite
from vta.hardware.system.address_map import MemoryKind
from vta.hardware.system.door_register import BYTE_VALID
from vta.hardware.system.parameters import SystemParameters
from vta.hardware.system.system import System
from vta.hardware.system.wishbone import Wishbone

__all__ = ["SystemDoor", "door_verilog"]


class SystemDoor(Component):
    """A write puts a byte into the system's link, and waits until it is taken; a read takes one. `irq`: one waits.

    With DRAM it has the ports `controller` and `memory_ready`, too.
    """

    def __init__(self, hw: HardwareConfig, timing: TimingParameters, parameters: SystemParameters) -> None:
        geometry = Geometry(hw, timing)
        self._system = System(hw, timing, parameters)
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
        """Join the bytes with the registers."""
        m = Module()
        m.submodules.system = system = self._system
        connect(m, system.read, flipped(self.m_axi.read))
        connect(m, system.write, flipped(self.m_axi.write))
        if self._outside:
            connect(m, system.wishbone, flipped(self.controller))
            m.d.comb += system.memory_ready.eq(self.memory_ready)
        else:
            m.d.comb += system.memory_ready.eq(1)
        bus, received, sent = self.s_axil, system.received, system.sent
        writes = bus.awvalid & bus.wvalid & ~bus.bvalid
        m.d.comb += [
            received.valid.eq(writes),
            received.payload.eq(bus.wdata),
            bus.awready.eq(received.ready & writes),
            bus.wready.eq(received.ready & writes),
            bus.arready.eq(~bus.rvalid),
            sent.ready.eq(bus.arvalid & bus.arready),
            self.irq.eq(sent.valid),
        ]
        with m.If(writes & received.ready):
            m.d.sync += bus.bvalid.eq(1)
        with m.Elif(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [bus.rvalid.eq(1), bus.rdata.eq(sent.payload | sent.valid << BYTE_VALID.bit_length() - 1)]
        with m.Elif(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        return m


def door_verilog(hw: HardwareConfig, timing: TimingParameters, parameters: SystemParameters, name: str = TOP_MODULE) -> str:
    """The system and what stands around it as the module `name`, with the ports of the core."""
    door = SystemDoor(hw, timing, parameters)
    return verilog_of(door, name, door.ports)
