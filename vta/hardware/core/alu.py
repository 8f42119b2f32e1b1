"""The vector ALU: one lane for each scalar of an accumulator row, in one cycle."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib.wiring import Component, In, Out

from vta.isa import AluOp

__all__ = ["AluLane"]

_LARGEST_SHIFT = 31


class AluLane(Component):
    """`result` = `left` op `right`, wrapping. SHR by a negative amount shifts left; amounts beyond 31 count as 31.

    A left shift by more than 31 gives 0. Unknown opcodes give `left`.
    """

    def __init__(self, *, bits: int) -> None:
        self._bits = bits
        scalar = signed(bits)
        super().__init__({"opcode": In(3), "left": In(scalar), "right": In(scalar), "result": Out(scalar)})

    def elaborate(self, platform: object) -> Module:
        """Build the five operations."""
        m = Module()
        amount, magnitude = Signal(range(_LARGEST_SHIFT + 1)), Signal(self._bits)
        less, negative, shifted_left = Signal(), Signal(), Signal(self._bits)
        m.d.comb += [
            less.eq(self.left < self.right),
            negative.eq(self.right < 0),
            magnitude.eq(Mux(negative, -self.right, self.right)),
            amount.eq(Mux(magnitude > _LARGEST_SHIFT, _LARGEST_SHIFT, magnitude)),
            shifted_left.eq(Mux(magnitude > _LARGEST_SHIFT, 0, self.left << amount)),
            self.result.eq(self.left),
        ]
        with m.Switch(self.opcode):
            with m.Case(int(AluOp.MIN)):
                m.d.comb += self.result.eq(Mux(less, self.left, self.right))
            with m.Case(int(AluOp.MAX)):
                m.d.comb += self.result.eq(Mux(less, self.right, self.left))
            with m.Case(int(AluOp.ADD)):
                m.d.comb += self.result.eq(self.left + self.right)
            with m.Case(int(AluOp.SHR)):
                m.d.comb += self.result.eq(Mux(negative, shifted_left, self.left >> amount))
            with m.Case(int(AluOp.MUL)):
                m.d.comb += self.result.eq(self.left * self.right)
        return m
