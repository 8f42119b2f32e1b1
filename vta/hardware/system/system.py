"""The core with the host's link: what lies between a stream of bytes and a memory port."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, PureInterface, connect, flipped

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.core.core import Core
from vta.hardware.geometry import Geometry
from vta.hardware.ports.axi import AxiRead, AxiWrite
from vta.hardware.system.address_map import (
    CONTROLLER_BASE,
    CORE_BASE,
    INFORMATION_BASE,
    NOBODY,
    REGION_BITS,
    SYSTEM_IDENTITY,
    Information,
    MemoryKind,
)
from vta.hardware.system.bridge import Bridge
from vta.hardware.system.bus_arbiter import BusArbiter
from vta.hardware.system.information import InformationRegisters
from vta.hardware.system.ordered_port import OrderedPort
from vta.hardware.system.parameters import SystemParameters
from vta.hardware.system.registers_port import RegistersPort
from vta.hardware.system.shared_memory import SharedMemory
from vta.hardware.system.wishbone import Wishbone, WishbonePort
from vta.hardware.system.word_bus import WordBus

__all__ = ["System"]


class System(Component):
    """The core of `hw` on the bus of `timing`, its registers and the memory reached by commands in `received`.

    `read` and `write` go to the memory, `wishbone` to the controller's registers; `network` is a second way in. Until
    `memory_ready` the host's transfers do not go to the memory.
    """

    def __init__(self, hw: HardwareConfig, timing: TimingParameters, parameters: SystemParameters) -> None:
        geometry = Geometry(hw, timing)
        self._parameters = parameters
        self._core = Core(hw, timing)
        self._bridge = Bridge(patience=parameters.patience_cycles)
        self._registers = RegistersPort()
        self._memory = SharedMemory(geometry)
        self._controller = WishbonePort()
        self._information = InformationRegisters(
            {
                Information.IDENTITY: SYSTEM_IDENTITY,
                Information.CLOCK_HZ: parameters.clock_hz,
                Information.MEMORY_BYTES: parameters.memory_bytes,
                Information.MEMORY_KIND: int(parameters.memory_kind),
            }
        )
        ports = {
            "received": In(stream.Signature(8)),
            "sent": Out(stream.Signature(8)),
            "read": Out(AxiRead(geometry)),
            "write": Out(AxiWrite(geometry)),
            "wishbone": Out(Wishbone()),
            "memory_ready": In(1),
        }
        super().__init__(ports | ({"network": In(Wishbone())} if parameters.network else {}))

    def elaborate(self, platform: object) -> Module:
        """Wire everything."""
        m = Module()
        for name in ("core", "bridge", "registers", "memory", "controller", "information"):
            m.submodules[name] = getattr(self, f"_{name}")
        connect(m, flipped(self.received), self._bridge.received)
        connect(m, self._bridge.sent, flipped(self.sent))
        connect(m, self._core.m_axi.read, self._memory.core_read)
        connect(m, self._core.m_axi.write, self._memory.core_write)
        connect(m, self._memory.read, flipped(self.read))
        connect(m, self._memory.write, flipped(self.write))
        connect(m, self._registers.axil, self._core.s_axil)
        connect(m, self._controller.wishbone, flipped(self.wishbone))
        m.d.comb += self._information.memory_ready.eq(self.memory_ready)
        self._decode(m, self._masters(m))
        return m

    def _masters(self, m: Module) -> PureInterface:
        """The bus of all who may ask for something."""
        if not self._parameters.network:
            return self._bridge.bus
        m.submodules.network = network = OrderedPort()
        m.submodules.arbiter = arbiter = BusArbiter()
        connect(m, flipped(self.network), network.wishbone)
        connect(m, self._bridge.bus, arbiter.first)
        connect(m, network.bus, arbiter.second)
        return arbiter.bus

    def _decode(self, m: Module, bus: PureInterface) -> None:
        """Give each transfer to the one whose address it has; one that is nobody's ends at once."""
        memory = self._memory.bus
        regions = {CORE_BASE: self._registers.bus, INFORMATION_BASE: self._information.bus}
        if self._parameters.memory_kind is MemoryKind.DRAM:
            regions[CONTROLLER_BASE] = self._controller.bus
        for target in (self._registers.bus, self._information.bus, self._controller.bus, memory):
            m.d.comb += [target.write.eq(bus.write), target.address.eq(bus.address), target.data.eq(bus.data)]
        m.d.comb += [bus.done.eq(bus.valid), bus.result.eq(NOBODY)]

        def give(target: WordBus) -> None:
            m.d.comb += [target.valid.eq(bus.valid), bus.done.eq(target.done), bus.result.eq(target.result)]

        in_memory = Signal()
        m.d.comb += in_memory.eq((bus.address < self._parameters.memory_bytes) & self.memory_ready)
        with m.If(in_memory):
            give(memory)
        for base, target in regions.items():
            with m.If(bus.address[REGION_BITS:] == base >> REGION_BITS):
                give(target)
