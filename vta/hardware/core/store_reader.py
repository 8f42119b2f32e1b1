"""Walks over the rows of a STORE, and makes its beats from the output memory: address in one cycle, data in the next."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.data import View
from amaranth.lib.wiring import Component, In, Out

from vta.config.targets import MemoryType
from vta.hardware.control.interfaces import Bases, Moved
from vta.hardware.geometry import ADDRESS_BITS, INSTRUCTION_BITS, Geometry, log2
from vta.hardware.memories.buffers import window_read_of
from vta.hardware.ports.bursts import burst_room, words_of
from vta.hardware.ports.write_port import beat_layout, frame_layout
from vta.hardware.transfers.decoder import SIZE_BITS

__all__ = ["StoreReader"]


class StoreReader(Component):
    """Reads the rows of `stores` through `window`, and makes `beats` of them, each one cycle after its rows were read.

    `moves` is 1 if the store has rows. `moved` counts the elements that are read; `ends` is 1 as its last beat is sent.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._bytes = geometry.hw.elem_bytes(MemoryType.OUT)
        self._lanes = geometry.lanes(MemoryType.OUT)
        self._first_lane = Signal(log2(self._lanes))
        self._part = Signal(log2(geometry.beats(MemoryType.OUT)))
        self._count = Signal(range(self._lanes + 1))
        self._start, self._advance = Signal(), Signal()
        super().__init__(
            {
                "stores": In(stream.Signature(INSTRUCTION_BITS)),
                "bases": In(Bases()),
                "moves": Out(1),
                "window": Out(window_read_of(geometry, MemoryType.OUT)),
                "beats": Out(stream.Signature(beat_layout(geometry))),
                "moved": Out(Moved((MemoryType.OUT,))),
                "ends": Out(1),
            }
        )
        self._store = geometry.instruction(self.stores.payload).store

    def elaborate(self, platform: object) -> Module:
        """Build the walk and the register stage of the beat."""
        m = Module()
        store, beats, busy = self._store, self.beats, Signal()
        following, shown = (Signal(frame_layout(self._geometry), name=name) for name in ("following", "shown"))
        instruction_ends, instruction_end = self._walk(m, busy, following), Signal()
        m.d.comb += [
            self.moves.eq((store.x_size != 0) & (store.y_size != 0)),
            self.stores.ready.eq(~busy),
            self._start.eq(self.stores.valid & self.stores.ready),
            self._advance.eq(busy & (~beats.valid | beats.ready)),
            self.window.enable.eq(self._advance),
            self.moved.out.eq(self._count & self._advance.replicate(len(self._count))),
            following.strobe.eq(self._strobe()),
            beats.payload.frame.eq(shown),
            beats.payload.data.eq(self._data(m)),
            self.ends.eq(beats.valid & beats.ready & instruction_end),
        ]
        with m.If(self._advance):
            m.d.sync += [beats.valid.eq(1), shown.eq(following), instruction_end.eq(instruction_ends)]
        with m.Elif(beats.ready):
            m.d.sync += beats.valid.eq(0)
        return m

    def _walk(self, m: Module, busy: Signal, frame: View) -> Value:
        """Step from beat to beat; return whether the current one is the last of the instruction."""
        g, store = self._geometry, self._store
        address, row_bytes, stride = Signal(ADDRESS_BITS), Signal(SIZE_BITS), Signal(SIZE_BITS)
        start_address, start_bytes, next_address = Signal(ADDRESS_BITS), Signal(SIZE_BITS), Signal(ADDRESS_BITS)
        word, rows, words, row_begins, row_ends = Signal.like(frame.word), Signal(16), Signal(SIZE_BITS + 1), Signal(), Signal()
        room, log_bytes = burst_room(g, word), log2(self._bytes)
        m.d.comb += [
            start_address.eq(self.bases.out + (store.dram_base << log_bytes)),
            start_bytes.eq(store.x_size << log_bytes),
            next_address.eq(address + stride),
            row_ends.eq(words == 1),
            frame.word.eq(word),
            frame.beats.eq(Mux(words < room, words, room)),
            frame.first.eq(row_begins | (room == g.timing.burst_beats)),
            frame.last.eq(frame.beats == 1),
        ]
        with m.If(self._start):
            m.d.sync += [
                busy.eq(self.moves),
                address.eq(start_address),
                row_bytes.eq(start_bytes),
                stride.eq(store.x_stride << log_bytes),
                rows.eq(store.y_size),
                word.eq(start_address >> g.log_word_bytes),
                words.eq(words_of(g, start_address, start_bytes)),
                row_begins.eq(1),
            ]
        with m.Elif(self._advance):
            m.d.sync += [word.eq(word + 1), words.eq(words - 1), row_begins.eq(row_ends)]
            with m.If(row_ends):
                m.d.sync += [
                    address.eq(next_address),
                    word.eq(next_address >> g.log_word_bytes),
                    words.eq(words_of(g, next_address, row_bytes)),
                    rows.eq(rows - 1),
                    busy.eq(rows != 1),
                ]
        self._elements(m, row_ends, Mux(self._start, start_address, next_address))
        return row_ends & (rows == 1)

    def _elements(self, m: Module, row_ends: Value, next_address: Value) -> None:
        """Step over the elements: which SRAM row, which lane of the beat or which part of the element."""
        store, parts = self._store, 1 << len(self._part)
        size, left, row = Signal(16), Signal(16), Signal.like(self.window.row)
        room = Mux(self._part == parts - 1, self._lanes - self._first_lane, 0)
        m.d.comb += [self.window.row.eq(row), self._count.eq(Mux(left < room, left, room))]
        lane_at = (next_address >> log2(self._bytes))[: len(self._first_lane)]
        with m.If(self._start):
            m.d.sync += [
                row.eq(store.sram_base),
                *(signal.eq(store.x_size) for signal in (size, left)),
                self._part.eq(0),
                self._first_lane.eq(lane_at),
            ]
        with m.Elif(self._advance):
            m.d.sync += [
                row.eq(row + self._count),
                left.eq(Mux(row_ends, size, left - self._count)),
                self._part.eq(self._part + 1),
                self._first_lane.eq(Mux(row_ends, lane_at, 0)),
            ]

    def _strobe(self) -> Value:
        """Return the bytes of the beat that belong to the row."""
        if len(self._part):
            return Const((1 << self._geometry.word_bytes) - 1, self._geometry.word_bytes)
        lanes = ((1 << self._count) - 1) << self._first_lane
        return Cat(lane.replicate(self._bytes) for lane in lanes[: self._lanes])

    def _data(self, m: Module) -> Value:
        """Return the beat whose rows were read in the cycle before."""
        first_lane, part = Signal.like(self._first_lane), Signal.like(self._part)
        with m.If(self._advance):
            m.d.sync += [first_lane.eq(self._first_lane), part.eq(self._part)]
        lanes = self.window.lanes
        if len(part):
            return lanes[0].word_select(part, self._geometry.word_bits)
        return Cat(Array(lanes)[(lane - first_lane)[: len(first_lane)]] for lane in range(len(lanes)))
