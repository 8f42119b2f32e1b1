"""Stable sorting by counting digits, from the lowest on: linear in the number of values, with no comparison.

Each round counts how often each digit is there, adds up where each begins, and puts values there in their order (D. E. Knuth,
The Art of Computer Programming, volume 3, 5.2.5).
"""

from __future__ import annotations

import numpy as np

from vta.host.kernels.procedures.statements import Writer, added, cell, put, set_cell, value_of
from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Expr, binary, cast, const, load, select, unary
from vta.host.loop.nest import Block, Statement, Store
from vta.support.dataclass import dataclass

__all__ = ["Sorter", "key_type", "sort_key"]

_FEW, _MANY = 8, 11
_FROM_MANY = 1 << 13
"""Values from which on a round less is worth more counters."""


def key_type(dtype: str) -> str:
    """Data type of the keys of values."""
    return "int64" if np.dtype(dtype).itemsize > np.dtype("int32").itemsize else "int32"


def sort_key(value: Expr, largest: bool) -> Expr:
    """A number whose digits, taken without a sign, order values: equal ones are equal, and NaN comes last."""
    dtype = key_type(value.dtype)
    limits = np.iinfo(dtype)
    last, sign = const(limits.max, dtype), const(limits.min, dtype)
    all_bits = const(-1, dtype)
    if not value.dtype.startswith("float"):
        low = const(np.iinfo(value.dtype).min, dtype)
        # Without the sign: what is the lowest value becomes 0.
        key = binary("sub", cast(value, dtype), low)
        if largest:
            top = int(np.iinfo(value.dtype).max) - int(np.iinfo(value.dtype).min)
            key = binary("sub", const(top, dtype), key) if top <= limits.max else binary("xor", key, all_bits)
        return key
    zero = const(0, value.dtype)
    bits = unary("bits", select(binary("eq", value, zero), zero, value))
    # Of negative numbers a larger pattern is a smaller number.
    turned = binary("and", binary("shr", bits, const(limits.bits - 1, dtype)), last)
    key = binary("xor", bits, turned)
    if largest:
        key = binary("xor", key, all_bits)
    return binary("xor", select(binary("eq", value, value), key, last), sign)


@dataclass(frozen=True)
class Sorter:
    """Memory to sort positions by keys in, for each of some rows."""

    count: int
    """The most values of a row."""
    keys: tuple[Buffer, Buffer]
    places: tuple[Buffer, Buffer]
    """int32; what is sorted, by turns in the one and the other."""
    counters: Buffer
    begin: Buffer
    held: Buffer
    """Variables of one function at a time, as are the counters."""
    bits: int
    """Of a value that is sorted by."""

    @staticmethod
    def make(name: str, rows: int, count: int, dtype: str) -> Sorter:
        """Memory for `rows` rows of values of a type, each sorted by itself."""

        def pair(what: str, kind: str) -> tuple[Buffer, Buffer]:
            return Buffer(f"{name}_{what}", (rows, count), kind), Buffer(f"{name}_other_{what}", (rows, count), kind)

        bits = 8 * np.dtype(dtype).itemsize
        digit = min(_MANY if count >= _FROM_MANY else _FEW, bits)
        counters = Buffer(f"{name}_counters", (1 << digit,), "int32")
        variables = cell(f"{name}_begin", "int32"), cell(f"{name}_held", "int32")
        return Sorter(count, pair("keys", key_type(dtype)), pair("places", "int32"), counters, *variables, bits)

    @property
    def workspace(self) -> tuple[Buffer, ...]:
        """What must be there for all rows."""
        return (*self.keys, *self.places)

    @property
    def local(self) -> tuple[Buffer, ...]:
        """What a function needs for itself."""
        return (self.counters, self.begin, self.held)

    @property
    def sorted_places(self) -> Buffer:
        """Where positions are in order afterwards."""
        return self.places[self._rounds % 2]

    @property
    def _digit(self) -> int:
        return self.counters.shape[0].bit_length() - 1

    @property
    def _rounds(self) -> int:
        return -(-self.bits // self._digit)

    def put(self, row: Expr, at: Expr, value: Expr, place: Expr, largest: bool) -> list[Statement]:
        """Set what is to be sorted at a position: what it is sorted by, and the place that stands for it."""
        return [
            put(self.keys[0], (row, at), sort_key(value, largest)),
            put(self.places[0], (row, at), cast(place, "int32")),
        ]

    def sort(self, writer: Writer, row: Expr, count: Expr | None = None) -> Statement:
        """Sort the first values of a row."""
        return Block(tuple(self._round(writer, row, number, count) for number in range(self._rounds)))

    def _round(self, writer: Writer, row: Expr, number: int, count: Expr | None) -> Statement:
        begin, held = self.begin, self.held
        source, target = number % 2, 1 - number % 2
        dtype = self.keys[0].dtype
        mask = const((1 << self._digit) - 1, dtype)

        def digit(at: Expr) -> Expr:
            key = load(self.keys[source], (row, at))
            return cast(binary("and", binary("shr", key, const(number * self._digit, dtype)), mask), "int64")

        def placed(at: Expr) -> list[Statement]:
            to = cast(load(self.counters, (digit(at),)), "int64")
            moved = [put(pair[target], (row, to), load(pair[source], (row, at))) for pair in (self.keys, self.places)]
            return [*moved, Store(self.counters, (digit(at),), const(1, "int32"), "add")]

        counters = self.counters.shape[0]
        zero, one = const(0, "int32"), const(1, "int32")
        return Block(
            (
                writer.loop(counters, lambda at: [put(self.counters, (at,), zero)]),
                writer.loop(self.count, lambda at: [Store(self.counters, (digit(at),), one, "add")], count),
                set_cell(begin, zero),
                writer.loop(
                    counters,
                    lambda at: [
                        set_cell(held, load(self.counters, (at,))),
                        put(self.counters, (at,), value_of(begin)),
                        added(begin, value_of(held)),
                    ],
                ),
                writer.loop(self.count, placed, count),
            )
        )
