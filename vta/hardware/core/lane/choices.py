"""Choices of the lane with the requantize unit, each of one look-up table of six inputs for a bit; modules, as in `shifting`."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.core.lane.shifting import any_of

__all__ = ["Biased", "Choice", "Outcome", "sum_of"]


class Biased(Component):
    """`summed` is the bias plus `total`, or plus `right` if that is `right_alone`.

    The bias is what `right` was with `is_bias`.
    """

    def __init__(self, *, bits: int) -> None:
        super().__init__(
            {name: In(bits) for name in ("right", "total")}
            | {name: In(1) for name in ("is_bias", "right_alone")}
            | {"summed": Out(bits)}
        )

    def elaborate(self, platform: object) -> Module:
        """Choose in the look-up tables of the adder."""
        m = Module()
        bias = Signal(len(self.right))
        with m.If(self.is_bias):
            m.d.sync += bias.eq(self.right)
        m.d.comb += self.summed.eq(sum_of(bias, Mux(self.right_alone, self.right, self.total), Const(0, 1)))
        return m


class Choice(Component):
    """`chosen` is 0, `left`, `right` or `total`, as `which` says; the bits of its upper half are 1 if they are to be filled."""

    def __init__(self, *, bits: int) -> None:
        super().__init__(
            {name: In(bits) for name in ("left", "right", "total")} | {"which": In(2), "fill": In(1), "chosen": Out(bits)}
        )

    def elaborate(self, platform: object) -> Module:
        """Choose among four."""
        m = Module()
        bits = len(self.chosen)
        chosen = Array([Const(0, bits), self.left, self.right, self.total])[self.which]
        m.d.comb += self.chosen.eq(chosen | Cat(Const(0, bits // 2), self.fill.replicate(bits - bits // 2)))
        return m


class Outcome(Component):
    """`result` has all `others`, and those of the two `values` that it `takes`."""

    def __init__(self, *, bits: int) -> None:
        super().__init__({"values": In(bits).array(2), "takes": In(1).array(2), "others": In(bits).array(2), "result": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        """Put them together."""
        m = Module()
        taken = any_of(list(zip(self.takes, self.values, strict=True)))
        m.d.comb += self.result.eq(taken | self.others[0] | self.others[1])
        return m


def sum_of(plain: Value, chosen: Value, carry: Value) -> Value:
    """Return `plain` + `chosen` + `carry`, with as many bits as `chosen`; what is `chosen` may be of four inputs for each bit.

    An adder's look-up tables take these, too, if the other operand alone goes to its carry chain. Synthesis leaves the
    operands of a sum to chance, but not those of a difference.
    """
    return (Cat(Const(0, 1), plain) - Cat(~carry, ~chosen))[1 : len(chosen) + 1]
