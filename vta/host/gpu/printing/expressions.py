"""Expressions as C: what is used several times gets a name, and what a condition protects is computed where it holds only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

import numpy as np

from vta.host.gpu.printing.dialects import Dialect
from vta.host.gpu.printing.functions import FUNCTIONS, float_text
from vta.host.gpu.printing.ranges import Range, range_of
from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import (
    INDEX,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    binary,
    children,
    index,
    loads,
    walk,
)
from vta.support.dataclass import dataclass

__all__ = ["ExpressionPrinter", "expression_reads", "position_of"]

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^", "lt": "<", "le": "<=", "eq": "=="}
_LOGIC = {"and": "&&", "or": "||", "xor": "!="}
_WRAPPED = ("add", "sub", "mul")
_NARROW = ("int8", "uint8", "int16")
_LONGEST = 160
"""Characters of what need not have a name of its own."""


def position_of(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """Where an element lies, counted from the first one."""
    total: Expr = index(0)
    for at, stride in zip(indices, buffer.strides, strict=True):
        total = binary("add", total, binary("mul", at, index(stride)))
    return total


@dataclass
class ExpressionPrinter:
    """Writes the lines that a statement's expressions need, and gives their texts."""

    dialect: Dialect
    buffers: Mapping[Buffer, str]
    """Names of arrays."""
    write: Callable[[str], None]
    """Takes a line."""
    names: dict[str, str] = field(default_factory=dict)
    """Texts of variables."""
    ranges: dict[str, Range] = field(default_factory=dict)
    """Of variables."""
    functions: set[str] = field(default_factory=set)
    """That have been called."""
    known: dict[int, tuple[Expr, str]] = field(default_factory=dict)
    """What has a text already, by identity."""
    uses: Counter[int] = field(default_factory=Counter)
    count: int = 0
    """Of names given."""
    protected: int = 0
    """How many conditions within the same line protect what is being written, so that it must not be computed before that."""

    def started(self, *expressions: Expr) -> None:
        """Forget the last statement, and look at the expressions of the next."""
        self.known = {}
        self.uses = Counter()
        for expression in expressions:
            self.uses.update(id(child) for node in walk(expression) for child in children(node))

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What gets a name in here is not known outside."""
        before = dict(self.known)
        yield
        self.known = before

    @contextmanager
    def within_line(self) -> Iterator[None]:
        """What is written in here gets no name, however long it is."""
        self.protected += 1
        with self.apart():
            yield
        self.protected -= 1

    def text(self, expression: Expr) -> str:
        """The text of a value; parentheses around it if it needs them."""
        if isinstance(expression, Const):
            return self.number(expression)
        if isinstance(expression, Var):
            return self.names[expression.name]
        if id(expression) not in self.known:
            text = self.computed(expression)
            if self.is_named(expression, text):
                text = self.named("int32" if self.is_index(expression) else expression.dtype, text)
            self.known[id(expression)] = expression, text
        return self.known[id(expression)][1]

    def is_named(self, expression: Expr, text: str) -> bool:
        """Whether a text is better written once."""
        if self.protected:
            return False
        if self.is_index(expression):
            return self.uses[id(expression)] > 1 and len(text) > _LONGEST // 4
        return not text.isidentifier() and (self.uses[id(expression)] > 1 or len(text) > _LONGEST)

    def named(self, dtype: str, text: str = "") -> str:
        """A new variable with a value, if there is one."""
        name = f"t{self.count}"
        self.count += 1
        self.write(f"{self.dialect.types[dtype]} {name}{f' = {text}' if text else ''};")
        return name

    def number(self, value: Const) -> str:
        """A constant."""
        if value.dtype == "bool":
            return "true" if value.value else "false"
        if value.dtype.startswith("float"):
            return _float_number(value)
        number = int(value.value)
        if value.dtype == "int64" and not -(2**31) < number < 2**31:
            return f"({number + 1}l - 1)" if number == -(2**63) else f"{number}l"
        if number == -(2**31):
            return "(-2147483647 - 1)"
        return str(number) if number >= 0 else f"({number})"

    def computed(self, expression: Load | Binary | Unary | Select | Cast) -> str:
        """The text of what has none yet."""
        match expression:
            case Load():
                return self.loaded(expression)
            case Binary():
                return self.binary(expression)
            case Unary(operation, operand):
                return self.unary(operation, operand)
            case Select():
                return self.select(expression)
            case Cast(operand, dtype):
                return self.cast(operand, dtype)

    def place(self, buffer: Buffer, indices: tuple[Expr, ...]) -> str:
        """An element of an array, as it lies in memory."""
        return f"{self.buffers[buffer]}[{self.text(position_of(buffer, indices))}]"

    def loaded(self, expression: Load) -> str:
        """An element of an array."""
        place = self.place(expression.buffer, expression.indices)
        return {"bool": f"({place} != 0)", "float16": f"half_value({place})"}.get(expression.dtype, place)

    def binary(self, expression: Binary) -> str:
        """An operation on two values."""
        operation, dtype = expression.operation, expression.left.dtype
        left, right = self.text(expression.left), self.text(expression.right)
        if dtype == "bool" and operation in _LOGIC:
            return f"({left} {_LOGIC[operation]} {right})"
        if operation in ("floordiv", "mod"):
            return self.divided(expression, left, right)
        if operation in ("min", "max"):
            return self.extreme(expression, left, right)
        if operation == "pow":
            return self.called("pow", dtype, left, right)
        if operation in ("shl", "shr"):
            return self.shifted(operation, dtype, left, right)
        if operation in _WRAPPED and dtype in ("int32", "int64") and not self.is_index(expression):
            unsigned = "uint" if dtype == "int32" else "ulong"
            return f"({self.dialect.types[dtype]})(({unsigned}){left} {_SIGNS[operation]} ({unsigned}){right})"
        return self.narrowed(expression.dtype, f"({left} {_SIGNS[operation]} {right})")

    def is_index(self, expression: Expr) -> bool:
        """Whether it depends on positions alone, which are far from what an int holds."""
        return expression.dtype == INDEX and not expression_reads(expression)

    def narrowed(self, dtype: str, text: str) -> str:
        """A result in its own type, where C computes in a wider one."""
        if dtype == "float16":
            return f"half_value(half_bits({text}))"
        return f"({self.dialect.types[dtype]}){text}" if dtype in _NARROW else text

    def divided(self, expression: Binary, left: str, right: str) -> str:
        """A quotient or rest by a positive number, towards minus infinity."""
        sign = "/" if expression.operation == "floordiv" else "%"
        found = range_of(expression.left, self.ranges)
        if (found is not None and found[0] >= 0) or expression.dtype == "uint8":
            return f"({left} {sign} {right})"
        if sign == "/":
            return self.narrowed(expression.dtype, f"({left} / {right} - ({left} % {right} < 0))")
        return self.narrowed(expression.dtype, f"(({left} % {right} + {right}) % {right})")

    def extreme(self, expression: Binary, left: str, right: str) -> str:
        """The smaller or larger value; NaN where one is."""
        sign = ">" if expression.operation == "max" else "<"
        left, right = self.simple(expression.left, left), self.simple(expression.right, right)
        spoiled = expression.dtype.startswith("float") and not isinstance(expression.right, Const)
        return f"({right} {sign} {left}{f' || {right} != {right}' if spoiled else ''} ? {right} : {left})"

    def simple(self, expression: Expr, text: str) -> str:
        """A text that may be written several times."""
        return text if text.isidentifier() or isinstance(expression, Const) else self.named(expression.dtype, text)

    def shifted(self, operation: str, dtype: str, left: str, right: str) -> str:
        """A shift; that to the right keeps the sign."""
        if operation == "shr":
            return f"({left} >> {right})"
        unsigned = "ulong" if dtype == "int64" else "uint"
        return f"({self.dialect.types[dtype]})(({unsigned}){left} << {right})"

    def unary(self, operation: str, operand: Expr) -> str:
        """An operation on one value."""
        dtype, text = operand.dtype, self.text(operand)
        if operation == "abs" and not text.isidentifier():
            text = self.named(dtype, text)
        if operation in ("bits", "unbits"):
            return f"{self.dialect.bits if operation == 'bits' else self.dialect.unbits}({text})"
        if operation in FUNCTIONS:
            return self.called(operation, dtype, text)
        if dtype.startswith("float"):
            name = {"abs": "fabs", "round_even": "rint", "neg": "-"}.get(operation, operation)
            return self.narrowed(dtype, f"({name}({text}))")
        if dtype in ("bool", "uint8") and operation == "abs":
            return text
        unsigned = "ulong" if dtype == "int64" else "uint"
        negative = f"({self.dialect.types[dtype]})(0 - ({unsigned}){text})"
        return negative if operation == "neg" else f"({text} < 0 ? {negative} : {text})"

    def called(self, operation: str, dtype: str, *operands: str) -> str:
        """A function that is no operation of the language."""
        if dtype == "float64":
            return f"{operation}({', '.join(operands)})"
        self.functions.add(operation)
        return self.narrowed(dtype, f"vta_{operation}({', '.join(operands)})")

    def select(self, expression: Select) -> str:
        """One of two values. Where it is chosen by positions alone, only that one is computed."""
        condition, then, otherwise = expression.condition, expression.then, expression.otherwise
        chosen = self.text(condition)
        if expression_reads(condition):
            return f"({chosen} ? {self.text(then)} : {self.text(otherwise)})"
        if all(self.is_plain(part) for part in (then, otherwise)):
            with self.within_line():
                return f"({chosen} ? {self.text(then)} : {self.text(otherwise)})"
        name = self.named(expression.dtype)
        for start, part in ((f"if ({chosen}) {{", then), ("} else {", otherwise)):
            self.write(start)
            with self.apart():
                self.write(f"{name} = {self.text(part)};")
        self.write("}")
        return name

    def is_plain(self, expression: Expr) -> bool:
        """Whether an expression's text needs no line before it."""
        nodes = list(walk(expression))
        return len(nodes) < _PLAIN_NODES and not any(
            isinstance(node, Select)
            or (isinstance(node, Binary) and node.operation in ("min", "max"))
            or (isinstance(node, Unary) and node.operation == "abs")
            or (self.uses[id(node)] > 1 and id(node) not in self.known)
            for node in nodes
            if not isinstance(node, Const | Var)
        )

    def cast(self, operand: Expr, dtype: str) -> str:
        """A value in another type."""
        text = self.text(operand)
        if dtype == "bool":
            return f"({text} != 0)"
        if dtype == "float16":
            return f"half_value(half_bits((float){text}))"
        return f"(({self.dialect.types[dtype]}){text})"


_PLAIN_NODES = 24


def expression_reads(expression: Expr) -> bool:
    """Whether a value depends on memory."""
    return bool(loads(expression))


def _float_number(value: Const) -> str:
    number = float(np.dtype(value.dtype).type(value.value))
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "(-INFINITY)"
    text = float_text(number, "float32" if value.dtype == "float16" else value.dtype)
    return text if not text.startswith("-") else f"({text})"
