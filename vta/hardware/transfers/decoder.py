"""Decodes a LOAD: what to request from memory, and the plan by which its data and zeros are written."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.data import View
from amaranth.lib.wiring import Component, In, Out

from vta.config.targets import MemoryType
from vta.hardware.control.interfaces import Bases
from vta.hardware.geometry import INSTRUCTION_BITS, Geometry, base_name
from vta.hardware.ports.bursts import transfer_layout
from vta.hardware.transfers.plan import RUN_BITS, plan_layout, product

__all__ = ["SIZE_BITS", "TransferDecoder"]

SIZE_BITS = 28
"""Bits of a row or a pitch in bytes: 65,535 elements of 4,096 bytes."""
_LOG_PAGE = 12
"""log2 of what the bases of memories are multiples of, in bytes."""


class TransferDecoder(Component):
    """Decodes `instruction`, a LOAD of one of `memories`, which lie at `bases`, combinationally.

    The `transfer` has no rows if nothing is to be done. `known` is 0 if the memory type is none of `memories`.
    """

    def __init__(self, geometry: Geometry, memories: Sequence[MemoryType]) -> None:
        self._geometry = geometry
        self._memories = tuple(memories)
        super().__init__(
            {
                "instruction": In(INSTRUCTION_BITS),
                "bases": In(Bases()),
                "known": Out(1),
                "transfer": Out(transfer_layout(SIZE_BITS)),
                "plan": Out(plan_layout(geometry, memories)),
            }
        )
        self._load = geometry.instruction(self.instruction).load

    def elaborate(self, platform: object) -> Module:
        """Build the request side and the plan."""
        m = Module()
        load, transfer, plan = self._load, self.transfer, self.plan
        with m.Switch(load.memory_type):
            for kind, memory in enumerate(self._memories):
                log_bytes = self._geometry.hw.log_elem_bytes[memory]
                with m.Case(int(memory)):
                    m.d.comb += [
                        self.known.eq(1),
                        plan.kind.eq(kind),
                        transfer.address.eq(_address(getattr(self.bases, base_name(memory)), load.dram_base << log_bytes)),
                        transfer.row_bytes.eq(load.x_size << log_bytes),
                        transfer.stride.eq(load.x_stride << log_bytes),
                    ]
        m.d.comb += [
            transfer.rows.eq(Mux(self.known & (load.x_size != 0), load.y_size, 0)),
            plan.x_size.eq(load.x_size),
            plan.rows.eq(transfer.rows),
            plan.offset.eq(transfer.address),
            plan.stride.eq(transfer.stride),
            plan.push_prev.eq(load.push_prev),
            plan.push_next.eq(load.push_next),
        ]
        self._place(m)
        return m

    def _place(self, m: Module) -> None:
        """Say which SRAM rows data and zeros go to."""
        load, plan = self._load, self.plan
        zeros = plan.zeros
        pitch, first_run, last_run, inner = Signal(17), Signal(RUN_BITS), Signal(RUN_BITS), Signal(5)
        m.d.comb += [
            inner.eq(load.x_pad_0 + load.x_pad_1),
            pitch.eq(load.x_size + inner),
            first_run.eq(_run(load.x_size, inner, load.y_pad_0, load.x_pad_0)),
            last_run.eq(_run(load.x_size, inner, load.y_pad_1, load.x_pad_1)),
            plan.pitch.eq(pitch),
            zeros.row.eq(load.sram_base),
            zeros.skip.eq(load.x_size),
            zeros.inner.eq(inner),
        ]
        m.d.comb += [
            zeros.left.eq(first_run),
            zeros.left_one.eq(_is_one(load, load.y_pad_0, load.x_pad_0, load.x_pad_1)),
            zeros.inner_one.eq(inner == 1),
            zeros.inner_runs.eq(load.y_size - 1),
            zeros.inner_runs_one.eq(load.y_size == 2),
            zeros.last_left.eq(last_run),
            zeros.last_one.eq(_is_one(load, load.y_pad_1, load.x_pad_1, load.x_pad_0)),
        ]
        with m.If(self.transfer.rows != 0):
            m.d.comb += [
                zeros.left_any.eq((load.y_pad_0 != 0) | (load.x_pad_0 != 0)),
                zeros.inner_runs_any.eq((inner != 0) & (load.y_size != 1)),
                zeros.last_any.eq((load.y_pad_1 != 0) | (load.x_pad_1 != 0)),
            ]


def _address(base: Value, offset: Value) -> Value:
    """Return the sum of both: of `base`, a multiple of a page, no lower bit counts, so that these are there at once."""
    return Cat(offset[:_LOG_PAGE], base[_LOG_PAGE:] + offset[_LOG_PAGE:])[: len(base)]


def _is_one(load: View, rows: Value, beside: Value, beyond: Value) -> Value:
    """Return whether a run is of one element: one `beside` the data, or the only one of a row."""
    return ((rows == 0) & (beside == 1)) | ((rows == 1) & (beside == 0) & (load.x_size == 1) & (beyond == 0))


def _run(size: Value, inner: Value, rows: Value, beside: Value) -> Value:
    """Return how many zero elements `rows` rows have, of `size` and `inner`, with those `beside` the data.

    The small numbers are added up by themselves: the sum of all is not to wait for them.
    """
    return product(size, rows, RUN_BITS) + (product(inner, rows, len(inner) + len(rows)) + beside)
