"""ONNX's element-wise operators, activations and reductions."""

from __future__ import annotations

import math
from functools import partial, reduce

import numpy as np

from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import add, gelu, like, mean, multiply, selu, softplus, softsign
from vta.frontend.onnx.operation import Converter, Operation
from vta.frontend.onnx.tensors import dtype_of
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

_SELU_ALPHA, _SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


def _identity(node: Operation) -> Node:
    return node.input()


def _unary(op: str) -> Converter:
    return lambda node: node.apply(op, node.input())


def _binary(op: str) -> Converter:
    return lambda node: node.apply(op, node.input(0), node.input(1))


def _add(node: Operation) -> Node:
    return add(node.apply, node.input(0), node.input(1))


def _multiply(node: Operation) -> Node:
    return multiply(node.apply, node.input(0), node.input(1))


def _divide(node: Operation) -> Node:
    left, right = node.input(0), node.input(1)
    if left.value is not None and right.value is not None and left.value.dtype.kind == "i":
        # Integers divide towards zero, which only shape arithmetic does.
        quotient = np.abs(left.value) // np.abs(right.value) * np.sign(left.value) * np.sign(right.value)
        return node.constant(quotient.astype(left.value.dtype))
    return node.apply("divide", left, right)


def _power(node: Operation) -> Node:
    base, exponent = node.input(0), node.input(1)
    if exponent.value is None:
        return node.apply("power", base, exponent)
    if exponent.value.size == 1 and exponent.value.item() == 2:
        return node.apply("multiply", base, base)
    return node.apply("power", base, node.constant(exponent.value.astype(base.dtype)))


def _reciprocal(node: Operation) -> Node:
    return node.apply("divide", like(1.0, node.input()), node.input())


def _sum(node: Operation) -> Node:
    return reduce(partial(add, node.apply), node.inputs())


def _folded(op: str) -> Converter:
    """An operator of any number of inputs, taken two at a time."""
    return lambda node: reduce(partial(node.apply, op), node.inputs())


def _average(node: Operation) -> Node:
    return node.apply("multiply", _sum(node), like(1.0 / node.arity, node.input()))


def _cast(node: Operation) -> Node:
    data, dtype = node.input(), dtype_of(node.integer("to"))
    return data if data.dtype == dtype else node.apply("cast", data, dtype=dtype)


def _bound(node: Operation, index: int, name: str, default: float) -> float:
    """A bound of Clip: an attribute, and since version 11 an input."""
    if node.opset < 11:
        return node.number(name, default)
    value = node.array(index, f"{name}imum")
    return default if value is None else value.item()


def _clip(node: Operation) -> Node:
    low, high = _bound(node, 1, "min", -math.inf), _bound(node, 2, "max", math.inf)
    return node.apply("clip", node.input(), a_min=low, a_max=high)


def _leaky_relu(node: Operation) -> Node:
    return node.apply("nn.leaky_relu", node.input(), alpha=node.number("alpha", 0.01))


def _elu(node: Operation) -> Node:
    return node.apply("nn.elu", node.input(), alpha=node.number("alpha", 1.0))


def _selu(node: Operation) -> Node:
    return selu(node.apply, node.input(), node.number("alpha", _SELU_ALPHA), node.number("gamma", _SELU_GAMMA))


def _gelu(node: Operation) -> Node:
    if node.text("approximate", "none") != "none":
        raise UnsupportedNodeError("approximate")
    return gelu(node.apply, node.input())


def _mish(node: Operation) -> Node:
    return node.apply("multiply", node.input(), node.apply("tanh", softplus(node.apply, node.input())))


def _prelu(node: Operation) -> Node:
    data, slope = node.input(0), node.input(1)
    rank = len(data.shape)
    padded = (1,) * (rank - len(slope.shape)) + slope.shape
    per_channel = rank > 1 and all(dim == 1 or axis == 1 for axis, dim in enumerate(padded))
    if slope.value is not None and per_channel:
        vector = np.broadcast_to(slope.value.reshape(-1), (data.shape[1],))
        return node.apply("nn.prelu", data, node.constant(vector))
    below = node.apply("nn.relu", node.apply("negative", data))
    return node.apply("subtract", node.apply("nn.relu", data), node.apply("multiply", below, slope))


def _hard_sigmoid(node: Operation) -> Node:
    return node.apply("nn.hard_sigmoid", node.input(), alpha=node.number("alpha", 0.2), beta=node.number("beta", 0.5))


def _axes(node: Operation, since: int) -> tuple[int, ...] | None:
    """Reduced axes; None where the node passes its input through."""
    axes = node.axes(len(node.input().shape), 1, since)
    if axes:
        return axes
    return None if node.integer("noop_with_empty_axes", 0) else ()


def _reduction(op: str, since: int) -> Converter:
    def convert(node: Operation) -> Node:
        axes, keepdims = _axes(node, since), node.integer("keepdims", 1) != 0
        if axes is None:
            return node.input()
        return node.apply(op, node.input(), axis=axes, keepdims=keepdims)

    return convert


def _reduce_mean(node: Operation) -> Node:
    axes = _axes(node, 18)
    return node.input() if axes is None else mean(node.apply, node.input(), axes, node.integer("keepdims", 1) != 0)


def _reduce_l2(node: Operation) -> Node:
    data, axes = node.input(), _axes(node, 18)
    if axes is None:
        return node.apply("abs", data)
    squares = node.apply("multiply", data, data)
    return node.apply("sqrt", node.apply("sum", squares, axis=axes, keepdims=node.integer("keepdims", 1) != 0))


CONVERTERS: dict[str, Converter] = {
    "Abs": _unary("abs"),
    "Add": _add,
    "Cast": _cast,
    "Clip": _clip,
    "Div": _divide,
    "Dropout": _identity,
    "Elu": _elu,
    "Erf": _unary("erf"),
    "Exp": _unary("exp"),
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _unary("nn.hard_swish"),
    "Identity": _identity,
    "LeakyRelu": _leaky_relu,
    "Log": _unary("log"),
    "Max": _folded("maximum"),
    "Mean": _average,
    "Min": _folded("minimum"),
    "Mish": _mish,
    "Mul": _multiply,
    "Neg": _unary("negative"),
    "PRelu": _prelu,
    "Pow": _power,
    "Reciprocal": _reciprocal,
    "ReduceL2": _reduce_l2,
    "ReduceMax": _reduction("max", 18),
    "ReduceMean": _reduce_mean,
    "ReduceSum": _reduction("sum", 13),
    "Relu": _unary("nn.relu"),
    "Selu": _selu,
    "Sigmoid": _unary("sigmoid"),
    "Softplus": lambda node: softplus(node.apply, node.input()),
    "Softsign": lambda node: softsign(node.apply, node.input()),
    "Sqrt": _unary("sqrt"),
    "Sub": _binary("subtract"),
    "Sum": _sum,
    "Tanh": _unary("tanh"),
}
