"""Arithmetic element by element, with NumPy broadcasting, and conversion of data types. Integers wrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.operator import Attributes, NoAttributes, TensorType, operator
from vta.ir.ops._checks import DTYPES, FLOATS, INTEGERS, require, require_dtype, require_same_dtype, wanted
from vta.support.dataclass import dataclass

__all__ = ["CastAttributes", "broadcast_shape"]

Array = NDArray[Any]

_NUMBERS = (*FLOATS, *INTEGERS)


def broadcast_shape(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that two shapes broadcast to; raises `GraphError` if they do not."""
    # Most right ones are like the left ones or smaller, and NumPy takes ten times as long to see it.
    if len(right) <= len(left) and all(theirs in (1, ours) for theirs, ours in zip(right[::-1], left[::-1], strict=False)):
        return left
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        raise GraphError(f"shapes {left} and {right} do not broadcast") from None


def _binary(name: str, function: np.ufunc, allowed: Sequence[str], meaning: str) -> None:
    """Declare an operator of two inputs of one type."""

    def infer(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
        require_same_dtype(types)
        require_dtype(types[0], allowed, "inputs")
        return TensorType(broadcast_shape(types[0].shape, types[1].shape), types[0].dtype)

    def reference(attrs: NoAttributes, left: Array, right: Array) -> Array:
        return np.asarray(function(left, right))

    reference.__doc__ = meaning
    operator(name, 2, infer)(reference)


def _comparison(name: str, function: np.ufunc, allowed: Sequence[str], meaning: str) -> None:
    """Declare an operator of two inputs of one type that is true or false."""

    def infer(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
        require_same_dtype(types)
        require_dtype(types[0], allowed, "inputs")
        return TensorType(broadcast_shape(types[0].shape, types[1].shape), "bool")

    def reference(attrs: NoAttributes, left: Array, right: Array) -> Array:
        return np.asarray(function(left, right))

    reference.__doc__ = meaning
    operator(name, 2, infer)(reference)


def _unary(name: str, function: np.ufunc, allowed: Sequence[str], meaning: str) -> None:
    """Declare an operator of one input that keeps the type."""

    def infer(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
        require_dtype(types[0], allowed)
        return types[0]

    def reference(attrs: NoAttributes, data: Array) -> Array:
        return np.asarray(function(data))

    reference.__doc__ = meaning
    operator(name, 1, infer)(reference)


_binary(ops.ADD, np.add, _NUMBERS, "Sum.")
_binary(ops.SUBTRACT, np.subtract, _NUMBERS, "Difference.")
_binary(ops.MULTIPLY, np.multiply, _NUMBERS, "Product.")
_binary(ops.DIVIDE, np.true_divide, FLOATS, "Quotient.")
_binary(ops.MAXIMUM, np.maximum, _NUMBERS, "The larger value.")
_binary(ops.MINIMUM, np.minimum, _NUMBERS, "The smaller value.")
_binary(ops.POWER, np.power, FLOATS, "First input to the power of the second.")
_comparison(ops.EQUAL, np.equal, DTYPES, "Whether the values are equal.")
_comparison(ops.GREATER, np.greater, _NUMBERS, "Whether the first value is greater.")
_comparison(ops.GREATER_EQUAL, np.greater_equal, _NUMBERS, "Whether the first value is not less.")
_comparison(ops.LESS, np.less, _NUMBERS, "Whether the first value is less.")
_comparison(ops.LESS_EQUAL, np.less_equal, _NUMBERS, "Whether the first value is not greater.")
_comparison(ops.LOGICAL_AND, np.logical_and, ("bool",), "Whether both are true.")
_comparison(ops.LOGICAL_OR, np.logical_or, ("bool",), "Whether one is true or both are.")
_comparison(ops.LOGICAL_XOR, np.logical_xor, ("bool",), "Whether just one is true.")
_unary(ops.LOGICAL_NOT, np.logical_not, ("bool",), "Whether the value is false.")
_unary(ops.EXP, np.exp, FLOATS, "Exponential.")
_unary(ops.SIN, np.sin, FLOATS, "Sine, of radians.")
_unary(ops.COS, np.cos, FLOATS, "Cosine, of radians.")
_unary(ops.LOG, np.log, FLOATS, "Natural logarithm.")
_unary(ops.SQRT, np.sqrt, FLOATS, "Square root.")
_unary(ops.NEGATIVE, np.negative, _NUMBERS, "Negated value.")
_unary(ops.ABS, np.absolute, _NUMBERS, "Absolute value.")
_unary(ops.SIGN, np.sign, _NUMBERS, "-1, 0 or 1.")
_unary(ops.FLOOR, np.floor, FLOATS, "The nearest whole number at or below.")
_unary(ops.CEIL, np.ceil, FLOATS, "The nearest whole number at or above.")
_unary(ops.ROUND, np.rint, FLOATS, "The nearest whole number, of two equally near the even one.")


def _infer_where(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    condition, left, right = types
    require_dtype(condition, ("bool",), "the condition")
    require_same_dtype((left, right))
    return TensorType(broadcast_shape(condition.shape, broadcast_shape(left.shape, right.shape)), left.dtype)


@operator(ops.WHERE, 3, _infer_where)
def where(attrs: NoAttributes, condition: Array, left: Array, right: Array) -> Array:
    """The second input where the condition is true, else the third."""
    return np.where(condition, left, right)


def _infer_shift(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    require_same_dtype(types)
    require_dtype(types[0], ("int32",), "inputs")
    return TensorType(broadcast_shape(types[0].shape, types[1].shape), "int32")


def _check_amounts(amounts: Array) -> None:
    if amounts.size:
        low, high = int(amounts.min()), int(amounts.max())
        require(low >= 0 and high <= 31, f"shift amounts must be in 0..31, got {low if low < 0 else high}")


@operator(ops.LEFT_SHIFT, 2, _infer_shift)
def left_shift(attrs: NoAttributes, data: Array, amounts: Array) -> Array:
    """Shift left by 0..31 bits; bits shifted out are lost."""
    _check_amounts(amounts)
    return np.asarray(np.left_shift(data, amounts))


@operator(ops.RIGHT_SHIFT, 2, _infer_shift)
def right_shift(attrs: NoAttributes, data: Array, amounts: Array) -> Array:
    """Arithmetic shift right by 0..31 bits, towards minus infinity."""
    _check_amounts(amounts)
    return np.asarray(np.right_shift(data, amounts))


_CAST_DTYPES = ("float16", *DTYPES)
"""Inputs and outputs may be float16; nothing computes in it."""


@dataclass(frozen=True, kw_only=True)
class CastAttributes(Attributes):
    """The wanted data type."""

    dtype: str

    def __post_init__(self) -> None:
        if self.dtype not in _CAST_DTYPES:
            raise wanted(self, "dtype", f"one of {', '.join(_CAST_DTYPES)}")


def _infer_cast(attrs: CastAttributes, types: Sequence[TensorType]) -> TensorType:
    return TensorType(types[0].shape, attrs.dtype)


@operator(ops.CAST, 1, _infer_cast, CastAttributes)
def cast(attrs: CastAttributes, data: Array) -> Array:
    """Convert the data type: integers keep their low bits; floats to integers round towards zero and saturate."""
    if data.dtype.kind == "f" and attrs.dtype in INTEGERS:
        info = np.iinfo(attrs.dtype)
        # float64 has no value between 2**63 - 1024 and 2**63.
        highest = min(float(info.max), 2.0**63 - 1024)
        data = np.clip(np.nan_to_num(np.trunc(data.astype(np.float64)), nan=0.0), float(info.min), highest)
    return data.astype(attrs.dtype)
