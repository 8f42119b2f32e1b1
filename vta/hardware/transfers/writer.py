"""Takes the beats of one load at a time and says which rows are written: stage B of the timing contract."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value

from vta.config.targets import MemoryType
from vta.hardware.geometry import Geometry, log2
from vta.hardware.transfers.decoder import plan_layout, row_bits
from vta.hardware.transfers.zeros import ZeroElements

__all__ = ["LoadWriter"]


class LoadWriter(Elaboratable):
    """Writes the load whose `plan` came with `start`, from the first cycle with `enable` on, up to and including `complete`.

    Beats are offered with `beat` and `beat_valid`, and taken with `consume`. In a cycle with `write`, `count` elements of
    the memory `kind` go to consecutive rows from `row` on; `lanes(memory)` has them, from `first_lane` on.
    `loaded` counts those that come from memory, `worked` is 1 if anything is done.
    """

    def __init__(self, geometry: Geometry, memories: Sequence[MemoryType]) -> None:
        self._geometry = geometry
        self._memories = tuple(memories)
        lanes = max(geometry.lanes(memory) for memory in memories)
        word_bits = 8 * geometry.word_bytes
        self.start = Signal()
        self.enable = Signal(init=1)
        self.plan = Signal(plan_layout(geometry, memories))
        self.beat = Signal(word_bits)
        self.beat_valid = Signal()
        self.active = Signal()
        self.consume = Signal()
        self.worked = Signal()
        self.complete = Signal()
        self.write = Signal()
        self.kind = Signal(2)
        self.row = Signal(row_bits(geometry, memories))
        self.first_lane = Signal(log2(lanes))
        self.count = Signal(range(lanes + 1))
        self.loaded = Signal(range(lanes + 1))
        self.push_prev = Signal()
        self.push_next = Signal()
        self._window = Signal(word_bits * max(geometry.beats(memory) for memory in memories))

    def lanes(self, memory: MemoryType) -> list[Value]:
        """Return the elements of `memory` that the current beat holds or completes; zeros while a zero element is written."""
        bits = self._geometry.elem_bits(memory)
        newest = self._window[len(self._window) - self._geometry.beats(memory) * len(self.beat) :]
        return [newest[lane * bits : (lane + 1) * bits] for lane in range(self._geometry.lanes(memory))]

    def elaborate(self, platform: object) -> Module:
        """Build the state of the current load, the walk over its data and that over its zeros."""
        m = Module()
        m.submodules.zeros = zeros = ZeroElements(len(self.row))
        plan = Signal.like(self.plan)
        data_left, takes_port, last_beat, running = Signal(), Signal(), Signal(), Signal()
        with m.If(self.start):
            m.d.sync += [plan.eq(self.plan), self.active.eq(1)]
        with m.Elif(self.complete):
            m.d.sync += self.active.eq(0)
        m.d.comb += [
            zeros.start.eq(self.start),
            zeros.plan.eq(self.plan.zeros),
            zeros.take.eq(running & zeros.pending & ~takes_port),
            running.eq(self.active & self.enable),
            self.consume.eq(running & data_left & self.beat_valid),
            takes_port.eq(self.consume & (self.loaded != 0)),
            self.complete.eq(running & (~data_left | last_beat) & (~zeros.pending | (zeros.take & zeros.last))),
            self.worked.eq(self.consume | zeros.take | self.complete),
            self.write.eq(takes_port | zeros.take),
            self.kind.eq(plan.kind),
            self.push_prev.eq(plan.push_prev),
            self.push_next.eq(plan.push_next),
        ]
        data_row, lane = self._walk(m, plan, data_left, last_beat)
        m.d.comb += [
            self.row.eq(Mux(takes_port, data_row, zeros.row)),
            self.first_lane.eq(Mux(takes_port, lane, 0)),
            self.count.eq(Mux(takes_port, self.loaded, zeros.take)),
        ]
        self._assemble(m, takes_port)
        return m

    def _walk(self, m: Module, plan: Signal, data_left: Signal, last_beat: Signal) -> tuple[Value, Value]:
        """Go over rows, elements and parts of elements with the beats; return the SRAM row and the lane of the next element."""
        rows, left = Signal(16), Signal(16)
        row, row_start, offset, row_offset = (Signal.like(s) for s in (self.row, self.row, self.plan.offset, self.plan.offset))
        part = Signal(log2(max(self._geometry.beats(memory) for memory in self._memories)))
        lane, held, row_ends = Signal.like(self.first_lane), Signal.like(self.loaded), Signal()
        with m.Switch(plan.kind):
            for kind, memory in enumerate(self._memories):
                beats, lanes = self._geometry.beats(memory), self._geometry.lanes(memory)
                with m.Case(kind):
                    if beats > 1:
                        m.d.comb += held.eq(part[: log2(beats)].all())
                    else:
                        m.d.comb += [lane.eq(offset >> self._geometry.hw.log_elem_bytes[memory]), held.eq(lanes - lane)]
        m.d.comb += [
            data_left.eq(rows != 0),
            row_ends.eq(left <= held),
            self.loaded.eq(Mux(self.consume, Mux(row_ends, left, held), 0)),
            last_beat.eq(self.consume & row_ends & (rows == 1)),
        ]
        with m.If(self.start):
            m.d.sync += [rows.eq(self.plan.rows), left.eq(self.plan.x_size), part.eq(0)]
            m.d.sync += [s.eq(self.plan.row) for s in (row, row_start)] + [s.eq(self.plan.offset) for s in (offset, row_offset)]
        with m.Elif(self.consume):
            m.d.sync += [left.eq(left - self.loaded), row.eq(row + self.loaded), offset.eq(0), part.eq(part + 1)]
            with m.If(row_ends):
                m.d.sync += [rows.eq(rows - 1), left.eq(plan.x_size), part.eq(0)]
                m.d.sync += [s.eq(row_start + plan.pitch) for s in (row, row_start)]
                m.d.sync += [s.eq(row_offset + plan.stride) for s in (offset, row_offset)]
        return row, lane

    def _assemble(self, m: Module, takes_port: Value) -> None:
        """Keep the earlier beats of an element that is wider than the bus."""
        earlier = len(self._window) - len(self.beat)
        kept = Signal(earlier)
        if earlier:
            with m.If(self.consume):
                m.d.sync += kept.eq(Cat(kept, self.beat)[len(self.beat) :])
        m.d.comb += self._window.eq(Mux(takes_port, Cat(kept, self.beat), 0))
