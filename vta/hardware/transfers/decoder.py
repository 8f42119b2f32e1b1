"""Decodes a LOAD: what to request from memory, and the plan by which its data and zeros are written."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.data import StructLayout

from vta.config.targets import MemoryType
from vta.hardware.geometry import ADDRESS_BITS, INSTRUCTION_BITS, Geometry
from vta.isa import Opcode

__all__ = ["SIZE_BITS", "TransferDecoder", "plan_layout", "row_bits"]

SIZE_BITS = 28
"""Bits of a row or a pitch in bytes: 65,535 elements of 4,096 bytes."""
_RUN_BITS = 21
"""Bits of a count of zero elements that lie together."""


def row_bits(geometry: Geometry, memories: Sequence[MemoryType]) -> int:
    """Return the bits of a row number of any of `memories`."""
    return max(geometry.row_bits(memory) for memory in memories)


def zeros_layout(rows: int) -> StructLayout:
    """Return the layout of the zero elements of a load: a first run, equal inner runs `skip` rows apart, and a last run."""
    return StructLayout(
        {
            "row": rows,
            "left": _RUN_BITS,
            "skip": rows,
            "inner": 5,
            "inner_runs": 16,
            "last_row": rows,
            "last_left": _RUN_BITS,
        }
    )


def plan_layout(geometry: Geometry, memories: Sequence[MemoryType]) -> StructLayout:
    """Return the layout of a plan for loads of `memories`.

    `kind` is the place in `memories`; `row`, `pitch`: SRAM rows; `offset`, `stride`: bytes modulo the bus word.
    """
    rows = row_bits(geometry, memories)
    return StructLayout(
        {
            "kind": 2,
            "row": rows,
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


class TransferDecoder(Elaboratable):
    """Decodes `instruction`, a LOAD of one of `memories` that start at `bases`, combinationally.

    `rows` is 0 if nothing is to be done. `known` is 0 if the memory type is none of `memories`.
    """

    def __init__(self, geometry: Geometry, memories: Sequence[MemoryType]) -> None:
        self._geometry = geometry
        self._memories = tuple(memories)
        self.instruction = Signal(INSTRUCTION_BITS)
        self.bases = [Signal(ADDRESS_BITS, name=f"base_{memory.name.lower()}") for memory in memories]
        self.known = Signal()
        self.address = Signal(ADDRESS_BITS)
        self.row_bytes = Signal(SIZE_BITS)
        self.rows = Signal(16)
        self.stride = Signal(SIZE_BITS)
        self.plan = Signal(plan_layout(geometry, memories))

    def elaborate(self, platform: object) -> Module:
        """Build the request side and the plan."""
        m = Module()
        size, dram_base = self._field("x_size"), self._field("dram_base")
        with m.Switch(self._field("memory_type")):
            for kind, memory in enumerate(self._memories):
                log_bytes = self._geometry.hw.log_elem_bytes[memory]
                with m.Case(int(memory)):
                    m.d.comb += [
                        self.known.eq(1),
                        self.plan.kind.eq(kind),
                        self.address.eq(self.bases[kind] + (dram_base << log_bytes)),
                        self.row_bytes.eq(size << log_bytes),
                        self.stride.eq(self._field("x_stride") << log_bytes),
                    ]
        m.d.comb += [
            self.rows.eq(Mux(self.known & (size != 0), self._field("y_size"), 0)),
            self.plan.x_size.eq(size),
            self.plan.rows.eq(self.rows),
            self.plan.offset.eq(self.address),
            self.plan.stride.eq(self.stride),
            self.plan.push_prev.eq(self._field("push_prev")),
            self.plan.push_next.eq(self._field("push_next")),
        ]
        self._place(m)
        return m

    def _place(self, m: Module) -> None:
        """Say which SRAM rows data and zeros go to."""
        zeros = self.plan.zeros
        base, before, after = self._field("sram_base"), self._field("x_pad_0"), self._field("x_pad_1")
        pitch, first_run, last_run, data_rows = Signal(17), Signal(_RUN_BITS), Signal(_RUN_BITS), Signal(16)
        inner = before + after
        m.d.comb += [
            pitch.eq(before + self._field("x_size") + after),
            first_run.eq(_product(pitch, self._field("y_pad_0"), _RUN_BITS) + before),
            last_run.eq(_product(pitch, self._field("y_pad_1"), _RUN_BITS) + after),
            data_rows.eq(_product(pitch, self._field("y_size"), len(zeros.row))),
            self.plan.pitch.eq(pitch),
            self.plan.row.eq(base + first_run),
            zeros.row.eq(base),
            zeros.skip.eq(self._field("x_size")),
            zeros.inner.eq(inner),
            zeros.last_row.eq(base + first_run + data_rows - inner),
        ]
        with m.If(self.rows != 0):
            m.d.comb += [
                zeros.left.eq(first_run),
                zeros.inner_runs.eq(Mux(inner != 0, self._field("y_size") - 1, 0)),
                zeros.last_left.eq(last_run),
            ]

    def _field(self, name: str) -> Value:
        return self._geometry.field(Opcode.LOAD, name, self.instruction)


def _product(left: Value, right: Value, bits: int) -> Value:
    """Return the low `bits` of a product, in adders: address arithmetic is to take no multiplier from the GEMM core."""
    terms: list[Value] = [Cat(Const(0, place), left & bit.replicate(len(left)))[:bits] for place, bit in enumerate(right)]
    while len(terms) > 1:
        pairs = [(a + b)[:bits] for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
    return terms[0]
