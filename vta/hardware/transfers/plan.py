"""What a LOAD leaves to be done: the plan by which its data and zeros are written, and the writes themselves."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Value
from amaranth.lib.data import StructLayout, View
from amaranth.lib.wiring import Out, Signature

from vta.config.targets import MemoryType
from vta.hardware.control.interfaces import Moved
from vta.hardware.geometry import Geometry, log2

__all__ = ["RUN_BITS", "LoadProgress", "LoadWrites", "data_row_of", "end_row_of", "plan_layout", "product", "zeros_layout"]

RUN_BITS = 21
"""Bits of a count of zero elements that lie together."""


def zeros_layout(row_bits: int) -> StructLayout:
    """Return the layout of the zero elements of a load: a first run, equal inner runs `skip` rows apart, and a last run.

    The last run begins at a row of its own, that of `end_row_of`. Whether counts are not 0, or are 1, is there beside them.
    """
    return StructLayout(
        {
            "row": row_bits,
            "left": RUN_BITS,
            "skip": row_bits,
            "inner": 5,
            "inner_runs": 16,
            "last_left": RUN_BITS,
            **dict.fromkeys(("left_any", "left_one", "inner_one", "inner_runs_any", "inner_runs_one", "last_any", "last_one"), 1),
        }
    )


def plan_layout(geometry: Geometry, memories: Sequence[MemoryType]) -> StructLayout:
    """Return the layout of a plan for loads of `memories`.

    `kind` is the place in `memories`; `pitch`: SRAM rows; `offset`, `stride`: bytes modulo the bus word.
    """
    rows = _row_bits(geometry, memories)
    return StructLayout(
        {
            "kind": 2,
            "pitch": rows,
            "x_size": 16,
            "rows": 16,
            "offset": geometry.log_word_bytes,
            "stride": geometry.log_word_bytes,
            "zeros": zeros_layout(rows),
            "push_prev": 1,
            "push_next": 1,
        }
    )


def data_row_of(plan: View) -> Value:
    """Return the row at which the data begin: behind the first run of zeros."""
    return (plan.zeros.row + plan.zeros.left)[: len(plan.zeros.row)]


def end_row_of(plan: View) -> Value:
    """Return the row behind the data and its pads to the left, where the last run of zeros begins: a long sum."""
    return (data_row_of(plan) + product(plan.pitch, plan.rows, len(plan.pitch)) - plan.zeros.inner)[: len(plan.zeros.row)]


def product(left: Value, right: Value, bits: int) -> Value:
    """Return the low `bits` of a product, in adders: address arithmetic is to take no multiplier from the GEMM core."""
    terms: list[Value] = [Cat(Const(0, place), left & bit.replicate(len(left)))[:bits] for place, bit in enumerate(right[:bits])]
    while len(terms) > 1:
        pairs = [(a + b)[:bits] for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
    return terms[0]


class LoadWrites(Signature):
    """In a cycle with `valid`, `count` elements of the memory `kind` go to consecutive rows, from `row` on.

    `window` holds them: it ends with the current beat. They begin at lane `first_lane` of it. `row` counts
    from that of the data if they are `at_data`, from that of the last run of zeros if they are `at_end`, otherwise from 0.
    """

    def __init__(self, geometry: Geometry, memories: Sequence[MemoryType]) -> None:
        lanes = max(geometry.lanes(memory) for memory in memories)
        super().__init__(
            {
                "valid": Out(1),
                "kind": Out(2),
                "row": Out(_row_bits(geometry, memories)),
                "at_data": Out(1),
                "at_end": Out(1),
                "first_lane": Out(log2(lanes)),
                "count": Out(range(lanes + 1)),
                "window": Out(geometry.word_bits * max(geometry.beats(memory) for memory in memories)),
            }
        )


class LoadProgress(Signature):
    """`active` while there is a load, `worked` if anything was done for it, `complete` with the last of it.

    `push_prev` and `push_next` are those of the load.
    """

    def __init__(self, memories: Sequence[MemoryType]) -> None:
        flags = ("active", "worked", "complete", "push_prev", "push_next")
        super().__init__({**{name: Out(1) for name in flags}, "moved": Out(Moved(memories))})


def _row_bits(geometry: Geometry, memories: Sequence[MemoryType]) -> int:
    return max(geometry.row_bits(memory) for memory in memories)
