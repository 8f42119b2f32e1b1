"""Walks over the rows of a STORE, and makes its beats from the output memory: address in one cycle, data in the next."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Elaboratable, Module, Mux, Signal, Value

from vta.config.targets import MemoryType
from vta.hardware.geometry import ADDRESS_BITS, INSTRUCTION_BITS, Geometry, log2
from vta.hardware.memories.banks import WindowRead
from vta.hardware.ports.bursts import burst_room, words_of
from vta.hardware.ports.write_port import WriteBeat
from vta.hardware.transfers.decoder import SIZE_BITS
from vta.isa import Opcode

__all__ = ["StoreReader"]


class StoreReader(Elaboratable):
    """Reads the rows of the STORE `instruction`, given with `start`, through `read`; shows its beats in `beat` one cycle later.

    `moves` is 1 if `instruction` has rows. `busy` while there are beats to read; `advance` in a cycle that reads one;
    `count` elements are in it; `burst_ends` and `ends` tell of the last beat of a burst and of the instruction, as they are sent.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._bytes = geometry.hw.elem_bytes(MemoryType.OUT)
        lanes = geometry.lanes(MemoryType.OUT)
        self.instruction = Signal(INSTRUCTION_BITS)
        self.base = Signal(ADDRESS_BITS)
        self.start = Signal()
        self.moves = Signal()
        self.busy = Signal()
        self.advance = Signal()
        self.count = Signal(range(lanes + 1))
        self.ends = Signal()
        self.beat = WriteBeat(geometry)
        self.read = WindowRead(geometry.elem_bits(MemoryType.OUT), geometry.row_bits(MemoryType.OUT), lanes)
        self._first_lane = Signal(log2(lanes))
        self._part = Signal(log2(geometry.beats(MemoryType.OUT)))

    def elaborate(self, platform: object) -> Module:
        """Build the walk and the register stage of the beat."""
        m = Module()
        beat = self.beat
        word, beats, first, last = Signal.like(beat.word), Signal.like(beat.beats), Signal(), Signal()
        instruction_ends = self._walk(m, word, beats, first, last)
        m.d.comb += [
            self.moves.eq((self._field("x_size") != 0) & (self._field("y_size") != 0)),
            self.advance.eq(self.busy & (~beat.valid | beat.sent)),
            self.read.enable.eq(self.advance),
        ]
        instruction_end = Signal()
        with m.If(self.advance):
            m.d.sync += [
                beat.valid.eq(1),
                beat.word.eq(word),
                beat.beats.eq(beats),
                beat.first.eq(first),
                beat.last.eq(last),
                beat.strobe.eq(self._strobe()),
                instruction_end.eq(instruction_ends),
            ]
        with m.Elif(beat.sent):
            m.d.sync += beat.valid.eq(0)
        m.d.comb += [self.ends.eq(beat.sent & instruction_end), beat.data.eq(self._data(m))]
        return m

    def _walk(self, m: Module, word: Signal, beats: Signal, first: Signal, last: Signal) -> Value:
        """Step from beat to beat; return whether the current one is the last of the instruction."""
        g = self._geometry
        address, row_bytes, stride = Signal(ADDRESS_BITS), Signal(SIZE_BITS), Signal(SIZE_BITS)
        start_address, start_bytes, next_address = Signal(ADDRESS_BITS), Signal(SIZE_BITS), Signal(ADDRESS_BITS)
        rows, words, row_begins, row_ends = Signal(16), Signal(SIZE_BITS + 1), Signal(), Signal()
        log_bytes = log2(self._bytes)
        m.d.comb += [
            start_address.eq(self.base + (self._field("dram_base") << log_bytes)),
            start_bytes.eq(self._field("x_size") << log_bytes),
            next_address.eq(address + stride),
            row_ends.eq(words == 1),
            beats.eq(Mux(words < burst_room(g, word), words, burst_room(g, word))),
            first.eq(row_begins | (burst_room(g, word) == g.timing.burst_beats)),
            last.eq(beats == 1),
        ]
        with m.If(self.start):
            m.d.sync += [
                self.busy.eq(self.moves),
                address.eq(start_address),
                row_bytes.eq(start_bytes),
                stride.eq(self._field("x_stride") << log_bytes),
                rows.eq(self._field("y_size")),
                word.eq(start_address >> g.log_word_bytes),
                words.eq(words_of(g, start_address, start_bytes)),
                row_begins.eq(1),
            ]
        with m.Elif(self.advance):
            m.d.sync += [word.eq(word + 1), words.eq(words - 1), row_begins.eq(row_ends)]
            with m.If(row_ends):
                m.d.sync += [
                    address.eq(next_address),
                    word.eq(next_address >> g.log_word_bytes),
                    words.eq(words_of(g, next_address, row_bytes)),
                    rows.eq(rows - 1),
                    self.busy.eq(rows != 1),
                ]
        self._elements(m, row_ends, Mux(self.start, start_address, next_address))
        return row_ends & (rows == 1)

    def _elements(self, m: Module, row_ends: Value, next_address: Value) -> None:
        """Step over the elements: which SRAM row, which lane of the beat or which part of the element."""
        lanes, parts = len(self.read.lanes), 1 << len(self._part)
        size, left, row = Signal(16), Signal(16), Signal.like(self.read.row)
        room = Mux(self._part == parts - 1, lanes - self._first_lane, 0)
        m.d.comb += [self.read.row.eq(row), self.count.eq(Mux(left < room, left, room))]
        lane_at = (next_address >> log2(self._bytes))[: len(self._first_lane)]
        with m.If(self.start):
            m.d.sync += [
                row.eq(self._field("sram_base")),
                *(signal.eq(self._field("x_size")) for signal in (size, left)),
                self._part.eq(0),
                self._first_lane.eq(lane_at),
            ]
        with m.Elif(self.advance):
            m.d.sync += [
                row.eq(row + self.count),
                left.eq(Mux(row_ends, size, left - self.count)),
                self._part.eq(self._part + 1),
                self._first_lane.eq(Mux(row_ends, lane_at, 0)),
            ]

    def _strobe(self) -> Value:
        """Return the bytes of the beat that belong to the row."""
        if len(self._part):
            return Const((1 << self._geometry.word_bytes) - 1, self._geometry.word_bytes)
        lanes = ((1 << self.count) - 1) << self._first_lane
        return Cat(lane.replicate(self._bytes) for lane in lanes[: len(self.read.lanes)])

    def _data(self, m: Module) -> Value:
        """Return the beat whose rows were read in the cycle before."""
        first_lane, part = Signal.like(self._first_lane), Signal.like(self._part)
        with m.If(self.advance):
            m.d.sync += [first_lane.eq(self._first_lane), part.eq(self._part)]
        lanes = self.read.lanes
        if len(part):
            return lanes[0].word_select(part, 8 * self._geometry.word_bytes)
        return Cat(Array(lanes)[(lane - first_lane)[: len(first_lane)]] for lane in range(len(lanes)))

    def _field(self, name: str) -> Value:
        return self._geometry.field(Opcode.STORE, name, self.instruction)
