"""The whole core: units, memories, token queues, memory port and control, wired together."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import Component, In, Out, Signature, connect, flipped

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.control.control import ControlUnit
from vta.hardware.control.counters import PerformanceCounters
from vta.hardware.control.tokens import TokenQueue
from vta.hardware.core.compute import ComputeUnit
from vta.hardware.core.fetch import FetchUnit
from vta.hardware.core.load import LoadUnit
from vta.hardware.core.store import StoreUnit
from vta.hardware.fabric import PLAIN, Fabric
from vta.hardware.geometry import Geometry, buffer_name
from vta.hardware.identification import identification
from vta.hardware.memories.buffers import buffer_of
from vta.hardware.ports.axi import AxiRead, AxiWrite
from vta.hardware.ports.axil import AxiLite
from vta.hardware.ports.read_port import ReadPort
from vta.hardware.registers import QUEUES

__all__ = ["Core"]


class Core(Component):
    """The accelerator of `hw` on the bus of `timing`: an AXI4-Lite slave, an AXI4 master in two halves, and an interrupt."""

    def __init__(self, hw: HardwareConfig, timing: TimingParameters, fabric: Fabric = PLAIN) -> None:
        self._geometry = geometry = Geometry(hw, timing, fabric)
        self._fetch = FetchUnit(geometry)
        self._load = LoadUnit(geometry)
        self._compute = ComputeUnit(geometry)
        self._store = StoreUnit(geometry)
        self._reads = ReadPort(geometry, clients=3)
        self._tokens = {queue: TokenQueue(limit=timing.token_limit) for queue in QUEUES}
        self._counters = PerformanceCounters(geometry)
        self._control = ControlUnit(token_limit=timing.token_limit, constants=identification(hw, timing.bus_bits))
        master = Signature({"read": Out(AxiRead(geometry)), "write": Out(AxiWrite(geometry))})
        super().__init__({"s_axil": In(AxiLite()), "m_axi": Out(master), "irq": Out(1)})

    @property
    def ports(self) -> dict[str, Signal]:
        """The signals of the interfaces by their Verilog names: that of the interface, and that of the signal."""
        return {"_".join((path[0], *path[1:][-1:])): port for path, _, port in self.signature.flatten(self)}

    def elaborate(self, platform: object) -> Module:
        """Wire everything."""
        m = Module()
        for name in ("counters", "fetch", "load", "compute", "store"):
            m.submodules[name] = getattr(self, f"_{name}")
        m.submodules.control_unit = self._control
        m.submodules.read_port = self._reads
        self._connect_ports(m)
        self._connect_memories(m)
        self._connect_instructions(m)
        self._connect_tokens(m)
        self._connect_control(m)
        self._count(m)
        return m

    def _connect_ports(self, m: Module) -> None:
        """Earlier clients of the read port go first."""
        for client, reads in zip(self._reads.clients, (self._fetch.reads, self._compute.reads, self._load.reads), strict=True):
            connect(m, reads, client)
        connect(m, self._reads.axi, flipped(self.m_axi.read))
        connect(m, self._store.axi, flipped(self.m_axi.write))
        connect(m, flipped(self.s_axil), self._control.bus)
        m.d.comb += self.irq.eq(self._control.interrupt)

    def _connect_memories(self, m: Module) -> None:
        """Build the memories between the units: input and weight from load to compute, output from compute to store."""
        for memory in (MemoryType.INP, MemoryType.WGT):
            name = buffer_name(memory)
            windows = int(memory is MemoryType.INP and self._geometry.hw.depthwise_unit)
            m.submodules[f"{name}_memory"] = banks = buffer_of(self._geometry, memory, rows=1 - windows, windows=windows)
            connect(m, getattr(self._load, name), banks.writes)
            connect(m, getattr(self._compute, name), (banks.windows if windows else banks.rows)[0])
        m.submodules.out_memory = banks = buffer_of(self._geometry, MemoryType.OUT, windows=1, forwards=True)
        connect(m, self._compute.out, banks.writes)
        connect(m, self._store.window, banks.windows[0])

    def _connect_instructions(self, m: Module) -> None:
        for name in ("load", "compute", "store"):
            connect(m, getattr(self._fetch, name), getattr(self, f"_{name}").instructions)

    def _connect_tokens(self, m: Module) -> None:
        load, compute, store = self._load, self._compute, self._store
        ends = {
            "load_to_compute": (load.to_compute, compute.from_load),
            "compute_to_load": (compute.to_load, load.from_compute),
            "compute_to_store": (compute.to_store, store.from_compute),
            "store_to_compute": (store.to_compute, compute.from_store),
        }
        for name, queue in self._tokens.items():
            m.submodules[f"tokens_{name}"] = queue
            giver, taker = ends[name]
            connect(m, giver, queue.given)
            connect(m, queue.taken, taker)
            connect(m, queue.register, getattr(self._control.tokens, name))

    def _connect_control(self, m: Module) -> None:
        control, fetch, load, compute, store = self._control, self._fetch, self._load, self._compute, self._store
        connect(m, control.bases, load.bases, compute.bases, store.bases)
        connect(m, self._counters.counts, control.counts)
        drained = (fetch.drained, load.status.drained, compute.status.drained, store.status.drained)
        m.d.comb += [
            fetch.start.eq(control.start),
            fetch.address.eq(control.bases.instruction),
            fetch.count.eq(control.instruction_count),
            control.finished.eq(compute.finished),
            control.drained.eq(Cat(drained).all()),
            *(control.errors[f"{name}_overflow"].eq(queue.overflow) for name, queue in self._tokens.items()),
            control.errors.unknown_opcode.eq(compute.bad_opcode),
            control.errors.unknown_memory_type.eq(compute.bad_memory | store.bad_memory),
            control.errors.read_failed.eq(self._reads.failed),
            control.errors.write_failed.eq(store.failed),
        ]

    def _count(self, m: Module) -> None:
        """Feed the counters."""
        counters, compute, counted = self._counters, self._compute, self._counters.events
        m.d.comb += [
            counters.clear.eq(self._control.clear),
            counters.counting.eq(self._control.counting),
            counters.states.fetch.eq(self._fetch.state),
            counted.cycles.eq(self._control.counting),
            counted.read_beats.eq(self._reads.axi.rvalid),
            counted.write_beats.eq(self._store.sent),
            *(getattr(counted, name).eq(getattr(compute.events, name)) for name in compute.events.signature.members),
        ]
        for name in ("load", "compute", "store"):
            unit = getattr(self, f"_{name}")
            m.d.comb += [
                getattr(counters.states, name).eq(unit.status.state),
                getattr(counted, f"{name}_instructions").eq(unit.status.completed),
                *(getattr(counters.moved, memory).eq(getattr(unit.moved, memory)) for memory in unit.moved.signature.members),
            ]
