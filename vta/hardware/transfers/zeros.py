"""Walks over the zero elements of a load, wherever they lie: one a cycle, without a pause between runs."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Mux, Signal

from vta.hardware.transfers.decoder import zeros_layout

__all__ = ["ZeroElements"]


class ZeroElements(Elaboratable):
    """After `start` with `plan`, `row` is the row of the next zero element while `pending`; `take` goes on to the next.

    `last` is 1 if the pending element is the only one left.
    """

    def __init__(self, rows: int) -> None:
        self._layout = zeros_layout(rows)
        self.start = Signal()
        self.plan = Signal(self._layout)
        self.take = Signal()
        self.pending = Signal()
        self.last = Signal()
        self.row = Signal(rows)

    def elaborate(self, platform: object) -> Module:
        """Build the choice among the current run, the next inner run and the last run."""
        m = Module()
        state = Signal(self._layout)
        left = Signal.like(state.left)
        inner_runs, last_left = Signal.like(state.inner_runs), Signal.like(state.last_left)
        m.d.comb += [
            inner_runs.eq(state.inner_runs),
            last_left.eq(state.last_left),
            self.pending.eq((state.left != 0) | (state.inner_runs != 0) | (state.last_left != 0)),
            self.last.eq(self.pending & (left == 0) & (inner_runs == 0) & (last_left == 0)),
        ]
        with m.If(state.left != 0):
            m.d.comb += [self.row.eq(state.row), left.eq(state.left - 1)]
        with m.Elif(state.inner_runs != 0):
            m.d.comb += [
                self.row.eq(state.row + state.skip),
                left.eq(state.inner - 1),
                inner_runs.eq(state.inner_runs - 1),
            ]
        with m.Else():
            m.d.comb += [self.row.eq(state.last_row), left.eq(Mux(self.pending, state.last_left - 1, 0)), last_left.eq(0)]
        with m.If(self.start):
            m.d.sync += state.eq(self.plan)
        with m.Elif(self.take):
            m.d.sync += [
                state.row.eq(self.row + 1),
                state.left.eq(left),
                state.inner_runs.eq(inner_runs),
                state.last_left.eq(last_left),
            ]
        return m
