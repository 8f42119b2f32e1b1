"""The fetch unit: reads the instruction stream ahead and hands each instruction to the queue of its unit."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Elaboratable, Module, Mux, Signal, Value

from vta.config.targets import MemoryType
from vta.hardware.core.unit import UnitPort, UnitState
from vta.hardware.geometry import ADDRESS_BITS, INSTRUCTION_BITS, Geometry, log2
from vta.hardware.memories.queue import Queue
from vta.hardware.ports.bursts import BurstRequests
from vta.isa import INSTRUCTION_BYTES, Opcode

__all__ = ["FetchUnit"]

_STREAM_BITS = 36
"""Bits of the size of a stream in bytes: 2^32 - 1 instructions."""


class InstructionBuffer(Elaboratable):
    """Gathers delivered beats to instructions. `instruction` is there while `valid`, taken with `take`.

    `start` comes with the byte `address` of the stream, `last` with its last instruction; `consumed` counts the beats
    whose last instruction is taken.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self.start = Signal()
        self.address = Signal(ADDRESS_BITS)
        self.delivered = Signal()
        self.beat = Signal(8 * geometry.word_bytes)
        self.instruction = Signal(INSTRUCTION_BITS)
        self.valid = Signal()
        self.last = Signal()
        self.take = Signal()
        self.consumed = Signal(2)

    def elaborate(self, platform: object) -> Module:
        """Build a queue of entries of one instruction or one beat, whichever is larger."""
        m = Module()
        g = self._geometry
        beats, instructions = max(1, INSTRUCTION_BYTES // g.word_bytes), max(1, g.word_bytes // INSTRUCTION_BYTES)
        entry_bits = max(INSTRUCTION_BITS, 8 * g.word_bytes)
        m.submodules.entries = entries = Queue(entry_bits, -(-g.timing.fetch_fifo // beats))
        part, slot = Signal(log2(beats)), Signal(log2(instructions))
        earlier = Signal(entry_bits - len(self.beat))
        slots = Array(entries.head.word_select(index, INSTRUCTION_BITS) for index in range(instructions))
        m.d.comb += [
            entries.push.eq(self.delivered & (part == beats - 1)),
            entries.entry.eq(Cat(earlier, self.beat)),
            entries.pop.eq(self.take & (self.last | (slot == instructions - 1))),
            self.valid.eq(entries.valid),
            self.instruction.eq(slots[slot]),
            self.consumed.eq(Mux(entries.pop, beats, 0)),
        ]
        with m.If(self.delivered):
            m.d.sync += [part.eq(part + 1), earlier.eq(self.beat)]
        with m.If(self.start):
            m.d.sync += slot.eq(self.address >> log2(INSTRUCTION_BYTES))
        with m.Elif(self.take):
            m.d.sync += slot.eq(slot + 1)
        return m


class FetchUnit(Elaboratable):
    """Fetches `count` instructions from byte `address` on, from the cycle with `start` on.

    `units` are the load, compute and store ports, whose queues it holds. `drained` is 1 if all instructions have left them.
    """

    def __init__(self, geometry: Geometry, load: UnitPort, compute: UnitPort, store: UnitPort) -> None:
        self._geometry = geometry
        self._units = {"load": load, "compute": compute, "store": store}
        self.start = Signal()
        self.address = Signal(ADDRESS_BITS)
        self.count = Signal(32)
        self.requests = BurstRequests(geometry, geometry.timing.fetch_fifo, _STREAM_BITS)
        self.delivered = Signal()
        self.beat = Signal(8 * geometry.word_bytes)
        self.drained = Signal()
        self.state = UnitState()

    def elaborate(self, platform: object) -> Module:
        """Build the requests, the buffer, and the dispatch into three queues."""
        m = Module()
        m.submodules.requests = requests = self.requests
        m.submodules.buffer = buffer = InstructionBuffer(self._geometry)
        left, full = Signal(32), Signal()
        dispatch = Signal()
        m.d.comb += [
            requests.start.eq(self.start),
            requests.address.eq(self.address),
            requests.row_bytes.eq(self.count << log2(INSTRUCTION_BYTES)),
            requests.rows.eq(self.count != 0),
            requests.consumed.eq(buffer.consumed),
            buffer.start.eq(self.start),
            buffer.address.eq(self.address),
            buffer.delivered.eq(self.delivered),
            buffer.beat.eq(self.beat),
            buffer.take.eq(dispatch),
            buffer.last.eq(left == 1),
            dispatch.eq((left != 0) & buffer.valid & ~full),
            self.drained.eq(~self.start & (left == 0)),
            self.state.busy.eq(dispatch),
            self.state.memory.eq(self.start | ((left != 0) & ~buffer.valid)),
            self.state.token.eq(left != 0),
        ]
        with m.If(self.start):
            m.d.sync += left.eq(self.count)
        with m.Elif(dispatch):
            m.d.sync += left.eq(left - 1)
        chosen = self._unit_of(buffer.instruction)
        for name, unit in self._units.items():
            m.submodules[f"{name}_queue"] = queue = Queue(INSTRUCTION_BITS, self._geometry.timing.queue_depth)
            m.d.comb += [
                queue.push.eq(dispatch & chosen[name]),
                queue.entry.eq(buffer.instruction),
                queue.pop.eq(unit.accept),
                unit.instruction.eq(queue.head),
                unit.valid.eq(queue.valid),
            ]
            with m.If(chosen[name]):
                m.d.comb += full.eq(queue.full)
        return m

    def _unit_of(self, instruction: Value) -> dict[str, Value]:
        g = self._geometry
        opcode, memory = g.field(Opcode.LOAD, "opcode", instruction), g.field(Opcode.LOAD, "memory_type", instruction)
        load = (opcode == int(Opcode.LOAD)) & ((memory == int(MemoryType.INP)) | (memory == int(MemoryType.WGT)))
        store = opcode == int(Opcode.STORE)
        return {"load": load, "compute": ~load & ~store, "store": store}
