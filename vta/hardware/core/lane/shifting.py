"""A shifter of few look-up tables.

Its stages choose among four, with a table of six inputs for each bit. They are modules of their own: synthesis maps those one by
one, and would cut the choices elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Const, Module, Value
from amaranth.lib.wiring import Component, In, Out

__all__ = ["STAGE_BITS", "ShiftStage", "TurnedBack", "TurnedOperand", "any_of", "backwards"]

STAGE_BITS = 2
"""Bits of the amount that a stage takes."""


class ShiftStage(Component):
    """`moved` is `value`, shifted to the right by `amount` times `step` places, with `fill` for what comes from above."""

    def __init__(self, *, bits: int, step: int) -> None:
        self._step = step
        super().__init__({"value": In(bits), "fill": In(1), "amount": In(STAGE_BITS), "moved": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        """Choose among four."""
        m = Module()
        bits, widened = len(self.value), Cat(self.value, self.fill.replicate(self._step << STAGE_BITS))
        choices = [widened[count * self._step :][:bits] for count in range(1 << STAGE_BITS)]
        m.d.comb += self.moved.eq(Array(choices)[self.amount])
        return m


class TurnedOperand(Component):
    """What is to go through a shifter to the right: `left` as it is, or, to go to the left, backwards.

    `further`: it goes to the left by one place more. `sums`: `total` goes to the left in its place, by no place more.
    """

    def __init__(self, *, bits: int) -> None:
        super().__init__({"left": In(bits), "total": In(bits), "further": In(1), "sums": In(1), "operand": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        """Choose among three."""
        m = Module()
        further, total = backwards(self.left)[1:], backwards(self.total)
        m.d.comb += self.operand.eq(Array([self.left, Cat(further, Const(0, 1)), total, total])[Cat(self.further, self.sums)])
        return m


class TurnedBack(Component):
    """The last stage of the shifter, by half the bits or not, and back to where they belong.

    Each of `forth`, `back` has a bit for either: whether the result is `moved` as it is, or backwards. It is 0 without any.
    What comes from above is 0.
    """

    def __init__(self, *, bits: int) -> None:
        super().__init__({"moved": In(bits), "forth": In(2), "back": In(2), "result": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        """Choose by conditions, of which at most one holds."""
        m = Module()
        half = len(self.moved) // 2
        near, far = self.moved, Cat(self.moved[half:], Const(0, half))
        terms = ((self.forth[0], near), (self.forth[1], far), (self.back[0], backwards(near)), (self.back[1], backwards(far)))
        m.d.comb += self.result.eq(any_of(terms))
        return m


def backwards(value: Value) -> Value:
    """Return the bits of `value`, the last one first."""
    return Cat(*reversed(list(value)))


def any_of(terms: Sequence[tuple[Value, Value]]) -> Value:
    """Return the value whose condition holds, or 0 if none does."""
    result: Value = Const(0, 1)
    for condition, value in terms:
        result = result | (value & condition.replicate(len(value)))
    return result
