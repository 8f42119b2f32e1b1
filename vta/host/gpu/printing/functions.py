"""Exponentials and their kin of float32 in C, with the polynomials and the bounds of `vta.host.llvm.functions`."""

from __future__ import annotations

from collections.abc import Sequence

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

__all__ = ["FUNCTIONS", "float_text", "functions_text"]

FUNCTIONS = ("exp", "log", "tanh", "erf", "expm1", "pow")
"""Operations that are functions, by the names that they have in expressions."""


def float_text(value: float, dtype: str = "float32") -> str:
    """A finite number as C has it."""
    text = repr(float(value))
    if "e" not in text and "." not in text:
        text += ".0"
    return text + ("f" if dtype == "float32" else "")


def _polynomial(x: str, factors: Sequence[float], dtype: str = "float32") -> str:
    total = float_text(factors[-1], dtype)
    for factor in reversed(factors[:-1]):
        total = f"fma({total}, {x}, {float_text(factor, dtype)})"
    return total


def functions_text(wanted: Sequence[str], helper: str, bits: str, unbits: str) -> str:
    """The definitions of functions, called ``vta_exp`` and so on, with those that they call."""
    needed = {name for top in wanted for name in (*_NEEDS.get(top, ()), top)}
    texts = [text for name, text in _TEXTS.items() if name in needed]
    return "".join(texts).replace("HELPER", helper).replace("@TO", bits).replace("@FROM", unbits)


_NEEDS = {"tanh": ("exp",), "erf": ("exp",), "expm1": ("double",), "pow": ("double",)}

_TEXTS = {
    "exp": f"""\
HELPER float vta_exp(float x)
{{
  x = x < -104.0f ? -104.0f : x;
  x = 89.0f < x ? 89.0f : x;
  float whole = rint(x * {float_text(LOG2_E)});
  float rest = fma(whole, {float_text(-LN2_LOW)}, fma(whole, {float_text(-LN2_HIGH)}, x));
  float value = {_polynomial("rest", EXP)};
  int exponent = x == x ? (int)whole : 0;
  int part = exponent >> 1;
  return value * @FROM((part + 127) << 23) * @FROM((exponent - part + 127) << 23);
}}
""",
    "log": f"""\
HELPER float vta_log(float x)
{{
  bool small = x < {float_text(2.0**-126)};
  float scaled = small ? x * 8388608.0f : x;
  int pattern = @TO(scaled);
  int moved = (int)((uint)pattern - 0x3F3504F3u);
  int exponent = moved >> 23;
  float f = @FROM((int)((uint)pattern - ((uint)exponent << 23))) - 1.0f;
  float power = (float)(exponent - (small ? 23 : 0));
  float square = f * f;
  float tail = square * (f * {_polynomial("f", LOG)});
  tail = fma(power, {float_text(LN2_LOW)}, tail);
  tail = fma(square, -0.5f, tail);
  float result = fma(power, {float_text(LN2_HIGH)}, f + tail);
  result = x != x || x == INFINITY ? x : result;
  result = x < 0.0f ? NAN : result;
  return x == 0.0f ? -INFINITY : result;
}}
""",
    "tanh": f"""\
HELPER float vta_tanh(float x)
{{
  float size = fabs(x), square = x * x;
  float near = fma(x * square, {_polynomial("square", TANH)}, x);
  float far = copysign(1.0f - 2.0f / (vta_exp(size + size) + 1.0f), x);
  return size < 0.625f ? near : far;
}}
""",
    "erf": f"""\
HELPER float vta_erf(float x)
{{
  float size = fabs(x), square = x * x;
  float near = fma({_polynomial("square", ERF_NEAR)}, x, x);
  float bounded = 4.0f < size ? 4.0f : size;
  float power = {_polynomial("bounded", ERF_FAR)} * bounded - bounded;
  float far = copysign(1.0f - vta_exp(power), x);
  return {float_text(ERF_BORDER)} < size ? far : near;
}}
""",
    "double": f"""\
HELPER double vta_exp_double(double x)
{{
  double whole = rint(x * {float_text(LOG2_E, "float64")});
  double rest = fma(whole, {float_text(-LN2, "float64")}, x);
  long exponent = (long)(x == x ? whole : 0.0) + 1023;
  return {_polynomial("rest", EXP_DOUBLE, "float64")} * DOUBLE_FROM_BITS(exponent << 52);
}}
HELPER double vta_log_double(double x)
{{
  long pattern = DOUBLE_TO_BITS(x);
  long moved = (long)((ulong)pattern - 0x3FE6A09E667F3BCDul);
  long exponent = moved >> 52;
  double f = DOUBLE_FROM_BITS((long)((ulong)pattern - ((ulong)exponent << 52))) - 1.0;
  double s = f / (f + 2.0), z = s * s;
  double series = z * {_polynomial("z", LOG_DOUBLE, "float64")};
  double middle = f * f * 0.5;
  return fma((double)exponent, {float_text(LN2, "float64")}, f - (middle - s * (middle + series)));
}}
""",
    "expm1": f"""\
HELPER float vta_expm1(float x)
{{
  x = x < -104.0f ? -104.0f : x;
  double value = 89.0f < x ? 89.0f : x;
  double series = value * {_polynomial("value", (1.0, 1 / 2, 1 / 6, 1 / 24), "float64")};
  return (float)(fabs(value) < {float_text(2.0**-10, "float64")} ? series : vta_exp_double(value) - 1.0);
}}
""",
    "pow": """\
HELPER float vta_pow(float x, float y)
{
  float size = fabs(x), distance = fabs(y);
  double product = (double)y * vta_log_double((double)size);
  product = product < -110.0 ? -110.0 : product;
  product = 95.0 < product ? 95.0 : product;
  float value = (float)vta_exp_double(product);
  bool is_whole = floor(y) == y, falls = y < 0.0f;
  float part = y * 0.5f;
  bool is_odd = is_whole && floor(part) != part;
  bool ends = size == INFINITY, endless = distance == INFINITY;
  value = size == 0.0f ? (falls ? INFINITY : 0.0f) : value;
  value = ends ? (falls ? 0.0f : INFINITY) : value;
  value = endless ? (((1.0f < size) != falls) ? INFINITY : 0.0f) : value;
  value = endless && size == 1.0f ? 1.0f : value;
  value = is_odd ? copysign(value, x) : value;
  value = x < 0.0f && !is_whole && !ends && !endless ? NAN : value;
  value = x != x || y != y ? x + y : value;
  return x == 1.0f || y == 0.0f ? 1.0f : value;
}
""",
}
