"""The system with a serial line, and with block memories where there is no DRAM: what the top module of a board holds."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.emit import verilog_of
from vta.hardware.geometry import Geometry
from vta.hardware.ports.axi import AxiRead, AxiWrite
from vta.hardware.system.address_map import MemoryKind
from vta.hardware.system.block_memory import BlockMemory
from vta.hardware.system.parameters import SystemParameters
from vta.hardware.system.slices import AxiSlices
from vta.hardware.system.system import System
from vta.hardware.system.uart import UartReceiver, UartTransmitter
from vta.hardware.system.wishbone import Wishbone

__all__ = ["SYSTEM_MODULE", "BoardSystem", "system_verilog"]

SYSTEM_MODULE = "vta_system"


class BoardSystem(Component):
    """The system of `hw` behind a serial line of `baud` bits a second.

    With DRAM it has the ports `memory_read`, `memory_write`, `controller` and `memory_ready`, with a network `network`.
    """

    def __init__(self, hw: HardwareConfig, timing: TimingParameters, parameters: SystemParameters, *, baud: int) -> None:
        self._geometry = geometry = Geometry(hw, timing)
        self._parameters = parameters
        divisor = round(parameters.clock_hz / baud)
        self._receiver, self._transmitter = UartReceiver(divisor=divisor), UartTransmitter(divisor=divisor)
        self._system = System(hw, timing, parameters)
        ports = {"serial_received": In(1, init=1), "serial_sent": Out(1, init=1)}
        if self._outside:
            ports |= {
                "memory_read": Out(AxiRead(geometry)),
                "memory_write": Out(AxiWrite(geometry)),
                "controller": Out(Wishbone()),
                "memory_ready": In(1),
            }
        if parameters.network:
            ports["network"] = In(Wishbone())
        super().__init__(ports)

    @property
    def _outside(self) -> bool:
        return self._parameters.memory_kind is MemoryKind.DRAM

    @property
    def ports(self) -> dict[str, Signal]:
        """The signals by their Verilog names."""
        return {"_".join(map(str, path)): port for path, _, port in self.signature.flatten(self)}

    def elaborate(self, platform: object) -> Module:
        """Wire everything."""
        m = Module()
        m.submodules.receiver = receiver = self._receiver
        m.submodules.transmitter = transmitter = self._transmitter
        m.submodules.system = system = self._system
        connect(m, receiver.bytes, system.received)
        connect(m, system.sent, transmitter.bytes)
        if self._parameters.network:
            connect(m, flipped(self.network), system.network)
        m.d.comb += [receiver.line.eq(self.serial_received), self.serial_sent.eq(transmitter.line)]
        if self._outside:
            m.submodules.slices = slices = AxiSlices(self._geometry)
            connect(m, system.read, slices.core_read)
            connect(m, system.write, slices.core_write)
            connect(m, slices.read, flipped(self.memory_read))
            connect(m, slices.write, flipped(self.memory_write))
            connect(m, system.wishbone, flipped(self.controller))
            m.d.comb += system.memory_ready.eq(self.memory_ready)
            return m
        m.submodules.memory = memory = BlockMemory(self._geometry, nbytes=self._parameters.memory_bytes)
        connect(m, system.read, memory.read)
        connect(m, system.write, memory.write)
        m.d.comb += system.memory_ready.eq(1)
        return m


def system_verilog(hw: HardwareConfig, timing: TimingParameters, parameters: SystemParameters, *, baud: int) -> str:
    """The system as Verilog, with the top module `vta_system` and its `clk` and `rst`."""
    system = BoardSystem(hw, timing, parameters, baud=baud)
    return verilog_of(system, SYSTEM_MODULE, system.ports)
