"""Exponentials and their kin of float32, as polynomials: the same operations on scalars and on vectors.

Bounds of error are those that the tests hold over all of float32, in units in the last place of the right result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from vta.host.polynomials import (
    ERF_BORDER,
    ERF_FAR,
    ERF_NEAR,
    EXP,
    EXP_DOUBLE,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG,
    LOG2_E,
    LOG_DOUBLE,
    TANH,
)

__all__ = ["FUNCTIONS", "Math"]


class Math:
    """Writes functions of values of one type, scalars or vectors of float32, at a builder's position."""

    def __init__(self, builder: ir.IRBuilder, kind: Any, scales: int = 0) -> None:
        """`scales` is how many lanes an instruction of the processor multiplies by powers of two; 0 if it has none."""
        self.builder = builder
        self.scales = scales
        self.count: int | None = kind.count if isinstance(kind, ir.VectorType) else None

    def type(self, item: Any) -> Any:
        """As many of an item as there are lanes."""
        return item if self.count is None else ir.VectorType(item, self.count)

    def number(self, value: float, item: Any = ir.FloatType()) -> Any:  # noqa: B008
        """A constant."""
        return ir.Constant(self.type(item), value if self.count is None else [value] * self.count)

    def call(self, name: str, *operands: Any) -> Any:
        """An intrinsic function of LLVM."""
        kind = operands[0].type
        item = kind.element if isinstance(kind, ir.VectorType) else kind
        lanes = "" if self.count is None else f"v{self.count}"
        symbol = f"llvm.{name}.{lanes}{'f32' if isinstance(item, ir.FloatType) else 'f64'}"
        known = self.builder.module.globals.get(symbol)
        function = known or ir.Function(self.builder.module, ir.FunctionType(kind, [kind] * len(operands)), symbol)
        return self.builder.call(function, operands)

    def fused(self, left: Any, right: Any, term: Any) -> Any:
        """``left * right + term``, rounded once where the processor can."""
        return self.call("fmuladd", left, right, term)

    def polynomial(self, x: Any, factors: Sequence[float], item: Any = ir.FloatType()) -> Any:  # noqa: B008
        """``factors[0] + factors[1] * x + ...``."""
        total = self.number(factors[-1], item)
        for factor in reversed(factors[:-1]):
            total = self.fused(total, x, self.number(factor, item))
        return total

    def select(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """One of two values, lane by lane."""
        return self.builder.select(condition, then, otherwise)

    def less(self, left: Any, right: Any) -> Any:
        """Whether a float is less; not so of NaN."""
        return self.builder.fcmp_ordered("<", left, right)

    def limited(self, x: Any, low: Any, high: Any) -> Any:
        """The value within bounds; NaN stays."""
        x = self.select(self.less(x, low), low, x)
        return self.select(self.less(high, x), high, x)

    def power_of_two(self, exponent: Any) -> Any:
        """2 to an int32 from -126 to 127."""
        biased = self.builder.add(exponent, self.number(127, ir.IntType(32)))
        return self.builder.bitcast(self.builder.shl(biased, self.number(23, ir.IntType(32))), self.type(ir.FloatType()))

    def scaled(self, value: Any, exponent: Any) -> Any:
        """A vector times 2 to whole floats, rounded once, by AVX-512."""
        mask, rounding, symbol = ir.IntType(16), ir.IntType(32), "llvm.x86.avx512.mask.scalef.ps.512"
        kind = value.type
        known = self.builder.module.globals.get(symbol)
        function = known or ir.Function(self.builder.module, ir.FunctionType(kind, [kind] * 3 + [mask, rounding]), symbol)
        # All lanes, rounded as is set.
        return self.builder.call(function, [value, exponent, value, ir.Constant(mask, -1), ir.Constant(rounding, 4)])

    def exp(self, x: Any) -> Any:
        """Within 2 ulp, denormal results too."""
        b = self.builder
        x = self.limited(x, self.number(-104.0), self.number(89.0))
        whole = self.call("rint", b.fmul(x, self.number(LOG2_E)))
        rest = self.fused(whole, self.number(-LN2_HIGH), x)
        rest = self.fused(whole, self.number(-LN2_LOW), rest)
        value = self.polynomial(rest, EXP)
        if self.scales and self.count == self.scales:
            return self.scaled(value, whole)
        # Not a number has no exponent; what comes of it is not used.
        known = self.select(b.fcmp_ordered("ord", x, x), whole, self.number(0.0))
        exponent = b.fptosi(known, self.type(ir.IntType(32)))
        half = b.ashr(exponent, self.number(1, ir.IntType(32)))
        other = b.sub(exponent, half)
        return b.fmul(b.fmul(value, self.power_of_two(half)), self.power_of_two(other))

    def log(self, x: Any) -> Any:
        """Within 2 ulp; of denormals too."""
        b, word = self.builder, ir.IntType(32)
        small = self.less(x, self.number(2.0**-126))
        scaled = self.select(small, b.fmul(x, self.number(2.0**23)), x)
        bits = b.bitcast(scaled, self.type(word))
        # Counted from the square root of 1/2, so that the mantissa lies around 1.
        moved = b.sub(bits, self.number(0x3F3504F3, word))
        exponent = b.ashr(moved, self.number(23, word))
        mantissa = b.bitcast(b.sub(bits, b.shl(exponent, self.number(23, word))), self.type(ir.FloatType()))
        exponent = b.sub(exponent, self.select(small, self.number(23, word), self.number(0, word)))
        power = b.sitofp(exponent, self.type(ir.FloatType()))
        f = b.fsub(mantissa, self.number(1.0))
        square = b.fmul(f, f)
        tail = b.fmul(square, b.fmul(f, self.polynomial(f, LOG)))
        tail = self.fused(power, self.number(LN2_LOW), tail)
        tail = self.fused(square, self.number(-0.5), tail)
        result = self.fused(power, self.number(LN2_HIGH), b.fadd(f, tail))
        infinite = b.fcmp_unordered("==", x, self.number(float("inf")))  # inf and NaN stay
        result = self.select(infinite, x, result)
        result = self.select(self.less(x, self.number(0.0)), self.number(float("nan")), result)
        return self.select(b.fcmp_ordered("==", x, self.number(0.0)), self.number(float("-inf")), result)

    def tanh(self, x: Any) -> Any:
        """Within 2 ulp."""
        b = self.builder
        size = self.call("fabs", x)
        square = b.fmul(x, x)
        near = self.fused(b.fmul(x, square), self.polynomial(square, TANH), x)
        rest = b.fdiv(self.number(2.0), b.fadd(self.exp(b.fadd(size, size)), self.number(1.0)))
        far = self.call("copysign", b.fsub(self.number(1.0), rest), x)
        return self.select(self.less(size, self.number(0.625)), near, far)

    def erf(self, x: Any) -> Any:
        """Within 2 ulp."""
        b = self.builder
        size, square = self.call("fabs", x), b.fmul(x, x)
        near = self.fused(self.polynomial(square, ERF_NEAR), x, x)
        # 4 is far enough for 1, and the polynomial holds only so far.
        bounded = self.select(self.less(self.number(4.0), size), self.number(4.0), size)
        power = b.fmul(self.polynomial(bounded, ERF_FAR), bounded)
        power = b.fsub(power, bounded)
        far = self.call("copysign", b.fsub(self.number(1.0), self.exp(power)), x)
        return self.select(self.less(self.number(ERF_BORDER), size), far, near)

    def expm1(self, x: Any) -> Any:
        """exp(x) - 1 within 1 ulp, in double precision inside."""
        b, wide = self.builder, ir.DoubleType()
        value = b.fpext(self.limited(x, self.number(-104.0), self.number(89.0)), self.type(wide))
        series = b.fmul(value, self.polynomial(value, (1.0, 1 / 2, 1 / 6, 1 / 24), wide))
        large = b.fsub(self.exp_double(value), self.number(1.0, wide))
        near = self.less(self.call("fabs", value), self.number(2.0**-10, wide))
        return b.fptrunc(self.select(near, series, large), self.type(ir.FloatType()))

    def pow(self, x: Any, y: Any) -> Any:
        """``x`` to the power of ``y`` within 1 ulp, in double precision inside, with the special cases of C."""
        b, wide = self.builder, ir.DoubleType()
        one, zero, infinity = self.number(1.0), self.number(0.0), self.number(float("inf"))
        size, distance = self.call("fabs", x), self.call("fabs", y)
        product = b.fmul(b.fpext(y, self.type(wide)), self.log_double(b.fpext(size, self.type(wide))))
        product = self.limited(product, self.number(-110.0, wide), self.number(95.0, wide))
        value = b.fptrunc(self.exp_double(product), self.type(ir.FloatType()))
        is_whole = b.fcmp_ordered("==", self.call("floor", y), y)
        half = b.fmul(y, self.number(0.5))
        is_odd = b.and_(is_whole, b.fcmp_ordered("!=", self.call("floor", half), half))
        falls = self.less(y, zero)
        # 0 and infinity, whose logarithm is none that can be multiplied.
        vanishes = b.fcmp_ordered("==", size, zero)
        ends = b.fcmp_ordered("==", size, infinity)
        value = self.select(vanishes, self.select(falls, infinity, zero), value)
        value = self.select(ends, self.select(falls, zero, infinity), value)
        # An exponent without end.
        endless = b.fcmp_ordered("==", distance, infinity)
        grows = b.xor(self.less(one, size), falls)
        value = self.select(endless, self.select(grows, infinity, zero), value)
        value = self.select(b.and_(endless, b.fcmp_ordered("==", size, one)), one, value)
        signed = self.call("copysign", value, x)
        value = self.select(is_odd, signed, value)
        wrong = b.and_(b.and_(self.less(x, zero), b.not_(is_whole)), b.not_(b.or_(ends, endless)))
        value = self.select(wrong, self.number(float("nan")), value)
        unknown = b.fcmp_unordered("uno", x, y)
        value = self.select(unknown, b.fadd(x, y), value)
        always = b.or_(b.fcmp_ordered("==", x, one), b.fcmp_ordered("==", y, zero))
        return self.select(always, one, value)

    def exp_double(self, x: Any) -> Any:
        """exp of doubles from -110 to 95, well beyond what float32 holds of it; NaN stays."""
        b, wide, word = self.builder, ir.DoubleType(), ir.IntType(64)
        whole = self.call("rint", b.fmul(x, self.number(LOG2_E, wide)))
        rest = self.fused(whole, self.number(-LN2, wide), x)
        value = self.polynomial(rest, EXP_DOUBLE, wide)
        known = self.select(b.fcmp_ordered("ord", x, x), whole, self.number(0.0, wide))
        exponent = b.add(b.fptosi(known, self.type(word)), self.number(1023, word))
        return b.fmul(value, b.bitcast(b.shl(exponent, self.number(52, word)), self.type(wide)))

    def log_double(self, x: Any) -> Any:
        """log of doubles above 0 that float32 has; of others anything."""
        b, wide, word = self.builder, ir.DoubleType(), ir.IntType(64)
        bits = b.bitcast(x, self.type(word))
        moved = b.sub(bits, self.number(0x3FE6A09E667F3BCD, word))
        exponent = b.ashr(moved, self.number(52, word))
        mantissa = b.bitcast(b.sub(bits, b.shl(exponent, self.number(52, word))), self.type(wide))
        f = b.fsub(mantissa, self.number(1.0, wide))
        s = b.fdiv(f, b.fadd(f, self.number(2.0, wide)))
        z = b.fmul(s, s)
        series = b.fmul(z, self.polynomial(z, LOG_DOUBLE, wide))
        half = b.fmul(b.fmul(f, f), self.number(0.5, wide))
        low = b.fsub(f, b.fsub(half, b.fmul(s, b.fadd(half, series))))
        return self.fused(b.sitofp(exponent, self.type(wide)), self.number(LN2, wide), low)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": Math.exp, "log": Math.log, "tanh": Math.tanh, "erf": Math.erf, "expm1": Math.expm1, "pow": Math.pow,
}  # fmt: skip
"""By the names of operations in expressions."""
