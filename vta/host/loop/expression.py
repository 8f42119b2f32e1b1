"""Scalar expressions: what a kernel computes for one point of its axes.

What is used several times may be one object, so that an expression is a graph; `walk` and `map_expression` go through it once.
A handful of frozen node types, built by functions that check types. Index arithmetic is in `INDEX`, all else in the types of the
buffers; nothing is converted silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import is_
from typing import Any, Literal

from vta.host.loop.buffer import Buffer
from vta.host.loop.errors import LoopError
from vta.support.dataclass import dataclass

__all__ = [
    "INDEX",
    "BinaryOperation",
    "Binary",
    "Cast",
    "Const",
    "Expr",
    "Load",
    "Select",
    "Unary",
    "UnaryOperation",
    "Var",
    "binary",
    "cast",
    "children",
    "const",
    "index",
    "load",
    "loads",
    "map_expression",
    "select",
    "substitute",
    "unary",
    "walk",
]

INDEX = "int64"
"""Data type of loop variables and of positions in buffers."""

BinaryOperation = Literal[
    "add", "sub", "mul", "div", "floordiv", "mod", "min", "max", "pow", "and", "or", "xor", "shl", "shr", "lt", "le", "eq"
]
UnaryOperation = Literal[
    "neg",
    "abs",
    "sqrt",
    "exp",
    "expm1",
    "log",
    "tanh",
    "erf",
    "sin",
    "cos",
    "floor",
    "ceil",
    "round_even",
    "trunc",
    "bits",
    "unbits",
]

_COMPARISONS = ("lt", "le", "eq")
_INTEGER_ONLY = ("floordiv", "mod", "and", "or", "xor", "shl", "shr")
_FLOAT_ONLY = ("div", "pow")
_REAL = ("sqrt", "exp", "expm1", "log", "tanh", "erf", "sin", "cos", "floor", "ceil", "round_even", "trunc")


@dataclass(frozen=True)
class Const:
    """A number of a type."""

    value: float
    """An int for integers and bool."""
    dtype: str


@dataclass(frozen=True)
class Var:
    """The variable of a loop, or an axis of a stage."""

    name: str

    @property
    def dtype(self) -> str:
        """Always `INDEX`."""
        return INDEX


@dataclass(frozen=True)
class Load:
    """An element of a buffer."""

    buffer: Buffer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> str:
        """Data type of the buffer."""
        return self.buffer.dtype


@dataclass(frozen=True)
class Binary:
    """An operation on two values of one type. Integers wrap; `shr` keeps the sign; `min` and `max` of floats keep NaN."""

    operation: BinaryOperation
    left: Expr
    right: Expr

    @cached_property
    def dtype(self) -> str:
        """``bool`` for comparisons, else that of the operands."""
        return "bool" if self.operation in _COMPARISONS else self.left.dtype


@dataclass(frozen=True)
class Unary:
    """An operation on one value. `bits` is a float's pattern as an integer of its width, `unbits` the reverse for float32."""

    operation: UnaryOperation
    operand: Expr

    @cached_property
    def dtype(self) -> str:
        """That of the operand, but for `bits` and `unbits`."""
        if self.operation == "bits":
            return "int32" if self.operand.dtype == "float32" else "int64"
        return "float32" if self.operation == "unbits" else self.operand.dtype


@dataclass(frozen=True)
class Select:
    """The first value where a condition holds, else the second.

    If the condition depends on positions alone, only the chosen value is loaded; else both are, and must be there.
    """

    condition: Expr
    then: Expr
    otherwise: Expr

    @cached_property
    def dtype(self) -> str:
        """That of the values."""
        return self.then.dtype


@dataclass(frozen=True)
class Cast:
    """A value in another type: integers keep their low bits; floats to integers round towards zero, within the range only."""

    operand: Expr
    dtype: str


Expr = Const | Var | Load | Binary | Unary | Select | Cast


def const(value: float, dtype: str) -> Const:
    """A number of a type."""
    return Const(float(value) if dtype.startswith("float") else int(value), dtype)


@lru_cache(maxsize=4096, typed=True)
def index(value: int) -> Const:
    """A whole number for index arithmetic."""
    return Const(value, INDEX)


def load(buffer: Buffer, indices: Sequence[Expr]) -> Load:
    """An element of a buffer; raises `LoopError` unless there is one index a dimension."""
    if len(indices) != len(buffer.shape):
        raise LoopError(f"{buffer.name} has {len(buffer.shape)} dimensions, got {len(indices)} indices")
    _require_type(buffer.name, INDEX, *indices)
    return Load(buffer, tuple(indices))


def binary(operation: BinaryOperation, left: Expr, right: Expr) -> Expr:
    """An operation on two values; folds constants and neutral elements of index arithmetic. Raises `LoopError` on mixed types."""
    if left.dtype != right.dtype:
        raise LoopError(f"{operation} of {left.dtype} and {right.dtype}; both must be of one type")
    is_float = left.dtype.startswith("float")
    if (operation in _INTEGER_ONLY and is_float) or (operation in _FLOAT_ONLY and not is_float):
        raise LoopError(f"{operation} is not defined for {left.dtype}")
    return _folded(operation, left, right) if left.dtype == INDEX else Binary(operation, left, right)


def unary(operation: UnaryOperation, operand: Expr) -> Unary:
    """An operation on one value; raises `LoopError` if it is not defined for the type."""
    is_float = operand.dtype.startswith("float")
    wrong = {"bits": operand.dtype not in ("float32", "float64"), "unbits": operand.dtype != "int32"}.get(
        operation, operation in _REAL and not is_float
    )
    if wrong:
        raise LoopError(f"{operation} is not defined for {operand.dtype}")
    return Unary(operation, operand)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Select:
    """One of two values of one type; raises `LoopError` on other types."""
    _require_type("a condition", "bool", condition)
    _require_type("the other value", then.dtype, otherwise)
    return Select(condition, then, otherwise)


def cast(operand: Expr, dtype: str) -> Expr:
    """A value in another type; the value itself if it is of that type."""
    return operand if operand.dtype == dtype else Cast(operand, dtype)


def _require_type(what: str, dtype: str, *operands: Expr) -> None:
    for operand in operands:
        if operand.dtype != dtype:
            raise LoopError(f"{what} must be {dtype}, got {operand.dtype}")


_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def _folded(operation: BinaryOperation, left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const) and operation in _FOLDS:
        return index(_FOLDS[operation](int(left.value), int(right.value)))
    if isinstance(right, Const):
        neutral = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1}.get(operation)
        if right.value == neutral:
            return left
        if (operation == "mul" and right.value == 0) or (operation == "mod" and right.value == 1):
            return index(0)
    if isinstance(left, Const) and operation in ("add", "mul"):
        return _folded(operation, right, left)
    return Binary(operation, left, right)


_CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Const: lambda expression: (),
    Var: lambda expression: (),
    Load: lambda expression: expression.indices,
    Binary: lambda expression: (expression.left, expression.right),
    Unary: lambda expression: (expression.operand,),
    Select: lambda expression: (expression.condition, expression.then, expression.otherwise),
    Cast: lambda expression: (expression.operand,),
}


def children(expression: Expr) -> tuple[Expr, ...]:
    """The operands of an expression."""
    return _CHILDREN[type(expression)](expression)


def walk(expression: Expr) -> list[Expr]:
    """The expression and all that it is made of, operands first; what several parts share comes once."""
    found: list[Expr] = []
    seen: set[int] = set()

    def visit(node: Expr) -> None:
        seen.add(id(node))
        for child in children(node):
            if id(child) not in seen:
                visit(child)
        found.append(node)

    visit(expression)
    return found


def loads(expression: Expr) -> list[Load]:
    """All loads of an expression."""
    return [node for node in walk(expression) if isinstance(node, Load)]


def map_expression(expression: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild an expression; where `change` gives a replacement for a node, its operands are not looked at.

    What several parts share stays shared.
    """
    done: dict[int, Expr] = {}

    def mapped(node: Expr) -> Expr:
        if id(node) not in done:
            replacement = change(node)
            done[id(node)] = _rebuilt(node, mapped) if replacement is None else replacement
        return done[id(node)]

    return mapped(expression)


def _rebuilt(expression: Expr, mapped: Callable[[Expr], Expr]) -> Expr:
    """The expression of what its operands become; itself where they stay."""
    match expression:
        case Load(buffer, indices):
            places = tuple(map(mapped, indices))
            return expression if all(map(is_, places, indices)) else Load(buffer, places)
        case Binary(operation, left, right):
            first, second = mapped(left), mapped(right)
            return expression if first is left and second is right else binary(operation, first, second)
        case Unary(operation, operand):
            only = mapped(operand)
            return expression if only is operand else Unary(operation, only)
        case Select(condition, then, otherwise):
            parts = (mapped(condition), mapped(then), mapped(otherwise))
            return expression if all(map(is_, parts, (condition, then, otherwise))) else Select(*parts)
        case Cast(operand, dtype):
            only = mapped(operand)
            return expression if only is operand else Cast(only, dtype)
        case _:
            return expression


def substitute(expression: Expr, values: Mapping[str, Expr]) -> Expr:
    """The expression with variables replaced, by name."""
    return map_expression(expression, lambda node: values.get(node.name, node) if isinstance(node, Var) else None)
