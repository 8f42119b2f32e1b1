"""Operators that compute each element by itself, from the expressions that kernels are made of: the same rules to the bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from vta.host.kernels.by_element.pointwise import pointwise_value
from vta.host.kernels.quantized_pools import mean_levels
from vta.host.kernels.reducing.softmaxes import along, fixed_arithmetic
from vta.host.kernels.values import Point, Value, plain_point
from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Binary, Cast, Const, Expr, Load, Select, Unary, Var, const, load
from vta.host.onnxruntime.writer import ModelWriter, Tensor, refusal
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.quantized.softmax import SoftmaxAttributes

__all__ = ["elementwise", "fixed_softmax", "mean_of_levels"]

_WIDE_BITS = 63
_NARROW = ("int8", "uint8", "int16")
_BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "min": "Min", "max": "Max", "pow": "Pow", "lt": "Less",
    "le": "LessOrEqual", "eq": "Equal",
}  # fmt: skip
_LOGICAL = {"and": "And", "or": "Or", "xor": "Xor", "eq": "Equal"}
_BITWISE = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor"}
_UNARY = {
    "neg": "Neg", "abs": "Abs", "sqrt": "Sqrt", "exp": "Exp", "log": "Log", "tanh": "Tanh", "erf": "Erf", "sin": "Sin",
    "cos": "Cos", "floor": "Floor", "ceil": "Ceil", "round_even": "Round",
}  # fmt: skip
_FLOAT32_ALONE = ("cos", "erf")


def elementwise(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    """Write an operator that has an elementwise rule. Raises `DeviceError` naming it if ONNX has nothing for a part of it."""
    held = _Held(writer)
    values = [_value_of(source, tensor, held) for source, tensor in zip(node.inputs, inputs, strict=True)]
    return _Expressions(writer, node, held.tensors).written(pointwise_value(node, values, held.constant).at(_point(node)))


def mean_of_levels(writer: ModelWriter, node: Node, sums: Tensor) -> Tensor:
    """Write what an average of scaled integers makes of the sums of its windows."""
    held = _Held(writer)
    value = held.value(node.shape, sums.dtype, sums)
    levels = mean_levels(node, held.constant)
    return _Expressions(writer, node, held.tensors).written(levels(value.at(_point(node)), _point(node)))


def fixed_softmax(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    """Write `qnn.softmax`: the rules of the kernel, around reductions of rows."""
    rules = fixed_arithmetic(node)
    axis = attrs_of(node, SoftmaxAttributes).axis % len(node.shape)
    point, held = _point(node), _Held(writer)
    expressions = _Expressions(writer, node, held.tensors)
    row = tuple(1 if at == axis else size for at, size in enumerate(node.shape))

    def over_rows(kind: str, value: Tensor) -> Expr:
        made = writer.apply(kind, [value, writer.integers([axis])], "int64", keepdims=1)
        return along(held.value(row, "int64", made), axis, point)

    def kept(shape: tuple[int, ...], value: Expr) -> Value:
        return held.value(shape, value.dtype, expressions.written(value))

    data = held.value(node.shape, "int8", inputs[0]).at(point)
    largest = over_rows("ReduceMax", writer.cast(inputs[0], "int64"))
    term = kept(node.shape, rules.term(data, largest)).at(point)
    total = over_rows("ReduceSum", expressions.written(rules.summand(term)))
    headroom = along(kept(row, rules.headroom(total)), axis, point)
    scale = along(kept(row, rules.scale(total, headroom)), axis, point)
    return expressions.written(rules.level(rules.counts(data, largest), term, scale, headroom))


def _point(node: Node) -> Point:
    return plain_point([Var(f"a{at}") for at in range(len(node.shape))])


def _value_of(source: Node, tensor: Tensor, held: _Held) -> Value:
    if source.op == ops.CONSTANT and source.value is not None and source.value.size == 1:
        number = const(source.value.item(), source.dtype)
        return Value(source.shape, source.dtype, lambda point: number)
    return held.value(source.shape, source.dtype, tensor)


class _Held:
    """The tensors that stand for buffers of an expression."""

    def __init__(self, writer: ModelWriter) -> None:
        self._writer = writer
        self.tensors: dict[Buffer, Tensor] = {}

    def value(self, shape: tuple[int, ...], dtype: str, tensor: Tensor) -> Value:
        """A tensor as a value."""
        buffer = Buffer(f"x{len(self.tensors)}", shape, dtype)
        self.tensors[buffer] = tensor
        return Value(shape, dtype, lambda point: load(buffer, [place.whole for place in point]))

    def constant(self, values: NDArray[Any]) -> Value:
        """An array as a value."""
        return self.value(values.shape, values.dtype.name, self._writer.constant(values))


class _Expressions:
    """Writes expressions over the axes of one operator's result."""

    def __init__(self, writer: ModelWriter, node: Node, tensors: dict[Buffer, Tensor]) -> None:
        self._writer = writer
        self._node = node
        self._tensors = tensors
        self._axes = {f"a{at}": at for at in range(len(node.shape))}
        self._done: dict[int, tuple[Expr, Tensor]] = {}

    def written(self, expression: Expr) -> Tensor:
        """The tensor of an expression's values; what several parts share is written once."""
        key = id(expression)
        if key not in self._done:
            self._done[key] = (expression, self._written(expression))
        return self._done[key][1]

    def _written(self, expression: Expr) -> Tensor:
        match expression:
            case Const(value, dtype):
                return self._writer.scalar(value, dtype)
            case Load(buffer, indices):
                return self._load(buffer, indices)
            case Cast(operand, dtype):
                return self._writer.cast(self.written(operand), dtype)
            case Select(condition, then, otherwise):
                return self._in_words(
                    lambda *parts: self._writer.apply("Where", [self.written(condition), *parts], parts[0].dtype),
                    then,
                    otherwise,
                )
            case Unary(operation, operand):
                return self._unary(operation, operand)
            case Binary(operation, left, right):
                return self._binary(operation, left, right)
            case _:
                raise refusal(self._node, f"nothing stands for {expression}")

    def _in_words(self, apply: Callable[..., Tensor], *operands: Expr) -> Tensor:
        """What is computed of narrow integers, by way of int32, of which low bits are kept; of others as they are."""
        parts = [self.written(operand) for operand in operands]
        dtype = parts[0].dtype
        if dtype not in (*_NARROW, "bool"):
            return apply(*parts)
        made = apply(*(self._writer.cast(part, "int32") for part in parts))
        return made if made.dtype == "bool" else self._writer.cast(made, dtype)

    def _unary(self, operation: str, operand: Expr) -> Tensor:
        writer = self._writer
        if operation == "trunc":
            value = self.written(operand)
            below = writer.apply("Less", [value, writer.scalar(0, value.dtype)], "bool")
            sides = [writer.apply(kind, [value], value.dtype) for kind in ("Ceil", "Floor")]
            return writer.apply("Where", [below, *sides], value.dtype)
        if operation == "expm1":
            # In double precision the difference keeps all that float32 holds of it.
            power = writer.apply("Exp", [writer.cast(self.written(operand), "float64")], "float64")
            return writer.cast(writer.apply("Sub", [power, writer.scalar(1, "float64")], "float64"), operand.dtype)
        if operation not in _UNARY or (operation in _FLOAT32_ALONE and operand.dtype != "float32"):
            raise refusal(self._node, f"it has no {operation} of {operand.dtype}")
        return self._in_words(lambda value: writer.apply(_UNARY[operation], [value], value.dtype), operand)

    def _binary(self, operation: str, left: Expr, right: Expr) -> Tensor:
        writer = self._writer
        if left.dtype == "bool" and operation in _LOGICAL:
            return writer.apply(_LOGICAL[operation], [self.written(left), self.written(right)], "bool")
        if operation in ("min", "max") and left.dtype == "int64":
            return self._extreme(operation, self.written(left), self.written(right))
        if operation in ("shl", "shr"):
            return self._shifted(operation, left, right)
        if operation == "floordiv" and left.dtype == "int64":
            return self._floor_divided(self.written(left), self.written(right))
        kind = _BINARY.get(operation) or _BITWISE.get(operation)
        if kind is None:
            raise refusal(self._node, f"nothing stands for {operation} of {left.dtype}")
        dtype = "bool" if operation in ("lt", "le", "eq") else ""
        return self._in_words(lambda *parts: writer.apply(kind, list(parts), dtype or parts[0].dtype), left, right)

    def _floor_divided(self, value: Tensor, by: Tensor) -> Tensor:
        """The quotient towards minus infinity, by a positive number: ONNX divides integers towards zero."""
        writer = self._writer
        quotient = writer.apply("Div", [value, by], "int64")
        rest = writer.apply("Sub", [value, writer.apply("Mul", [quotient, by], "int64")], "int64")
        below = writer.apply("Less", [rest, writer.scalar(0, "int64")], "bool")
        less = writer.apply("Sub", [quotient, writer.scalar(1, "int64")], "int64")
        return writer.apply("Where", [below, less, quotient], "int64")

    def _extreme(self, operation: str, left: Tensor, right: Tensor) -> Tensor:
        """The lesser or the larger of two wide integers: Min and Max up to version 1.30 are wrong beyond 32 bits."""
        below = self._writer.apply("Less", [left, right], "bool")
        return self._writer.apply("Where", [below, *((left, right) if operation == "min" else (right, left))], left.dtype)

    def _shifted(self, operation: str, value: Expr, amount: Expr) -> Tensor:
        """A product with a power of two, or its floor division: ONNX shifts no signed integers."""
        writer = self._writer
        wide = writer.cast(self.written(value), "int64")
        if isinstance(amount, Const) and amount.value == _WIDE_BITS:
            below = writer.apply("Less", [wide, writer.scalar(0, "int64")], "bool")
            return writer.apply("Where", [below, writer.scalar(-1, "int64"), writer.scalar(0, "int64")], "int64")
        power = self._power_of_two(amount)
        if operation == "shl":
            return writer.cast(writer.apply("Mul", [wide, power], "int64"), value.dtype)
        rest = writer.apply("Mod", [wide, power], "int64")
        whole = writer.apply("Div", [writer.apply("Sub", [wide, rest], "int64"), power], "int64")
        return writer.cast(whole, value.dtype)

    def _power_of_two(self, amount: Expr) -> Tensor:
        writer = self._writer
        if isinstance(amount, Const):
            return writer.scalar(1 << int(amount.value), "int64")
        exponent = writer.cast(self.written(amount), "float64")
        return writer.cast(writer.apply("Pow", [writer.scalar(2.0, "float64"), exponent], "float64"), "int64")

    def _load(self, buffer: Buffer, indices: Sequence[Expr]) -> Tensor:
        """An operand where it meets the result's axes, or an entry of a table that a computed position names."""
        tensor = self._tensors[buffer]
        if len(indices) == 1 and not isinstance(indices[0], Var | Const):
            return self._writer.apply("Gather", [tensor, self.written(indices[0])], tensor.dtype, axis=0)
        shape = [1] * len(self._axes)
        for place, size in zip(indices, buffer.shape, strict=True):
            if isinstance(place, Var):
                shape[self._axes[place.name]] = size
            elif not (isinstance(place, Const) and size == 1):
                raise refusal(self._node, "it reads elements at other places")
        lead = len(shape) - len(buffer.shape)
        plain = lead >= 0 and (*[1] * lead, *buffer.shape) == tuple(shape)
        return tensor if plain else self._writer.reshape(tensor, shape)
