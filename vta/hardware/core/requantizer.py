"""A lane of the ALU with the requantize unit, which shares its adder, its shifter and its multipliers.

It is put together of few look-up tables, not as the plain lane is: what is chosen among, is chosen among at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.core.lane.choices import Biased, Choice, Outcome, sum_of
from vta.hardware.core.lane.rounder import AMOUNT_BITS, Rounder
from vta.hardware.core.lane.shifting import STAGE_BITS, ShiftStage, TurnedBack, TurnedOperand
from vta.hardware.core.products import whole_product
from vta.isa import AluOp

__all__ = ["RequantizingLane"]

_BITS = 32


@dataclass(frozen=True)
class _Operations:
    """What the lane is to do in S7: at most one of these."""

    is_min: Value
    is_max: Value
    adds: Value
    shifts: Value
    multiplies: Value
    unknown: Value
    """An opcode that does not exist: the left operand is left as it is."""


class RequantizingLane(Component):
    """A lane as `AluLane` is, of 32 bits, that also requantizes the sum of its operands; all are there in S7.

    So are the parameters, in slots of their own, as right operands. With `right_alone` the right operand is the sum. `scales` is
    1 in S8, in which the multiplier is its own. The rest is that of `Rounder`, whose `wide` is part of the `result`.
    """

    def __init__(self, *, dsp48: bool = False) -> None:
        self._dsp48 = dsp48
        scalar = signed(_BITS)
        flags = (
            *("cleared", "requantize", "right_alone", "scales", "wide_scale"),
            *("is_bias", "is_multiplier", "is_scale", "requantizes", "keeps_wide"),
        )
        super().__init__(
            {
                "opcode": In(3),
                "left": In(scalar),
                "right": In(scalar),
                **{name: In(1) for name in flags},
                "passed": In(8),
                "result": Out(scalar),
                "narrow": Out(8),
            }
        )
        self._rounder = Rounder()

    def elaborate(self, platform: object) -> Module:
        """Build S7, the product, and what rounds it."""
        m = Module()
        m.submodules.rounder = self._rounder
        does = self._operations(m)
        compares = does.is_min | does.is_max
        inverted, total = Signal(signed(_BITS + 1)), Signal(signed(_BITS + 1))
        m.d.comb += [
            inverted.eq(self.right ^ compares.replicate(_BITS + 1).as_signed()),
            total.eq(sum_of(Cat(self.left, self.left[-1]), inverted, compares)),
        ]
        summed = self._summed(m, total)
        shifted, fill = self._shifted(m, does.shifts, summed)
        product = self._product(m, shifted)
        chosen = self._chosen(m, does, total, fill)
        m.submodules.outcome = outcome = Outcome(bits=_BITS)
        m.d.comb += [
            *(outcome.values[0].eq(product), outcome.takes[0].eq(does.multiplies)),
            *(outcome.values[1].eq(shifted), outcome.takes[1].eq(does.shifts)),
            *(outcome.others[0].eq(chosen), outcome.others[1].eq(self._rounder.wide)),
            self.result.eq(outcome.result),
        ]
        self._connect(m)
        return m

    def _summed(self, m: Module, total: Value) -> Value:
        """Return what is to be requantized: the sum of the operands, or the right one, and the bias."""
        m.submodules.biased = biased = Biased(bits=_BITS)
        m.d.comb += [
            *(biased.total.eq(total), biased.right.eq(self.right), biased.right_alone.eq(self.right_alone)),
            biased.is_bias.eq(self.is_bias),
        ]
        return biased.summed

    def _operations(self, m: Module) -> _Operations:
        operations = {op: Signal(name=f"is_{op.name.lower()}") for op in AluOp if op is not AluOp.REQUANTIZE}
        m.d.comb += [signal.eq((self.opcode == int(op)) & ~self.cleared) for op, signal in operations.items()]
        unknown = Signal()
        m.d.comb += unknown.eq((self.opcode > int(max(operations))) & ~self.cleared)
        return _Operations(
            is_min=operations[AluOp.MIN],
            is_max=operations[AluOp.MAX],
            adds=operations[AluOp.ADD],
            shifts=operations[AluOp.SHR],
            multiplies=operations[AluOp.MUL],
            unknown=unknown,
        )

    def _chosen(self, m: Module, does: _Operations, total: Value, fill: Value) -> Value:
        """Return the sum, or the operand that MIN or MAX takes; in the upper half with what a shift fills up with."""
        less = total[-1]
        takes_left, takes_right = Signal(), Signal()
        m.d.comb += [
            takes_left.eq((does.is_min & less) | (does.is_max & ~less) | does.unknown),
            takes_right.eq((does.is_min & ~less) | (does.is_max & less)),
        ]
        m.submodules.choice = choice = Choice(bits=_BITS)
        m.d.comb += [
            choice.which.eq(Cat(takes_left | does.adds, takes_right | does.adds)),
            choice.fill.eq(fill),
            *(choice.left.eq(self.left), choice.right.eq(self.right), choice.total.eq(total)),
        ]
        return choice.chosen

    def _shifted(self, m: Module, shifts: Value, summed: Value) -> tuple[Value, Value]:
        """Return the left operand as SHR has it, or what is `summed`, shifted to the left; and what fills the upper half.

        What is to go to the left, goes backwards through a shifter to the right. It goes by one place more, as a negative amount
        is not negated, but inverted.
        """
        m.submodules.turned = turned = TurnedOperand(bits=_BITS)
        m.submodules.turned_back = back = TurnedBack(bits=_BITS)
        low, high, backwards = self.right[:AMOUNT_BITS], self.right[AMOUNT_BITS:], self.right[-1]
        beyond, amount, fill, forth, behind = Signal(), Signal(AMOUNT_BITS), Signal(), Signal(), Signal()
        m.d.comb += [
            beyond.eq(Mux(backwards, ~high.all(), high.any())),
            amount.eq(Mux(self.requantize, self._rounder.left, Mux(backwards, ~low, low | beyond.replicate(AMOUNT_BITS)))),
            fill.eq(self.left[-1] & ~backwards & ~self.requantize),
            forth.eq(~backwards & ~self.requantize),
            behind.eq((backwards & ~beyond) | self.requantize),
            turned.left.eq(self.left),
            turned.total.eq(summed),
            turned.further.eq(backwards),
            turned.sums.eq(self.requantize),
        ]
        moved: Value = turned.operand
        for place in range(0, AMOUNT_BITS - 1, STAGE_BITS):
            m.submodules[f"stage_{place}"] = stage = ShiftStage(bits=_BITS, step=1 << place)
            m.d.comb += [stage.value.eq(moved), stage.fill.eq(fill), stage.amount.eq(amount[place : place + STAGE_BITS])]
            moved = stage.moved
        far = amount[-1]
        m.d.comb += [
            back.moved.eq(moved),
            back.forth.eq(Cat(forth & ~far, forth & far)),
            back.back.eq(Cat(behind & ~far, behind & far)),
        ]
        return back.result, fill & far & shifts

    def _product(self, m: Module, shifted: Value) -> Value:
        """Return the product of the operands; if it `scales`, that of what was shifted in the cycle before."""
        raised, multiplier, whole = Signal(signed(_BITS)), Signal(signed(_BITS)), Signal(signed(2 * _BITS))
        m.d.sync += raised.eq(shifted)
        with m.If(self.is_multiplier):
            m.d.sync += multiplier.eq(self.right)
        left, right = Mux(self.scales, raised, self.left), Mux(self.scales, multiplier, self.right)
        m.d.comb += [
            whole.eq(whole_product(m, left, right) if self._dsp48 else left * right),
            self._rounder.product.eq(whole),
        ]
        return whole[:_BITS]

    def _connect(self, m: Module) -> None:
        """Give the rounder what it knows of the micro-ops, and its bytes to the output."""
        rounder = self._rounder
        m.d.comb += [
            rounder.scale.eq(self.right),
            *(getattr(rounder, name).eq(getattr(self, name)) for name in ("is_scale", "wide_scale", "requantizes", "keeps_wide")),
            rounder.passed.eq(self.passed),
            self.narrow.eq(rounder.narrow),
        ]
