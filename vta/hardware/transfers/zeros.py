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
        following, ended = Signal.like(state), Signal()
        # Every count has beside it what it is compared with: a load is complete, and the next begins, with the last element.
        m.d.comb += [
            following.eq(state),
            following.row.eq(element.row + 1),
            pending.eq(state.left_any | state.inner_runs_any | state.last_any),
        ]
        with m.If(state.left_any):
            m.d.comb += [
                element.row.eq(state.row),
                element.last.eq(state.left_one & ~state.inner_runs_any & ~state.last_any),
                following.left.eq(state.left - 1),
                following.left_any.eq(~state.left_one),
                following.left_one.eq(state.left == 2),
            ]
        with m.Elif(state.inner_runs_any):
            m.d.comb += [
                element.row.eq(state.row + state.skip),
                element.last.eq(state.inner_one & state.inner_runs_one & ~state.last_any),
                following.left.eq(state.inner - 1),
                following.left_any.eq(~state.inner_one),
                following.left_one.eq(state.inner == 2),
                following.inner_runs.eq(state.inner_runs - 1),
                following.inner_runs_any.eq(~state.inner_runs_one),
                following.inner_runs_one.eq(state.inner_runs == 2),
            ]
        with m.Else():
            m.d.comb += [
                element.row.eq(Mux(ended, state.row, 0)),
                element.at_end.eq(1),
                element.last.eq(state.last_one),
                following.last_left.eq(state.last_left - 1),
                following.last_any.eq(state.last_any & ~state.last_one),
                following.last_one.eq(state.last_any & (state.last_left == 2)),
            ]
        with m.If(self.loads.valid):
            m.d.sync += [state.eq(self.loads.payload), ended.eq(0)]
        with m.Elif(self.elements.ready):
            m.d.sync += [state.eq(following), ended.eq(element.at_end)]
        return m
