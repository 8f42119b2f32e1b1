"""Cuts the rows of a transfer into bursts and requests them, within the room of the client's buffer."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value

from vta.hardware.geometry import ADDRESS_BITS, Geometry, log2

__all__ = ["BurstRequests", "ReadRequest", "burst_room", "words_of"]


def words_of(geometry: Geometry, address: Value, row_bytes: Value) -> Value:
    """Return how many bus words a row of `row_bytes` bytes from byte `address` touches."""
    offset = address[: geometry.log_word_bytes]
    return (row_bytes + offset + (geometry.word_bytes - 1)) >> geometry.log_word_bytes


def burst_room(geometry: Geometry, word: Value) -> Value:
    """Return how many words there are from bus word `word` to the next boundary that no burst crosses."""
    beats = geometry.timing.burst_beats
    return beats - word[: log2(beats)]


class ReadRequest:
    """What a client shows the read port: a burst of `beats` words from `word`, while `valid`, until `grant`."""

    def __init__(self, geometry: Geometry) -> None:
        self.valid = Signal()
        self.word = Signal(ADDRESS_BITS - geometry.log_word_bytes)
        self.beats = Signal(range(geometry.timing.burst_beats + 1))
        self.grant = Signal()


class BurstRequests(Elaboratable):
    """Requests `rows` rows of `row_bytes` bytes, `stride` bytes apart, from byte `address` on, after a cycle with `start`.

    `busy` from the cycle after `start` up to the grant of the last burst. The buffer holds `capacity` beats;
    `consumed` counts those that leave it in a cycle.
    """

    def __init__(self, geometry: Geometry, capacity: int, size_bits: int) -> None:
        self._geometry = geometry
        self._capacity = capacity
        self.start = Signal()
        self.address = Signal(ADDRESS_BITS)
        self.row_bytes = Signal(size_bits)
        self.rows = Signal(16)
        self.stride = Signal(size_bits)
        self.consumed = Signal(2)
        self.busy = Signal()
        self.request = ReadRequest(geometry)

    def elaborate(self, platform: object) -> Module:
        """Build the walk over rows and bursts, and the account of reserved room."""
        m = Module()
        g = self._geometry
        request = self.request
        row_address, row_bytes, stride = Signal(ADDRESS_BITS), Signal.like(self.row_bytes), Signal.like(self.stride)
        word, left, rows = Signal.like(request.word), Signal(len(self.row_bytes) + 1), Signal(16)
        reserved = Signal(range(self._capacity + 1))
        room = Signal.like(request.beats)
        row_ends = Signal()
        next_address = Signal(ADDRESS_BITS)
        m.d.comb += [
            room.eq(burst_room(g, word)),
            row_ends.eq(left <= room),
            request.word.eq(word),
            request.beats.eq(Mux(row_ends, left, room)),
            request.valid.eq(self.busy & (reserved + request.beats <= self._capacity)),
            next_address.eq(row_address + stride),
        ]
        m.d.sync += reserved.eq(reserved + Mux(request.grant, request.beats, 0) - self.consumed)
        with m.If(self.start):
            m.d.sync += [
                row_address.eq(self.address),
                row_bytes.eq(self.row_bytes),
                stride.eq(self.stride),
                rows.eq(self.rows),
                word.eq(self.address >> g.log_word_bytes),
                left.eq(words_of(g, self.address, self.row_bytes)),
                self.busy.eq(self.rows != 0),
            ]
        with m.Elif(request.grant):
            with m.If(~row_ends):
                m.d.sync += [word.eq(word + room), left.eq(left - room)]
            with m.Else():
                m.d.sync += [
                    row_address.eq(next_address),
                    word.eq(next_address >> g.log_word_bytes),
                    left.eq(words_of(g, next_address, row_bytes)),
                    rows.eq(rows - 1),
                    self.busy.eq(rows != 1),
                ]
        return m
