"""Operations on scalars and vectors in LLVM IR."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from vta.host.llvm.functions import FUNCTIONS, Math
from vta.host.processors import CpuTarget

__all__ = ["binary_value", "cast_value", "fused_product", "llvm_type", "memory_type", "unary_value"]

_TYPES: dict[str, Any] = {
    "bool": ir.IntType(1), "int8": ir.IntType(8), "uint8": ir.IntType(8), "int16": ir.IntType(16), "int32": ir.IntType(32),
    "int64": ir.IntType(64), "float16": ir.HalfType(), "float32": ir.FloatType(), "float64": ir.DoubleType(),
}  # fmt: skip
_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "and": "and_", "or": "or_", "xor": "xor", "shl": "shl"}
_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_SIGNS = {"lt": "<", "le": "<=", "eq": "=="}
_KNOWN: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
    "shl": operator.lshift, "shr": operator.rshift, "min": min, "max": max,
    "lt": operator.lt, "le": operator.le, "eq": operator.eq,
}  # fmt: skip
"""Of two numbers that are known: most of what makes code long for LLVM to take away is arithmetic of them."""
_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "and": -1, "or": 0, "shl": 0, "shr": 0}
_INTRINSICS = {
    "abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round_even": "rint", "trunc": "trunc",
}  # fmt: skip
_FLOATS = ("float16", "float32", "float64")
_WIDE = ("sin", "cos")
"""Functions that are the C library's for doubles: no polynomial reaches from the smallest float to the largest."""


def llvm_type(dtype: str) -> Any:
    """LLVM's type for NumPy's."""
    return _TYPES[dtype]


def memory_type(dtype: str) -> Any:
    """The type in memory, where bool is a byte."""
    return ir.IntType(8) if dtype == "bool" else _TYPES[dtype]


def _is_float(dtype: str) -> bool:
    return dtype.startswith("float")


def _is_unsigned(dtype: str) -> bool:
    return dtype in ("bool", "uint8")


def binary_value(builder: ir.IRBuilder, operation: str, left: Any, right: Any, dtype: str) -> Any:
    """``left operation right`` of a type. Floats: `min` and `max` are NaN where an operand is."""
    if dtype == "int64" and isinstance(right, ir.Constant) and isinstance(right.constant, int):
        if isinstance(left, ir.Constant) and isinstance(left.constant, int) and operation in _KNOWN:
            found = _KNOWN[operation](left.constant, right.constant)
            return ir.Constant(_TYPES["bool"], found) if operation in _SIGNS else ir.Constant(left.type, _wrapped(found))
        if right.constant == _NEUTRAL.get(operation):
            return left
    if operation in _SIGNS:
        return _compared(builder, _SIGNS[operation], left, right, dtype)
    if operation in ("min", "max"):
        return _extreme(builder, operation, left, right, dtype)
    if operation == "pow":
        return _function(builder, operation, dtype, left, right)
    if _is_float(dtype):
        return getattr(builder, _FLOAT[operation])(left, right)
    if operation == "shr":
        return builder.lshr(left, right) if _is_unsigned(dtype) else builder.ashr(left, right)
    if operation in ("floordiv", "mod"):
        return _divided(builder, operation, left, right)
    return getattr(builder, _INTEGER[operation])(left, right)


def _wrapped(value: int) -> int:
    """The number that the low 64 bits of one are."""
    return (value + 2**63) % 2**64 - 2**63


def fused_product(builder: ir.IRBuilder, left: Any, right: Any, total: Any) -> Any:
    """``left * right + total`` of floats, rounded once where the processor can."""
    return builder.call(_intrinsic(builder, "fmuladd", total.type, 3), [left, right, total], fastmath=("contract", "reassoc"))


def _intrinsic(builder: ir.IRBuilder, name: str, kind: Any, operands: int) -> ir.Function:
    """LLVM's function of a name for a type of floats; llvmlite itself knows those of scalars only."""
    item = kind.element if isinstance(kind, ir.VectorType) else kind
    suffix = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
    symbol = f"llvm.{name}.{suffix}{'f32' if isinstance(item, ir.FloatType) else 'f64'}"
    known = builder.module.globals.get(symbol)
    return known or ir.Function(builder.module, ir.FunctionType(kind, [kind] * operands), symbol)


def _divided(builder: ir.IRBuilder, operation: str, left: Any, right: Any) -> Any:
    """Division towards minus infinity, by a positive number."""
    quotient, rest = builder.sdiv(left, right), builder.srem(left, right)
    negative = builder.icmp_signed(
        "<", rest, ir.Constant(rest.type, 0 if not isinstance(rest.type, ir.VectorType) else [0] * rest.type.count)
    )
    if operation == "mod":
        return builder.select(negative, builder.add(rest, right), rest)
    return builder.add(quotient, builder.sext(negative, quotient.type))


def _compared(builder: ir.IRBuilder, sign: str, left: Any, right: Any, dtype: str) -> Any:
    if _is_float(dtype):
        return builder.fcmp_ordered(sign, left, right)
    return builder.icmp_unsigned(sign, left, right) if _is_unsigned(dtype) else builder.icmp_signed(sign, left, right)


def _extreme(builder: ir.IRBuilder, operation: str, left: Any, right: Any, dtype: str) -> Any:
    if _is_float(dtype):
        # The first choice lets a NaN on the left through, the second one on the right; a constant is none.
        better = builder.fcmp_ordered(">" if operation == "max" else "<", right, left)
        chosen = builder.select(better, right, left)
        return (
            chosen
            if isinstance(right, ir.Constant)
            else builder.select(builder.fcmp_unordered("uno", right, right), right, chosen)
        )
    sign = "<" if operation == "min" else ">"
    return builder.select(_compared(builder, sign, left, right, dtype), left, right)


def unary_value(builder: ir.IRBuilder, operation: str, operand: Any, dtype: str, target: CpuTarget) -> Any:
    """An operation on one value, as the processor does it best."""
    if operation in ("bits", "unbits"):
        item = ir.IntType(32 if dtype == "float32" else 64) if operation == "bits" else ir.FloatType()
        return builder.bitcast(
            operand, ir.VectorType(item, operand.type.count) if isinstance(operand.type, ir.VectorType) else item
        )
    if operation == "neg":
        return builder.fneg(operand) if _is_float(dtype) else builder.neg(operand)
    if operation == "abs" and _is_unsigned(dtype):
        return operand
    if operation == "abs" and not _is_float(dtype):
        zero = ir.Constant(operand.type, 0 if not isinstance(operand.type, ir.VectorType) else [0] * operand.type.count)
        return builder.select(builder.icmp_signed("<", operand, zero), builder.neg(operand), operand)
    if operation in _WIDE and dtype == "float32":
        return _narrow(builder, _function(builder, operation, "float64", _wide(builder, operand)))
    if operation in FUNCTIONS and dtype == "float32":
        return FUNCTIONS[operation](Math(builder, operand.type, target.scales_vectors), operand)
    if operation in FUNCTIONS or operation in _WIDE:
        return _function(builder, operation, dtype, operand)
    return builder.call(_intrinsic(builder, _INTRINSICS[operation], operand.type, 1), [operand])


def _like(value: Any, item: Any) -> Any:
    return ir.VectorType(item, value.type.count) if isinstance(value.type, ir.VectorType) else item


def _wide(builder: ir.IRBuilder, value: Any) -> Any:
    return builder.fpext(value, _like(value, ir.DoubleType()))


def _narrow(builder: ir.IRBuilder, value: Any) -> Any:
    return builder.fptrunc(value, _like(value, ir.FloatType()))


def _function(builder: ir.IRBuilder, operation: str, dtype: str, *operands: Any) -> Any:
    """A function that is no instruction: a polynomial for float32, and the C library's for each double."""
    kind = operands[0].type
    if dtype == "float32":
        return FUNCTIONS[operation](Math(builder, kind), *operands)
    item, count = (kind.element, kind.count) if isinstance(kind, ir.VectorType) else (kind, 0)
    known = builder.module.globals.get(operation)
    function = known or ir.Function(builder.module, ir.FunctionType(item, [item] * len(operands)), operation)
    if not count:
        return builder.call(function, operands)
    result: Any = ir.Constant(kind, ir.Undefined)
    for at in range(count):
        lane = ir.Constant(ir.IntType(32), at)
        value = builder.call(function, [builder.extract_element(operand, lane) for operand in operands])
        result = builder.insert_element(result, value, lane)
    return result


def cast_value(builder: ir.IRBuilder, value: Any, dtype: str, wanted: str) -> Any:
    """A value in another type."""
    vector = isinstance(value.type, ir.VectorType)
    kind = ir.VectorType(_TYPES[wanted], value.type.count) if vector else _TYPES[wanted]
    if wanted == "bool":
        zero = ir.Constant(value.type, [0] * value.type.count if vector else 0)
        return builder.fcmp_unordered("!=", value, zero) if _is_float(dtype) else builder.icmp_signed("!=", value, zero)
    if _is_float(dtype) and _is_float(wanted):
        widens = _FLOATS.index(wanted) > _FLOATS.index(dtype)
        return builder.fpext(value, kind) if widens else builder.fptrunc(value, kind)
    if _is_float(dtype):
        return builder.fptoui(value, kind) if _is_unsigned(wanted) else builder.fptosi(value, kind)
    if _is_float(wanted):
        return builder.uitofp(value, kind) if _is_unsigned(dtype) else builder.sitofp(value, kind)
    have, want = (item.element.width if isinstance(item, ir.VectorType) else item.width for item in (value.type, kind))
    if have == want:
        return value
    if have > want:
        return builder.trunc(value, kind)
    return builder.zext(value, kind) if _is_unsigned(dtype) else builder.sext(value, kind)
