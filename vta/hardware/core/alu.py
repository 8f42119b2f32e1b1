"""The vector ALU: one lane for each scalar of an accumulator row, in one cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Member, Out

from vta.hardware.core.products import low_product
from vta.isa import AluOp

__all__ = ["AMOUNT_BITS", "AluLane", "Shift"]

AMOUNT_BITS = 5
"""Bits of the largest amount of a shift, 31."""


@dataclass(frozen=True)
class Shift:
    """`value` is shifted to the right by `amount`, or to the left if `backwards`; if `beyond`, it is shifted out."""

    value: Value
    backwards: Value
    amount: Value
    beyond: Value


class AluLane(Component):
    """`result` = `left` op `right`, wrapping. SHR by a negative amount shifts left; amounts beyond 31 count as 31.

    A left shift by more than 31 gives 0. Unknown opcodes give `left`. With `split`, MUL takes two multipliers of 25 x 18 bits.
    """

    def __init__(self, *, bits: int, split: bool = False, ports: Mapping[str, Member] | None = None) -> None:
        """`ports` are those that a subclass adds."""
        self._bits = bits
        self._split = split
        scalar = signed(bits)
        super().__init__({"opcode": In(3), "left": In(scalar), "right": In(scalar), "result": Out(scalar)} | dict(ports or {}))

    def elaborate(self, platform: object) -> Module:
        """Build an adder that also compares, a shifter and a multiplier, and choose."""
        m = Module()
        left, right = self.left, self.right
        compares, total = Signal(), Signal(signed(self._bits + 1))
        m.d.comb += [
            compares.eq((self.opcode == int(AluOp.MIN)) | (self.opcode == int(AluOp.MAX))),
            total.eq(left + (right ^ compares.replicate(self._bits + 1).as_signed()) + compares),
            self.result.eq(left),
        ]
        shifted, product, less = self._shifted(m), self._product(m), total[-1]
        with m.Switch(self.opcode):
            with m.Case(int(AluOp.MIN)):
                m.d.comb += self.result.eq(Mux(less, left, right))
            with m.Case(int(AluOp.MAX)):
                m.d.comb += self.result.eq(Mux(less, right, left))
            with m.Case(int(AluOp.ADD)):
                m.d.comb += self.result.eq(total)
            with m.Case(int(AluOp.SHR)):
                m.d.comb += self.result.eq(shifted)
            with m.Case(int(AluOp.MUL)):
                m.d.comb += self.result.eq(product)
        return m

    def _product(self, m: Module) -> Value:
        """Return `left` times `right`, of which the low bits count."""
        return low_product(m, self.left, self.right, self._bits) if self._split else self.left * self.right

    def _shift(self) -> Shift:
        """Return what is to be shifted, and by how much."""
        low, high, backwards = self.right[:AMOUNT_BITS], self.right[AMOUNT_BITS:], self.right[-1]
        beyond = Mux(backwards, ~high.all() | (low == 0), high.any())
        return Shift(self.left, backwards, Mux(backwards, -low, low), beyond)

    def _shifted(self, m: Module) -> Value:
        """Return what is shifted, by one shifter to the right: what is to go to the left, goes through it backwards."""
        shift = self._shift()
        backwards, beyond, fill = Signal(), Signal(), Signal()
        amount, given, moved = Signal(AMOUNT_BITS), Signal(self._bits), Signal(self._bits)
        m.d.comb += [
            backwards.eq(shift.backwards),
            beyond.eq(shift.beyond),
            fill.eq(~backwards & shift.value[-1]),
            amount.eq(shift.amount),
            given.eq(Mux(backwards, _reversed(shift.value), shift.value)),
            moved.eq(Mux(beyond, fill.replicate(self._bits), Cat(given, fill).as_signed() >> amount)),
        ]
        return Mux(backwards, _reversed(moved), moved)


def _reversed(value: Value) -> Value:
    return Cat(*reversed(list(value)))
