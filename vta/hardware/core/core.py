"""The whole core: units, memories, token queues, memory port and control, wired together."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Elaboratable, Module, Signal

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.control.control import ControlUnit
from vta.hardware.control.counters import PerformanceCounters
from vta.hardware.control.tokens import TokenQueue
from vta.hardware.core.acc_loader import ACC_LOADED
from vta.hardware.core.compute import ComputeUnit
from vta.hardware.core.fetch import FetchUnit
from vta.hardware.core.load import LOADED, LoadUnit
from vta.hardware.core.store import StoreUnit
from vta.hardware.geometry import Geometry
from vta.hardware.identification import identification
from vta.hardware.memories.banks import BankedMemory
from vta.hardware.ports.read_port import ReadPort

__all__ = ["Core"]

_QUEUES = ("load_to_compute", "compute_to_load", "compute_to_store", "store_to_compute")


class Core(Elaboratable):
    """The accelerator of `hw` on the bus of `timing`. `ports` are the signals of its top level, by their Verilog names."""

    def __init__(self, hw: HardwareConfig, timing: TimingParameters) -> None:
        self._geometry = geometry = Geometry(hw, timing)
        self.load = LoadUnit(geometry)
        self.compute = ComputeUnit(geometry)
        self.store = StoreUnit(geometry)
        self.fetch = FetchUnit(geometry, self.load.port, self.compute.port, self.store.port)
        clients = (self.fetch.requests.request, self.compute.loader.requests.request, self.load.requests.request)
        self.reads = ReadPort(geometry, clients)
        self.tokens = {name: TokenQueue(timing.token_limit) for name in _QUEUES}
        states = {
            "fetch": self.fetch.state,
            "load": self.load.port.state,
            "compute": self.compute.port.state,
            "store": self.store.port.state,
        }
        self.counters = PerformanceCounters(geometry, states)
        token_counts = {f"tokens_{name}": queue.count for name, queue in self.tokens.items()}
        built = {name: Const(value, 32) for name, value in identification(hw, timing.bus_bits).items()}
        self.control = ControlUnit({**token_counts, **self.counters.readings, **built})

    @property
    def ports(self) -> dict[str, Signal]:
        """The signals of the AXI4-Lite slave, the AXI4 master and the interrupt."""
        channels = {"s_axil": self.control.slave.bus, "m_axi": self.reads.axi}
        named = {f"{prefix}_{name}": signal for prefix, bus in channels.items() for name, signal in vars(bus).items()}
        named |= {f"m_axi_{name}": signal for name, signal in vars(self.store.writes.axi).items()}
        return {**named, "irq": self.control.interrupt}

    def elaborate(self, platform: object) -> Module:
        """Wire everything."""
        m = Module()
        for name in ("counters", "fetch", "load", "compute", "store"):
            m.submodules[name] = getattr(self, name)
        m.submodules.control_unit = self.control
        m.submodules.read_port = self.reads
        self._connect_memories(m)
        self._connect_reads(m)
        self._connect_tokens(m)
        self._connect_control(m)
        self._count(m)
        return m

    def _connect_memories(self, m: Module) -> None:
        """Build the memories between the units: input and weight from load to compute, output from compute to store."""
        g, writer = self._geometry, self.load.writer
        reads = {MemoryType.INP: self.compute.inp, MemoryType.WGT: self.compute.wgt}
        for kind, memory in enumerate(LOADED):
            banks = BankedMemory(g.elem_bits(memory), g.row_bits(memory), g.lanes(memory), [reads[memory]])
            m.submodules[f"{memory.name.lower()}_memory"] = banks
            with m.If(writer.write & (writer.kind == kind)):
                m.d.comb += banks.write.rows(writer.row, writer.lanes(memory), writer.first_lane, writer.count)
        out = MemoryType.OUT
        m.submodules.out_memory = banks = BankedMemory(g.elem_bits(out), g.row_bits(out), g.lanes(out), [self.store.reader.read])
        m.d.comb += banks.write.row(self.compute.out_write, self.compute.out_row, self.compute.out_data)

    def _connect_reads(self, m: Module) -> None:
        fetch, acc, load = self.fetch, self.compute.loader, self.load
        m.d.comb += [
            Cat(fetch.delivered, acc.delivered, load.delivered).eq(self.reads.delivered),
            *(beat.eq(self.reads.axi.rdata) for beat in (fetch.beat, acc.beat, load.beat)),
        ]

    def _connect_tokens(self, m: Module) -> None:
        load, compute, store = self.load, self.compute, self.store
        ends = {
            "load_to_compute": (load.push_next, compute.pop_prev, compute.prev_ready),
            "compute_to_load": (compute.push_prev, load.pop_next, load.token_ready),
            "compute_to_store": (compute.push_next, store.pop_prev, store.token_ready),
            "store_to_compute": (store.push_prev, compute.pop_next, compute.next_ready),
        }
        for name, queue in self.tokens.items():
            m.submodules[f"tokens_{name}"] = queue
            push, pop, ready = ends[name]
            m.d.comb += [
                queue.push.eq(push),
                queue.pop.eq(pop),
                ready.eq(queue.ready),
                queue.set.eq(self.control.written[f"tokens_{name}"]),
                queue.value.eq(self.control.write_data),
            ]

    def _connect_control(self, m: Module) -> None:
        control, bases = self.control, self.control.bases
        kinds = {memory: f"{memory.name.lower()}_base" for memory in MemoryType} | {MemoryType.ACC_8BIT: "acc_base"}
        for decoder, memories in ((self.load.decoder, LOADED), (self.compute.loader.decoder, ACC_LOADED)):
            for base, memory in zip(decoder.bases, memories, strict=True):
                m.d.comb += base.eq(bases[kinds[memory]])
        units = (self.load.port, self.compute.port, self.store.port)
        m.d.comb += [
            self.store.reader.base.eq(bases["out_base"]),
            self.fetch.start.eq(control.start),
            self.fetch.address.eq(bases["instruction_base"]),
            self.fetch.count.eq(control.instruction_count),
            control.finished.eq(self.compute.finished),
            control.drained.eq(self.fetch.drained & Cat(unit.drained for unit in units).all()),
            control.errors.eq(
                Cat(
                    *(self.tokens[name].overflow for name in _QUEUES),
                    self.compute.bad_opcode,
                    self.compute.bad_memory | self.store.bad_memory,
                    self.reads.failed,
                    self.store.writes.failed,
                )
            ),
        ]

    def _count(self, m: Module) -> None:
        """Feed the counters."""
        counters, compute = self.counters, self.compute
        kind = compute.sequencer.control
        issued = compute.sequencer.valid & kind.writes
        events = {
            "cycles": self.control.counting,
            "acc_writes": compute.acc_written,
            "read_beats": self.reads.axi.rvalid,
            "write_beats": self.store.writes.beat.sent,
            "load_instructions": self.load.port.completed,
            "compute_instructions": compute.port.completed,
            "store_instructions": self.store.port.completed,
            "gemm_uops": issued & kind.gemm & ~kind.reset,
            "reset_uops": issued & kind.gemm & kind.reset,
            "alu_uops": issued & ~kind.gemm,
        }
        m.d.comb += [counters.clear.eq(self.control.clear), counters.counting.eq(self.control.counting)]
        m.d.comb += [counters.events[name].eq(event) for name, event in events.items()]
        for writer, memories in ((self.load.writer, LOADED), (compute.loader.writer, ACC_LOADED)):
            for kind_number, memory in enumerate(memories):
                counted = MemoryType.ACC if memory is MemoryType.ACC_8BIT else memory
                with m.If(writer.kind == kind_number):
                    m.d.comb += counters.elements[counted].eq(writer.loaded)
        m.d.comb += counters.elements[MemoryType.OUT].eq(self.store.stored)
