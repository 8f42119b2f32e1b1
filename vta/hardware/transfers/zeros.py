"""Walks over the zero elements of a load, wherever they lie: one a cycle, without a pause between runs."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.transfers.plan import zeros_layout

__all__ = ["ZeroElements"]


class ZeroElements(Component):
    """Gives the `elements` of the load that came last with `loads`: their SRAM rows, and whether it is the `last`.

    The rows of the last run, `at_end`, count from its beginning.
    """

    def __init__(self, *, row_bits: int) -> None:
        self._layout = zeros_layout(row_bits)
        super().__init__(
            {
                "loads": In(stream.Signature(self._layout, always_ready=True)),
                "elements": Out(stream.Signature(StructLayout({"row": row_bits, "at_end": 1, "last": 1}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the choice among the current run, the next inner run and the last run."""
        m = Module()
        element, pending = self.elements.payload, self.elements.valid
        state = Signal(self._layout)
        left, ended = Signal.like(state.left), Signal()
        inner_runs, last_left = Signal.like(state.inner_runs), Signal.like(state.last_left)
        m.d.comb += [
            inner_runs.eq(state.inner_runs),
            last_left.eq(state.last_left),
            pending.eq((state.left != 0) | (state.inner_runs != 0) | (state.last_left != 0)),
            element.last.eq(pending & (left == 0) & (inner_runs == 0) & (last_left == 0)),
        ]
        with m.If(state.left != 0):
            m.d.comb += [element.row.eq(state.row), left.eq(state.left - 1)]
        with m.Elif(state.inner_runs != 0):
            m.d.comb += [
                element.row.eq(state.row + state.skip),
                left.eq(state.inner - 1),
                inner_runs.eq(state.inner_runs - 1),
            ]
        with m.Else():
            # What is left of the last run is told by `last_left`, so that its first element is like the others.
            m.d.comb += [
                element.row.eq(Mux(ended, state.row, 0)),
                element.at_end.eq(1),
                last_left.eq(Mux(pending, state.last_left - 1, 0)),
            ]
        with m.If(self.loads.valid):
            m.d.sync += [state.eq(self.loads.payload), ended.eq(0)]
        with m.Elif(self.elements.ready):
            m.d.sync += [
                state.row.eq(element.row + 1),
                ended.eq(element.at_end),
                state.left.eq(left),
                state.inner_runs.eq(inner_runs),
                state.last_left.eq(last_left),
            ]
        return m
