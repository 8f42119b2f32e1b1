"""Makes instructions of the beats of the stream."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.geometry import ADDRESS_BITS, INSTRUCTION_BITS, Geometry, log2
from vta.hardware.memories.queue import Queue
from vta.isa import INSTRUCTION_BYTES

__all__ = ["InstructionBuffer"]


class InstructionBuffer(Component):
    """Gathers `beats` to `instructions`.

    `start` comes with the byte `address` of the stream, `last` with its last instruction; `consumed` counts the beats
    whose last instruction is taken.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        super().__init__(
            {
                "start": In(1),
                "address": In(ADDRESS_BITS),
                "beats": In(stream.Signature(geometry.word_bits, always_ready=True)),
                "last": In(1),
                "instructions": Out(stream.Signature(INSTRUCTION_BITS)),
                "consumed": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build a queue of entries of one instruction or one beat, whichever is larger."""
        m = Module()
        g, beat, instructions = self._geometry, self.beats.payload, self.instructions
        beats, slots = max(1, INSTRUCTION_BYTES // g.word_bytes), max(1, g.word_bytes // INSTRUCTION_BYTES)
        entry_bits = max(INSTRUCTION_BITS, g.word_bits)
        m.submodules.entries = entries = Queue(shape=entry_bits, depth=-(-g.timing.fetch_fifo // beats), always_ready=True)
        part, slot = Signal(log2(beats)), Signal(log2(slots))
        earlier = Signal(entry_bits - len(beat))
        held = Array(entries.head.payload.word_select(index, INSTRUCTION_BITS) for index in range(slots))
        m.d.comb += [
            entries.tail.valid.eq(self.beats.valid & (part == beats - 1)),
            entries.tail.payload.eq(Cat(earlier, beat)),
            entries.head.ready.eq(instructions.ready & (self.last | (slot == slots - 1))),
            instructions.valid.eq(entries.head.valid),
            instructions.payload.eq(held[slot]),
            self.consumed.eq(Mux(entries.head.valid & entries.head.ready, beats, 0)),
        ]
        with m.If(self.beats.valid):
            m.d.sync += [part.eq(part + 1), earlier.eq(beat)]
        with m.If(self.start):
            m.d.sync += slot.eq(self.address >> log2(INSTRUCTION_BYTES))
        with m.Elif(instructions.valid & instructions.ready):
            m.d.sync += slot.eq(slot + 1)
        return m
