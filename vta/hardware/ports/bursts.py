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


_KEPT = {"keep": 1}
"""Synthesis is not to make one adder of two by choosing first what is added."""


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
        """Build the walk over rows and bursts, and the account of reserved room.

        What a burst has is computed as the one before is granted: `left`, the words of the row from it on, are `beats` or more.
        """
        m = Module()
        g, longest = self._geometry, self._geometry.timing.burst_beats
        given, burst = self.transfers.payload, self.bursts.payload
        row_address, row_bytes, stride = Signal(ADDRESS_BITS), Signal.like(given.row_bytes), Signal.like(given.stride)
        word, left, rows = Signal.like(burst.word), Signal(len(row_bytes) + 1), Signal.like(given.rows)
        beats, row_ends = Signal.like(burst.beats), Signal()
        busy, granted, begins = Signal(), Signal(), Signal()
        free = Signal(range(self._capacity + 1), init=self._capacity)
        free_then, taken_then = (Signal.like(free, name=name, attrs=_KEPT) for name in ("free_then", "taken_then"))
        address, size, following = Signal(ADDRESS_BITS), Signal.like(row_bytes), Signal.like(left)
        m.d.comb += [
            burst.word.eq(word),
            burst.beats.eq(beats),
            self.bursts.valid.eq(busy & (beats <= free)),
            granted.eq(self.bursts.valid & self.bursts.ready),
            self.transfers.ready.eq(~busy),
            begins.eq(self.transfers.valid & self.transfers.ready),
            address.eq(Mux(busy, row_address + stride, given.address)),
            size.eq(Mux(busy, row_bytes, given.row_bytes)),
            following.eq(left - beats),
        ]
        # Both are there before it is known which.
        m.d.comb += [free_then.eq(free + self.consumed), taken_then.eq(free - beats + self.consumed)]
        m.d.sync += free.eq(Mux(granted, taken_then, free_then))
        with m.If(~busy):
            m.d.sync += [
                row_bytes.eq(given.row_bytes),
                stride.eq(given.stride),
                rows.eq(given.rows),
                busy.eq(begins & (given.rows != 0)),
            ]
        with m.Elif(granted & row_ends):
            m.d.sync += [rows.eq(rows - 1), busy.eq(rows != 1)]
        with m.If(~busy | (granted & row_ends)):
            words, room = words_of(g, address, size), burst_room(g, address[g.log_word_bytes :])
            burst_bytes = longest * g.word_bytes
            ends = size + address[: log2(burst_bytes)] <= burst_bytes
            m.d.sync += [
                row_address.eq(address),
                word.eq(address >> g.log_word_bytes),
                left.eq(words),
                row_ends.eq(ends),
                beats.eq(Mux(ends, words, room)),
            ]
        with m.Elif(granted):
            # What follows within a row begins at a multiple of the longest burst.
            m.d.sync += [
                word.eq(word + beats),
                left.eq(following),
                row_ends.eq(following <= longest),
                beats.eq(Mux(following <= longest, following, longest)),
            ]
        return m
