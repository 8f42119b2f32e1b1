"""A lane of the ALU with the requantize unit: its adder and rounding, around the lane's shifter and multiplier."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import In, Out

from vta.hardware.core.alu import AMOUNT_BITS, AluLane, Shift
from vta.hardware.core.products import whole_product

__all__ = ["RequantizingLane"]

_BITS = 32
_FIRST_SHIFT = 31
_NARROW = signed(8)

_SCALE = StructLayout(
    {"right": AMOUNT_BITS, "lifts": 1, "once": 1, "unused": 1, "zero_point": _NARROW, "low": _NARROW, "high": _NARROW}
)
"""The third row of parameters. With wide results, the place of `zero_point` has the amount of the shift to the left."""


class RequantizingLane(AluLane):
    """An ALU lane that also requantizes the sum of its operands, which are there in S6; so are the parameters, in slots of their
    own, as right operands.

    `scales` is 1 in S7, in which the multiplier is its own. `narrow` is there in S11, `wide` in S12: it is 0 unless `keeps_wide`
    was 1 in S11.
    """

    def __init__(self, *, dsp48: bool = False) -> None:
        self._dsp48 = dsp48
        parameters = {name: In(1) for name in ("is_bias", "is_multiplier", "is_scale")}
        super().__init__(
            bits=_BITS,
            ports={
                "requantize": In(1),
                "scales": In(1),
                "wide_scale": In(1),
                **parameters,
                "keeps_wide": In(1),
                "narrow": Out(8),
                "wide": Out(_BITS),
            },
        )
        self._sum, self._raised, self._multiplier = Signal(signed(_BITS)), Signal(signed(_BITS)), Signal(signed(_BITS))
        self._whole = Signal(signed(2 * _BITS))
        self._left, self._right, self._once = Signal(AMOUNT_BITS), Signal(AMOUNT_BITS), Signal()
        self._zero_point, self._low, self._high = (Signal(_NARROW, name=name) for name in ("zero_point", "low", "high"))

    def elaborate(self, platform: object) -> Module:
        """Build the lane, and what requantizes around it."""
        m = super().elaborate(platform)
        bias = Signal(signed(_BITS))
        m.d.comb += self._sum.eq(self.total + bias)
        with m.If(self.is_bias):
            m.d.sync += bias.eq(self.right)
        with m.If(self.is_multiplier):
            m.d.sync += self._multiplier.eq(self.right)
        self._take_scale(m)
        rounded = self._rounded(m)
        self._clamp(m, rounded)
        return m

    def _product(self, m: Module) -> Value:
        left, right = Mux(self.scales, self._raised, self.left), Mux(self.scales, self._multiplier, self.right)
        product = whole_product(m, left, right) if self._dsp48 else left * right
        m.d.comb += self._whole.eq(product)
        return self._whole

    def _shift(self) -> Shift:
        given, requantize = super()._shift(), self.requantize
        return Shift(
            Mux(requantize, self._sum, given.value),
            given.backwards | requantize,
            given.further & ~requantize,
            Mux(requantize, self._left, given.amount),
            given.beyond & ~requantize,
        )

    def _keep(self, m: Module, left: Value, shift: Shift) -> None:
        m.d.sync += self._raised.eq(left)

    def _take_scale(self, m: Module) -> None:
        """Keep the third row; its bounds come later, as rows of the parameters before are still on their way to them."""
        scale = _SCALE(self.right)
        zero_point, low, high, low_later, high_later = (Signal(_NARROW) for _ in range(5))
        with m.If(self.is_scale):
            m.d.sync += [
                self._left.eq(Mux(self.wide_scale, scale.zero_point[:AMOUNT_BITS], Mux(scale.lifts, -scale.right, 0))),
                self._right.eq(Mux(scale.lifts & ~self.wide_scale, 0, scale.right)),
                self._once.eq(scale.once),
                zero_point.eq(Mux(self.wide_scale, 0, scale.zero_point)),
                low.eq(scale.low),
                high.eq(scale.high),
            ]
        m.d.sync += [
            self._zero_point.eq(zero_point),
            low_later.eq(low),
            high_later.eq(high),
            self._low.eq(low_later),
            self._high.eq(high_later),
        ]

    def _rounded(self, m: Module) -> Value:
        """Return the product, shifted and rounded, with the zero point: S7 to S10, there in S11."""
        fresh, product = Signal(signed(2 * _BITS)), Signal(signed(2 * _BITS))
        m.d.sync += [fresh.eq(self._whole), product.eq(fresh)]
        shifted, carry = Signal(signed(_BITS + 1)), Signal()
        total = Signal(signed(_BITS + 2))
        exact = self._once & (self._right != 0)
        negative = product[-1]
        upwards = product[_FIRST_SHIFT - 1] & ~exact
        downwards = negative & ~self._once & (self._right != 0)
        high, half, tail = _shift_right(m, product[_FIRST_SHIFT:], self._right, negative)
        # The first rounding adds one or not, the second one takes one off if negative: what is left decides at halves.
        m.d.sync += [
            shifted.eq(high),
            carry.eq(Mux(upwards & ~downwards, half | tail, Mux(downwards & ~upwards, half & ~tail, half))),
            total.eq(shifted + self._zero_point + carry),
        ]
        return total

    def _clamp(self, m: Module, total: Value) -> None:
        """Build S11."""
        low_byte, beyond, negative = total[:8].as_signed(), total[7:-1], total[-1]
        over, below, raised = Signal(), Signal(), Signal(_NARROW)
        m.d.comb += [
            over.eq(~negative & beyond.any()),
            below.eq((negative & ~beyond.all()) | (~over & (low_byte < self._low))),
            raised.eq(Mux(below, self._low, low_byte)),
            self.narrow.eq(Mux(self.keeps_wide, low_byte, Mux(over | (raised > self._high), self._high, raised))),
        ]
        m.d.sync += self.wide.eq(Mux(self.keeps_wide, total, 0))


def _shift_right(m: Module, value: Value, amount: Value, flips: Value) -> tuple[Value, Value, Value]:
    """Shift `value`, signed, to the right by `amount`.

    Returns the result, the last bit that was shifted out, and whether all bits that went before it are `flips` inverted.
    """
    moved: Value = Cat(Const(0, 1), value)
    tail: Value = Const(1, 1)
    virgin: Value = Const(1, 1)
    for place in range(len(amount)):
        step, chosen = 1 << place, amount[place]
        dropped = moved[:step]
        # The lowest bit is a place for the half: no bit of the value until something was shifted.
        same = [bit ^ flips for bit in dropped]
        same[0] = same[0] | virgin
        following = Signal(len(moved), name=f"moved_{place}")
        m.d.comb += following.eq(Mux(chosen, Cat(moved[step:], value[-1].replicate(step)), moved))
        tail = tail & (~chosen | Cat(*same).all())
        virgin = virgin & ~chosen
        moved = following
    return moved[1:].as_signed(), moved[0], tail
