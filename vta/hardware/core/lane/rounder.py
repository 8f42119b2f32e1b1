"""What becomes of a product in the requantize unit: shifted, rounded, with the zero point, clamped."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.data import StructLayout, View
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.core.lane.choices import sum_of
from vta.hardware.core.lane.clamp import Clamp
from vta.hardware.core.lane.shifting import STAGE_BITS, ShiftStage

__all__ = ["AMOUNT_BITS", "Rounder"]

AMOUNT_BITS = 5
"""Bits of the largest amount of a shift, 31."""
_BITS = 32
_FIRST_SHIFT = 31
_FAR = 1 << AMOUNT_BITS - 1
"""Places of the highest bit of an amount."""
_BYTE = 8
_NARROW = signed(_BYTE)

_SCALE = StructLayout(
    {"right": AMOUNT_BITS, "lifts": 1, "once": 1, "unused": 1, "zero_point": _NARROW, "low": _NARROW, "high": _NARROW}
)
"""The third row of parameters. With wide results, the place of `zero_point` has the amount of the shift to the left."""


class Rounder(Component):
    """Takes a `product` in S8, and has a byte of the row to write in S12, `narrow`, and in S13 the row `wide`.

    The latter is 0 unless `keeps_wide` was 1 in S12. If not `requantizes` in S12, `narrow` is the byte `passed`. The parameters
    come in S7 with `is_scale`; `left` is the amount of the shift before the product, from S8 on.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "product": In(signed(2 * _BITS)),
                "scale": In(_SCALE),
                "is_scale": In(1),
                "wide_scale": In(1),
                "requantizes": In(1),
                "keeps_wide": In(1),
                "passed": In(_BYTE),
                "left": Out(AMOUNT_BITS),
                "narrow": Out(_BYTE),
                "wide": Out(_BITS),
            }
        )
        self._right, self._once = Signal(AMOUNT_BITS), Signal()
        self._zero_point, self._low, self._high = (Signal(_NARROW, name=name) for name in ("zero_point", "low", "high"))

    def elaborate(self, platform: object) -> Module:
        """Build S9 to S12."""
        m = Module()
        self._take_scale(m)
        self._clamp(m, self._rounded(m))
        return m

    def _take_scale(self, m: Module) -> None:
        """Keep the third row; its bounds come later, as rows of the parameters before are still on their way to them."""
        scale: View[StructLayout] = self.scale
        zero_point, low, high, low_later, high_later = (Signal(_NARROW) for _ in range(5))
        with m.If(self.is_scale):
            m.d.sync += [
                self.left.eq(Mux(self.wide_scale, scale.zero_point[:AMOUNT_BITS], Mux(scale.lifts, -scale.right, 0))),
                self._right.eq(Mux(scale.lifts & ~self.wide_scale, 0, scale.right)),
                self._once.eq(scale.once),
                zero_point.eq(scale.zero_point),
                low.eq(scale.low),
                high.eq(scale.high),
            ]
        with m.If(self.is_scale & self.wide_scale):
            m.d.sync += zero_point.eq(0)
        m.d.sync += [
            self._zero_point.eq(zero_point),
            low_later.eq(low),
            high_later.eq(high),
            self._low.eq(low_later),
            self._high.eq(high_later),
        ]

    def _rounded(self, m: Module) -> Value:
        """Return the product, shifted and rounded, with the zero point: there in S12."""
        fresh, product = Signal(signed(2 * _BITS)), Signal(signed(2 * _BITS))
        m.d.sync += [fresh.eq(self.product), product.eq(fresh)]
        value, below, negative = product[_FIRST_SHIFT:], product[_FIRST_SHIFT - 1], product[-1]
        # The lowest bit is a place for the half.
        stages = self._stages(m, Cat(Const(0, 1), value), negative)
        moved, far, carry = Signal(len(value)), Signal(), Signal()
        m.d.sync += [
            moved.eq(stages[-1][1:]),
            far.eq(self._right[-1]),
            carry.eq(self._carry(m, stages, below, negative)),
        ]
        # The last stage lies before the adder: both are in one look-up table for each bit.
        shifted = Mux(far, Cat(moved[_FAR:], moved[-1].replicate(_FAR)), moved)
        total = Signal(signed(_BITS + 1))
        zero_point = Cat(self._zero_point, self._zero_point[-1].replicate(len(total) - _BYTE))
        m.d.sync += total.eq(sum_of(zero_point, shifted, carry))
        return total

    def _stages(self, m: Module, value: Value, negative: Value) -> list[Value]:
        """Return `value`, and what each stage but the last makes of it."""
        stages = [value]
        for place in range(0, AMOUNT_BITS - 1, STAGE_BITS):
            m.submodules[f"stage_{place}"] = stage = ShiftStage(bits=len(value), step=1 << place)
            m.d.comb += [
                stage.value.eq(stages[-1]),
                stage.fill.eq(negative),
                stage.amount.eq(self._right[place : place + STAGE_BITS]),
            ]
            stages.append(stage.moved)
        return stages

    def _carry(self, m: Module, stages: list[Value], below: Value, negative: Value) -> Value:
        """Return what rounding adds: 0 or 1.

        The first rounding adds one or not, by the bit `below`; the second one takes one off if negative. What is left decides at
        halves: whether all bits after the half are 1, if one is added, or 0, if one is taken off.
        """
        right, shifts = self._right, self._right.any()
        exact, away = Signal(), Signal()
        half, tail = Signal(), Signal()
        m.d.comb += [
            exact.eq(self._once & shifts),
            away.eq(~self._once & shifts),
            half.eq(Mux(right[-1], stages[-1][_FAR], stages[-1][0])),
        ]
        first, second, third = stages
        low, middle = right[:STAGE_BITS], right[STAGE_BITS : 2 * STAGE_BITS]

        def decides(bits: Value, nothing_before: Value | None = None) -> Value:
            """Whether all `bits` are such; the lowest is none if there was `nothing_before` it."""
            same = bits ^ negative.replicate(len(bits))
            return same.all() if nothing_before is None else same[1:].all() & (same[0] | nothing_before)

        nothing_low, nothing = Signal(), Signal()
        m.d.comb += [nothing_low.eq(low == 0), nothing.eq(right[: 2 * STAGE_BITS] == 0)]
        groups = [decides(second[:4], nothing_low), decides(second[4:8]), decides(second[8:12])]
        m.d.comb += tail.eq(
            ((low < 2) | decides(first[1:2]))
            & ((low < 3) | decides(first[2:3]))
            & ((middle < 1) | groups[0])
            & ((middle < 2) | groups[1])
            & ((middle < 3) | groups[2])
            & (~right[-1] | decides(third[:_FAR], nothing))
        )
        upwards, downwards = below & ~exact, negative & away
        return Mux(upwards & ~downwards, half | tail, Mux(downwards & ~upwards, half & ~tail, half))

    def _clamp(self, m: Module, total: Value) -> None:
        """Build S12."""
        m.submodules.clamp = clamp = Clamp(bits=len(total))
        m.d.comb += [
            *(clamp.total.eq(total), clamp.low.eq(self._low), clamp.high.eq(self._high)),
            *(clamp.wide.eq(self.keeps_wide), clamp.clamps.eq(self.requantizes), clamp.passed.eq(self.passed)),
            self.narrow.eq(clamp.narrow),
        ]
        m.d.sync += self.wide.eq(Mux(self.keeps_wide, total, 0))
