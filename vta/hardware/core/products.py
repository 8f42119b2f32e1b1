"""Products cut into what multipliers take: of 25 x 18 bits (DSP48 of Xilinx), or of 18 x 18."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value, signed

__all__ = ["PACKED_BITS", "low_product", "packed_product", "thirds_product", "unpacked", "whole_product"]

_A_BITS, _B_BITS = 24, 17
"""What the two inputs of a multiplier hold beside a sign."""
_SUM_BITS = 48
"""Of a multiplier's output, with what is added."""
_PRODUCT_BITS = 16
"""Bits of the product of two scalars of 8 bits."""
PACKED_BITS = 2 * _PRODUCT_BITS
"""Bits of two such products from one multiplier."""


def packed_product(high: Value, low: Value, factor: Value) -> Value:
    """Return `high` * `factor` and `low` * `factor`, signed 8-bit scalars, as one product for one multiplier: see `unpacked`.

    What is added keeps the lower product from borrowing of the upper one.
    """
    return (high.shift_left(_PRODUCT_BITS) + low) * factor + (1 << _PRODUCT_BITS - 1)


def unpacked(product: Value) -> tuple[Value, Value]:
    """Return the upper and the lower one of the signed products that `packed_product` made."""
    low = Cat(product[: _PRODUCT_BITS - 1], ~product[_PRODUCT_BITS - 1])
    return product[_PRODUCT_BITS:PACKED_BITS].as_signed(), low.as_signed()


def low_product(m: Module, left: Value, right: Value, bits: int) -> Value:
    """Return the low `bits` of a product, in two multipliers; what is left over of 32 bits is 8 x 8 bits, in logic."""
    rest = bits - _B_BITS
    low = Signal(bits, name="product_low")
    m.d.comb += low.eq(left[:_A_BITS] * right[:_B_BITS])
    if rest <= 0:
        return low
    upper = Signal(rest, name="product_high")
    m.d.comb += upper.eq(low[_B_BITS:] + left[:rest] * right[_B_BITS:bits])
    beyond = _in_logic(left[_A_BITS:bits], right, bits - _A_BITS)
    return Cat(low[:_B_BITS], upper[: _A_BITS - _B_BITS], upper[_A_BITS - _B_BITS :] + beyond)[:bits]


def thirds_product(m: Module, left: Value, right: Value, bits: int) -> Value:
    """Return the low `bits` of a product, at most 32, of three multipliers of 18 x 18 bits whose outputs one adder adds up."""
    half = bits // 2
    low, first, second = (
        Signal(2 * half, name="product_low"),
        Signal(half, name="product_left"),
        Signal(half, name="product_right"),
    )
    m.d.comb += [
        low.eq(left[:half] * right[:half]),
        first.eq(left[half:] * right[:half]),
        second.eq(left[:half] * right[half:]),
    ]
    upper = low[half:]
    # Three terms are made two, bit by bit: one chain of carries less.
    carries = (upper & first) | (upper & second) | (first & second)
    return Cat(low[:half], ((upper ^ first ^ second) + Cat(Const(0, 1), carries))[:half])


def whole_product(m: Module, left: Value, right: Value) -> Value:
    """Return the product of two signed values of 32 bits in four multipliers, each with the high bits of the one before added."""
    low_left, high_left = left[:_B_BITS], left[_B_BITS:].as_signed()
    low_right, high_right = right[:_A_BITS], right[_A_BITS:].as_signed()
    parts: list[Value] = []
    carried: Value = Const(0, 1)
    # Each with the bits that none after it adds to.
    for index, (one, other, final) in enumerate(
        (
            (low_left, low_right, _B_BITS),
            (high_left, low_right, _A_BITS - _B_BITS),
            (low_left, high_right, _B_BITS),
            (high_left, high_right, 2 * len(left) - _A_BITS - _B_BITS),
        )
    ):
        total = Signal(signed(_SUM_BITS), name=f"product_{index}")
        m.d.comb += total.eq(one * other + carried)
        parts.append(total[:final])
        carried = total[final:].as_signed()
    return Cat(parts).as_signed()


def _in_logic(left: Value, right: Value, bits: int) -> Value:
    """Return the low `bits` of a product, as a sum of rows."""
    rows = [Cat(Const(0, place), left & right[place].replicate(len(left)))[:bits] for place in range(bits)]
    while len(rows) > 1:
        rows = [sum(rows[i : i + 2], Const(0))[:bits] for i in range(0, len(rows), 2)]
    return rows[0]
