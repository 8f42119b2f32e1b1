"""Takes the beats of one load at a time and says which rows are written: stage B of the timing contract."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, PureInterface

from vta.config.targets import MemoryType
from vta.hardware.geometry import Geometry, buffer_name, log2
from vta.hardware.memories.banks import write_rows
from vta.hardware.transfers.plan import LoadProgress, LoadWrites, data_row_of, end_row_of, plan_layout
from vta.hardware.transfers.zeros import ZeroElements

__all__ = ["LoadWriter", "delayed_writes", "elements_of", "place_writes", "write_load"]


class LoadWriter(Component):
    """Writes the loads of `plans` one after the other: the `beats` that come from memory, and zeros.

    A load is written in cycles with `enable`. In the one in which it is complete, the next plan is taken. `data_row` and
    `end_row`, from which `writes` may count, are there a cycle after them: see `place_writes`.
    """

    def __init__(self, geometry: Geometry, memories: Sequence[MemoryType]) -> None:
        self._geometry = geometry
        self._memories = tuple(memories)
        super().__init__(
            {
                "plans": In(stream.Signature(plan_layout(geometry, memories))),
                "enable": In(1, init=1),
                "beats": In(stream.Signature(geometry.word_bits)),
                "writes": Out(LoadWrites(geometry, memories)),
                "data_row": Out(LoadWrites(geometry, memories).members["row"].shape),
                "end_row": Out(LoadWrites(geometry, memories).members["row"].shape),
                "progress": Out(LoadProgress(memories)),
            }
        )
        self._plan = Signal.like(self.plans.payload, name="plan")
        self._start, self._consume = Signal(), Signal()
        self._loaded = Signal.like(self.writes.count, name="loaded")

    def elaborate(self, platform: object) -> Module:
        """Build the state of the current load, the walk over its data and that over its zeros."""
        m = Module()
        writes, given, progress = self.writes, self.plans.payload, self.progress
        m.submodules.zeros = zeros = ZeroElements(row_bits=len(writes.row))
        plan, loaded, zero = self._plan, self._loaded, Signal()
        data_left, takes_port, last_beat, running = Signal(), Signal(), Signal(), Signal()
        with m.If(self._start):
            m.d.sync += [plan.eq(given), progress.active.eq(1)]
        with m.Elif(progress.complete):
            m.d.sync += progress.active.eq(0)
        m.d.comb += [
            self.plans.ready.eq(~progress.active | progress.complete),
            self._start.eq(self.plans.valid & self.plans.ready),
            zeros.loads.valid.eq(self._start),
            zeros.loads.payload.eq(given.zeros),
            zeros.elements.ready.eq(running & ~takes_port),
            zero.eq(zeros.elements.valid & zeros.elements.ready),
            running.eq(progress.active & self.enable),
            self.beats.ready.eq(running & data_left),
            self._consume.eq(self.beats.valid & self.beats.ready),
            takes_port.eq(self._consume & (loaded != 0)),
            progress.complete.eq(
                running & (~data_left | last_beat) & (~zeros.elements.valid | (zero & zeros.elements.payload.last))
            ),
            progress.worked.eq(self._consume | zero | progress.complete),
            progress.push_prev.eq(plan.push_prev),
            progress.push_next.eq(plan.push_next),
        ]
        data_row, lane = self._walk(m, data_left, last_beat)
        m.d.comb += [
            writes.valid.eq(takes_port | zero),
            writes.kind.eq(plan.kind),
            writes.row.eq(Mux(takes_port, data_row, zeros.elements.payload.row)),
            writes.at_data.eq(takes_port),
            writes.at_end.eq(~takes_port & zeros.elements.payload.at_end),
            writes.first_lane.eq(Mux(takes_port, lane, 0)),
            writes.count.eq(Mux(takes_port, loaded, zero)),
        ]
        m.d.sync += [self.data_row.eq(data_row_of(plan)), self.end_row.eq(end_row_of(plan))]
        self._assemble(m, takes_port)
        for kind, memory in enumerate(self._memories):
            with m.If(plan.kind == kind):
                m.d.comb += getattr(progress.moved, buffer_name(memory)).eq(loaded)
        return m

    def _walk(self, m: Module, data_left: Signal, last_beat: Signal) -> tuple[Value, Value]:
        """Go over rows, elements and parts of elements with the beats; return the SRAM row and the lane of the next element.

        What the next beat completes is worked out with the beat before it.
        """
        given, plan, loaded = self.plans.payload, self._plan, self._loaded
        rows, left, last_row, row_ends = Signal(16), Signal(16), Signal(), Signal()
        row, row_start, row_offset = (Signal.like(s) for s in (self.data_row, self.data_row, given.offset))
        count, lane, kind = Signal.like(loaded), Signal.like(self.writes.first_lane), Signal.like(plan.kind)
        part = Signal(log2(max(self._geometry.beats(memory) for memory in self._memories)))
        next_left, next_offset, next_part = Signal.like(left), Signal.like(row_offset), Signal.like(part)
        next_lane, next_held = Signal.like(lane), Signal.like(loaded)
        with m.Switch(kind):
            for index, memory in enumerate(self._memories):
                beats, lanes = self._geometry.beats(memory), self._geometry.lanes(memory)
                with m.Case(index):
                    if beats > 1:
                        m.d.comb += next_held.eq(next_part[: log2(beats)].all())
                    else:
                        m.d.comb += next_lane.eq(next_offset >> self._geometry.hw.log_elem_bytes[memory])
                        m.d.comb += next_held.eq(lanes - next_lane)
        m.d.comb += [
            loaded.eq(count & self._consume.replicate(len(count))),
            last_beat.eq(self._consume & row_ends & last_row),
            kind.eq(plan.kind),
        ]
        with m.If(self._start):
            m.d.comb += [kind.eq(given.kind), next_left.eq(given.x_size), next_offset.eq(given.offset)]
            m.d.sync += [rows.eq(given.rows), data_left.eq(given.rows != 0), last_row.eq(given.rows == 1)]
            m.d.sync += [row_offset.eq(given.offset), *(s.eq(0) for s in (row, row_start))]
        with m.Elif(row_ends):
            m.d.comb += [next_left.eq(plan.x_size), next_offset.eq(row_offset + plan.stride)]
        with m.Else():
            m.d.comb += [next_left.eq(left - count), next_part.eq(part + 1)]
        with m.If(self._start | self._consume):
            ends = next_left <= next_held
            m.d.sync += [left.eq(next_left), part.eq(next_part), lane.eq(next_lane)]
            m.d.sync += [row_ends.eq(ends), count.eq(Mux(ends, next_left, next_held))]
        next_row = (Mux(row_ends, row_start, row) + Mux(row_ends, plan.pitch, count))[: len(row)]
        with m.If(self._consume & ~self._start):
            m.d.sync += row.eq(next_row)
            with m.If(row_ends):
                m.d.sync += [rows.eq(rows - 1), data_left.eq(~last_row), last_row.eq(rows == 2), row_offset.eq(next_offset)]
                m.d.sync += row_start.eq(next_row)
        return row, lane

    def _assemble(self, m: Module, takes_port: Value) -> None:
        """Keep the earlier beats of an element that is wider than the bus; zeros while a zero element is written."""
        beat, window = self.beats.payload, self.writes.window
        earlier = len(window) - len(beat)
        kept = Signal(earlier)
        if earlier:
            with m.If(self._consume):
                m.d.sync += kept.eq(Cat(kept, beat)[len(beat) :])
        m.d.comb += window.eq(Mux(takes_port, Cat(kept, beat), 0))


def elements_of(geometry: Geometry, memory: MemoryType, window: Value) -> list[Value]:
    """Return the elements of `memory` that `window` of `LoadWrites` ends with."""
    newest = window[len(window) - geometry.beats(memory) * geometry.word_bits :]
    return [newest.word_select(lane, geometry.elem_bits(memory)) for lane in range(geometry.lanes(memory))]


def delayed_writes(m: Module, writes: PureInterface) -> PureInterface:
    """Return what `writes`, an interface of `LoadWrites`, had in the cycle before."""
    later = writes.signature.create()
    m.d.sync += [getattr(later, name).eq(getattr(writes, name)) for name in writes.signature.members]
    return later


def place_writes(m: Module, writes: PureInterface, writer: LoadWriter) -> PureInterface:
    """Return the same `writes`, an interface of `LoadWrites`, of `writer`, with rows that count from 0."""
    placed = writes.signature.create()
    counted = ("row", "at_data", "at_end")
    m.d.comb += [getattr(placed, name).eq(getattr(writes, name)) for name in writes.signature.members if name not in counted]
    base = Mux(writes.at_data, writer.data_row, writer.end_row & writes.at_end.replicate(len(writer.end_row)))
    m.d.comb += placed.row.eq(writes.row + base)
    return placed


def write_load(m: Module, *, load: PureInterface, kind: int, elements: Sequence[Value], to: PureInterface) -> None:
    """Write what `load`, an interface of `LoadWrites`, has for its memory `kind` through the interface `to` of `RowWrites`."""
    with m.If(load.valid), m.If(load.kind == kind):
        m.d.comb += write_rows(to, row=load.row, lanes=elements, first_lane=load.first_lane, count=load.count)
