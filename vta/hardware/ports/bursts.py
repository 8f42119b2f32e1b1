"""Cuts the rows of a transfer into bursts and requests them, within the room of the client's buffer."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.checks import check_range
from vta.hardware.geometry import ADDRESS_BITS, Geometry, log2

__all__ = ["BurstRequests", "burst_layout", "burst_room", "transfer_layout", "words_of"]


def words_of(geometry: Geometry, address: Value, row_bytes: Value) -> Value:
    """Return how many bus words a row of `row_bytes` bytes from byte `address` touches."""
    offset = address[: geometry.log_word_bytes]
    return (row_bytes + offset + (geometry.word_bytes - 1)) >> geometry.log_word_bytes


def burst_room(geometry: Geometry, word: Value) -> Value:
    """Return how many words there are from bus word `word` to the next boundary that no burst crosses."""
    beats = geometry.timing.burst_beats
    return beats - word[: log2(beats)]


def burst_layout(geometry: Geometry) -> StructLayout:
    """Return the layout of a burst: `beats` words from the bus word `word` on."""
    return StructLayout({"word": ADDRESS_BITS - geometry.log_word_bytes, "beats": range(geometry.timing.burst_beats + 1)})


def transfer_layout(size_bits: int, rows_bits: int = 16) -> StructLayout:
    """Return the layout of a transfer: `rows` rows of `row_bytes` bytes, `stride` bytes apart, from byte `address` on.

    With 1 as `rows_bits` there is no stride.
    """
    stride_bits = size_bits if rows_bits > 1 else 0
    return StructLayout({"address": ADDRESS_BITS, "row_bytes": size_bits, "rows": rows_bits, "stride": stride_bits})


class BurstRequests(Component):
    """Requests the rows of `transfers` in `bursts`: it is ready for the next from the cycle after the last burst is taken.

    The buffer behind it holds `capacity` beats; `consumed` counts those that leave it in a cycle. Sizes have `size_bits`, the
    number of rows `rows_bits`.
    """

    def __init__(self, geometry: Geometry, *, capacity: int, size_bits: int, rows_bits: int = 16) -> None:
        check_range("beats of a buffer", capacity, geometry.timing.burst_beats)
        self._geometry = geometry
        self._capacity = capacity
        super().__init__(
            {
                "transfers": In(stream.Signature(transfer_layout(size_bits, rows_bits))),
                "bursts": Out(stream.Signature(burst_layout(geometry))),
                "consumed": In(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the walk over rows and bursts, and the account of reserved room."""
        m = Module()
        g = self._geometry
        given, burst = self.transfers.payload, self.bursts.payload
        row_address, row_bytes, stride = Signal(ADDRESS_BITS), Signal.like(given.row_bytes), Signal.like(given.stride)
        word, left, rows = Signal.like(burst.word), Signal(len(row_bytes) + 1), Signal.like(given.rows)
        busy, granted, row_ends = Signal(), Signal(), Signal()
        reserved = Signal(range(self._capacity + 1))
        room = Signal.like(burst.beats)
        next_address = Signal(ADDRESS_BITS)
        m.d.comb += [
            room.eq(burst_room(g, word)),
            row_ends.eq(left <= room),
            burst.word.eq(word),
            burst.beats.eq(Mux(row_ends, left, room)),
            self.bursts.valid.eq(busy & (reserved + burst.beats <= self._capacity)),
            granted.eq(self.bursts.valid & self.bursts.ready),
            next_address.eq(row_address + stride),
            self.transfers.ready.eq(~busy),
        ]
        m.d.sync += reserved.eq(reserved + Mux(granted, burst.beats, 0) - self.consumed)
        with m.If(self.transfers.valid & self.transfers.ready):
            m.d.sync += [
                row_address.eq(given.address),
                row_bytes.eq(given.row_bytes),
                stride.eq(given.stride),
                rows.eq(given.rows),
                word.eq(given.address >> g.log_word_bytes),
                left.eq(words_of(g, given.address, given.row_bytes)),
                busy.eq(given.rows != 0),
            ]
        with m.Elif(granted):
            with m.If(~row_ends):
                m.d.sync += [word.eq(word + room), left.eq(left - room)]
            with m.Else():
                m.d.sync += [
                    row_address.eq(next_address),
                    word.eq(next_address >> g.log_word_bytes),
                    left.eq(words_of(g, next_address, row_bytes)),
                    rows.eq(rows - 1),
                    busy.eq(rows != 1),
                ]
        return m
