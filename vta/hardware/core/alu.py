"""The vector ALU: one lane for each scalar of an accumulator row, in one cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Member, Out

from vta.hardware.core.products import low_product, thirds_product
from vta.isa import AluOp

__all__ = ["AMOUNT_BITS", "AluLane", "Shift"]

AMOUNT_BITS = 5
"""Bits of the largest amount of a shift, 31."""


@dataclass(frozen=True)
class Shift:
    """`value` is shifted to the right by `amount`, or to the left if `backwards`; if `beyond`, it is shifted out.

    `further`: by one place more, to the left.
    """

    value: Value
    backwards: Value
    further: Value
    amount: Value
    beyond: Value


class AluLane(Component):
    """`result` = `left` op `right`, wrapping, or 0 if it is to be `cleared`.

    SHR by a negative amount shifts left; amounts beyond 31 count as 31. A left shift by more than 31 gives 0. Unknown opcodes
    give `left`. With `split`, MUL takes two multipliers of 25 x 18 bits, otherwise three of 16 x 16.
    """

    def __init__(self, *, bits: int, split: bool = False, ports: Mapping[str, Member] | None = None) -> None:
        """`ports` are those that a subclass adds."""
        self._bits = bits
        self._split = split
        self.total = Signal(signed(bits + 1))
        """`left` + `right`, unless the operation compares."""
        scalar = signed(bits)
        members = {"opcode": In(3), "cleared": In(1), "left": In(scalar), "right": In(scalar), "result": Out(scalar)}
        super().__init__(members | dict(ports or {}))

    def elaborate(self, platform: object) -> Module:
        """Build an adder that also compares, a shifter and a multiplier, and choose: what comes late passes little."""
        m = Module()
        left, right = self.left, self.right
        operations = (AluOp.MIN, AluOp.MAX, AluOp.ADD, AluOp.SHR, AluOp.MUL)
        is_min, is_max, adds, shifts, multiplies = (Signal(name=f"is_{operation.name.lower()}") for operation in operations)
        unknown, takes_left, takes_right = Signal(), Signal(), Signal()
        compares, total = Signal(), self.total
        m.d.comb += [
            *(
                signal.eq((self.opcode == int(operation)) & ~self.cleared)
                for signal, operation in zip((is_min, is_max, adds, shifts, multiplies), operations, strict=True)
            ),
            unknown.eq((self.opcode > max(map(int, operations))) & ~self.cleared),
            compares.eq(is_min | is_max),
            total.eq(left + (right ^ compares.replicate(self._bits + 1).as_signed()) + compares),
            takes_left.eq((is_min & total[-1]) | (is_max & ~total[-1]) | unknown),
            takes_right.eq((is_min & ~total[-1]) | (is_max & total[-1])),
        ]
        shifted, product = self._shifted(m, shifts), self._product(m)
        chosen = _where(takes_left, left) | _where(takes_right, right)
        # Synthesis knows nothing of how late products are: all else is to be put together before.
        others = Signal(self._bits, name="others", attrs={"keep": 1})
        m.d.comb += [
            others.eq(_where(adds, total) | shifted | chosen),
            self.result.eq(_where(multiplies, product) | others),
        ]
        return m

    def _product(self, m: Module) -> Value:
        """Return `left` times `right`, of which the low bits count."""
        return (low_product if self._split else thirds_product)(m, self.left, self.right, self._bits)

    def _shift(self) -> Shift:
        """Return what is to be shifted, and by how much: to the left by one more, as the amount is not negated, but inverted."""
        low, high, backwards = self.right[:AMOUNT_BITS], self.right[AMOUNT_BITS:], self.right[-1]
        return Shift(
            self.left, backwards, backwards, low ^ backwards.replicate(AMOUNT_BITS), Mux(backwards, ~high.all(), high.any())
        )

    def _shifted(self, m: Module, enable: Value) -> Value:
        """Return what is shifted, by one shifter to the right: what is to go to the left, goes through it backwards.

        It is 0 without `enable`.
        """
        shift, bits = self._shift(), self._bits
        backwards, fill, amount, given, moved = Signal(), Signal(), Signal(AMOUNT_BITS), Signal(bits), Signal(bits)
        forth, back, out = Signal(), Signal(), Signal()
        turned = _reversed(shift.value)
        m.d.comb += [
            backwards.eq(shift.backwards),
            fill.eq(~backwards & shift.value[-1]),
            amount.eq(shift.amount),
            given.eq(Mux(backwards, Mux(shift.further, turned[1:], turned), shift.value)),
            moved.eq(Cat(given, fill).as_signed() >> amount),
            forth.eq(enable & ~backwards & ~shift.beyond),
            back.eq(enable & backwards & ~shift.beyond),
            out.eq(enable & shift.beyond & fill),
        ]
        self._keep(m, _reversed(moved), shift)
        return _where(forth, moved) | _where(back, _reversed(moved)) | out.replicate(bits)

    def _keep(self, m: Module, left: Value, shift: Shift) -> None:
        """Let a subclass keep what was shifted to the `left`."""


def _where(condition: Value, value: Value) -> Value:
    return value & condition.replicate(len(value))


def _reversed(value: Value) -> Value:
    return Cat(*reversed(list(value)))
