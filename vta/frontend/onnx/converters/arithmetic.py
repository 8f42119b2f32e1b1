"""ONNX's element-wise operators and activations."""

from __future__ import annotations

import math
from functools import partial, reduce

import numpy as np
import onnx

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import SIGNED_INTEGERS, add, gelu, gelu_by_tanh, like, multiply, selu, softplus, softsign
from vta.frontend.onnx.operation import MICROSOFT, Converter, Operation
from vta.frontend.onnx.tensors import dtype_of
from vta.frontend.onnx.unsigned import BYTE_OFFSET
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.interpreter import constant_value

__all__ = ["CONVERTERS"]

_SELU_ALPHA, _SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


def _identity(node: Operation) -> Node:
    return node.input()


def _unary(op: str) -> Converter:
    return lambda node: node.apply(op, node.input())


def _operands(node: Operation) -> tuple[Node, Node]:
    """The two operands. Before version 7 the second is laid along the first from an axis on, not from the last one back."""
    left, right = node.input(0), node.input(1)
    axis = node.integer("axis", -1) if node.opset < 7 and node.integer("broadcast", 0) else -1
    trailing = len(left.shape) - axis % max(1, len(left.shape)) - len(right.shape)
    if axis != -1 and trailing > 0:
        right = node.apply(ops.RESHAPE, right, newshape=(*right.shape, *(1,) * trailing))
    return left, right


def _binary(op: str) -> Converter:
    return lambda node: node.apply(op, *_operands(node))


def _add(node: Operation) -> Node:
    return add(node.apply, *_operands(node))


def _multiply(node: Operation) -> Node:
    return multiply(node.apply, *_operands(node))


def _divide(node: Operation) -> Node:
    left, right = _operands(node)
    return node.apply(ops.TRUNC_DIVIDE if left.dtype in SIGNED_INTEGERS else ops.DIVIDE, left, right)


def _remainder(node: Operation) -> Node:
    """With the sign of the divisor, with fmod that of the dividend. Floats, as in shape arithmetic, must be known at import."""
    left, right = _operands(node)
    towards_zero = node.integer("fmod", 0) != 0
    if left.dtype in SIGNED_INTEGERS:
        return node.apply(ops.TRUNC_MOD if towards_zero else ops.FLOOR_MOD, left, right)
    if left.value is None or right.value is None:
        raise UnsupportedNodeError(
            f"of {left.dtype}, where its inputs depend on an input of the network; only of signed integers"
        )
    with np.errstate(all="ignore"):
        return node.constant((np.fmod if towards_zero else np.mod)(left.value, right.value))


def _power(node: Operation) -> Node:
    base, exponent = _operands(node)
    if base.value is not None and exponent.value is not None:
        with np.errstate(all="ignore"):
            return node.constant(np.power(base.value, exponent.value).astype(base.value.dtype))
    if exponent.value is None:
        return node.apply(ops.POWER, base, exponent)
    if exponent.value.size == 1 and exponent.value.item() == 2:
        return node.apply(ops.MULTIPLY, base, base)
    return node.apply(ops.POWER, base, node.constant(exponent.value.astype(base.dtype)))


def _reciprocal(node: Operation) -> Node:
    return node.apply(ops.DIVIDE, like(1.0, node.input()), node.input())


def _sum(node: Operation) -> Node:
    return reduce(partial(add, node.apply), node.inputs())


def _folded(op: str) -> Converter:
    """An operator of any number of inputs, taken two at a time."""
    return lambda node: reduce(partial(node.apply, op), node.inputs())


def _average(node: Operation) -> Node:
    return node.apply(ops.MULTIPLY, _sum(node), like(1.0 / node.arity, node.input()))


def _cast(node: Operation) -> Node:
    # Before version 6 the type is named.
    code = onnx.TensorProto.DataType.Value(node.text("to", "")) if node.opset < 6 else node.integer("to")
    return _as_type(node, dtype_of(code))


def _cast_like(node: Operation) -> Node:
    return _as_type(node, node.input(1).dtype)


def _as_type(node: Operation, dtype: str) -> Node:
    data = node.input()
    if data.dtype == dtype:
        return data
    if data.dtype == "uint8" and dtype == "float32" and data.value is None:
        return node.apply(ops.QNN_DEQUANTIZE, node.held(data), scale=1.0, zero_point=-BYTE_OFFSET)
    return node.apply(ops.CAST, data, dtype=dtype)


def _dropout(node: Operation) -> tuple[Node, Node]:
    """The data, and the mask: at inference nothing is dropped, which the mask said nothing of until version 12."""
    training = node.array(2, "training_mode") if node.opset >= 12 else None
    ratio = node.array(1, "the ratio") if training is not None and training.item() else None
    if training is not None and training.item() and (ratio is None or ratio.item() != 0):
        raise UnsupportedNodeError("training_mode (values dropped at random)")
    data = node.input()
    mask = np.full(data.shape, node.opset >= 12)
    return data, node.constant(mask if node.opset >= 10 else mask.astype(data.dtype))


def _bound(node: Operation, index: int, name: str, default: float) -> float | Node:
    """A bound of Clip: an attribute, and since version 11 an input, which may be computed."""
    if node.opset < 11:
        return node.number(name, default)
    given = node.optional(index)
    value = None if given is None else constant_value(given)
    return default if given is None else given if value is None else value.item()


def _clip(node: Operation) -> Node:
    low, high = _bound(node, 1, "min", -math.inf), _bound(node, 2, "max", math.inf)
    if isinstance(low, Node) or isinstance(high, Node):
        return _clipped(node, low, high)
    # Of bounds that cross, the upper one holds.
    return node.apply(ops.CLIP, node.input(), a_min=min(low, high), a_max=high)


def _clipped(node: Operation, low: float | Node, high: float | Node) -> Node:
    """A clip with bounds that are computed: the upper one comes last, as it holds where they cross."""
    data = node.input()
    for op, bound in ((ops.MAXIMUM, low), (ops.MINIMUM, high)):
        if isinstance(bound, Node) or math.isfinite(bound):
            data = node.apply(op, data, bound if isinstance(bound, Node) else like(bound, data))
    return data


def _leaky_relu(node: Operation) -> Node:
    return node.apply(ops.LEAKY_RELU, node.input(), alpha=node.number("alpha", 0.01))


def _elu(node: Operation) -> Node:
    return node.apply(ops.ELU, node.input(), alpha=node.number("alpha", 1.0))


def _selu(node: Operation) -> Node:
    return selu(node.apply, node.input(), node.number("alpha", _SELU_ALPHA), node.number("gamma", _SELU_GAMMA))


def _gelu(node: Operation) -> Node:
    approximate = node.text("approximate", "none")
    if approximate == "none":
        return gelu(node.apply, node.input())
    if approximate != "tanh":
        raise ImportModelError(f"approximate {approximate!r} is not one of none, tanh")
    return gelu_by_tanh(node.apply, node.input())


def _mish(node: Operation) -> Node:
    return node.apply(ops.MULTIPLY, node.input(), node.apply(ops.TANH, softplus(node.apply, node.input())))


def _where(node: Operation) -> Node:
    return node.apply(ops.WHERE, node.input(0), node.input(1), node.input(2))


def _prelu(node: Operation) -> Node:
    data, slope = node.input(0), node.input(1)
    rank = len(data.shape)
    if node.opset < 7 and len(slope.shape) == 1 and rank > 1:
        # Then a slope belongs to a channel without saying so by its shape.
        slope = node.apply(ops.RESHAPE, slope, newshape=(-1, *(1,) * (rank - 2)))
    padded = (1,) * (rank - len(slope.shape)) + slope.shape
    per_channel = rank > 1 and all(dim == 1 or axis == 1 for axis, dim in enumerate(padded))
    if slope.value is not None and per_channel:
        vector = np.broadcast_to(slope.value.reshape(-1), (data.shape[1],))
        return node.apply(ops.PRELU, data, node.constant(vector))
    below = node.apply(ops.RELU, node.apply(ops.NEGATIVE, data))
    return node.apply(ops.SUBTRACT, node.apply(ops.RELU, data), node.apply(ops.MULTIPLY, below, slope))


def _celu(node: Operation) -> Node:
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0): an ELU of x / alpha, scaled back."""
    alpha = like(node.number("alpha", 1.0), node.input())
    scaled = node.apply(ops.ELU, node.apply(ops.DIVIDE, node.input(), alpha), alpha=1.0)
    return node.apply(ops.MULTIPLY, scaled, alpha)


def _swish(node: Operation) -> Node:
    data, alpha = node.input(), node.number("alpha", 1.0)
    inner = data if alpha == 1.0 else node.apply(ops.MULTIPLY, data, like(alpha, data))
    return node.apply(ops.MULTIPLY, data, node.apply(ops.SIGMOID, inner))


def _gaussian(node: Operation) -> Node:
    return gelu(node.apply, node.input())


def _biased_gaussian(node: Operation) -> Node:
    return gelu(node.apply, node.apply(ops.ADD, node.input(0), node.input(1)))


def _fast_gaussian(node: Operation) -> Node:
    data, bias = node.input(0), node.optional(1)
    return gelu_by_tanh(node.apply, data if bias is None else node.apply(ops.ADD, data, bias))


def _quick_gaussian(node: Operation) -> Node:
    data, alpha = node.input(), node.number("alpha", 1.702)
    return node.apply(ops.MULTIPLY, data, node.apply(ops.SIGMOID, node.apply(ops.MULTIPLY, data, like(alpha, data))))


def _shrink(node: Operation) -> Node:
    """x + bias below -lambd, x - bias above lambd, 0 between."""
    data, apply = node.input(), node.apply
    bound, bias, zero = (like(value, data) for value in (node.number("lambd", 0.5), node.number("bias", 0.0), 0.0))
    above = apply(ops.WHERE, apply(ops.GREATER, data, bound), apply(ops.SUBTRACT, data, bias), zero)
    return apply(ops.WHERE, apply(ops.LESS, data, apply(ops.NEGATIVE, bound)), apply(ops.ADD, data, bias), above)


def _is_nan(node: Operation) -> Node:
    return node.apply(ops.LOGICAL_NOT, node.apply(ops.EQUAL, node.input(), node.input()))


def _is_infinite(node: Operation) -> Node:
    """Of both signs, unless attributes leave out one."""
    signs = [sign for sign, name in ((1, "positive"), (-1, "negative")) if node.integer(f"detect_{name}", 1)]
    found = [node.apply(ops.EQUAL, node.input(), like(sign * math.inf, node.input())) for sign in signs]
    never = node.constant(np.zeros(node.input().shape, bool))
    return reduce(partial(node.apply, ops.LOGICAL_OR), found) if found else never


def _thresholded_relu(node: Operation) -> Node:
    data = node.input()
    above = node.apply(ops.GREATER, data, like(node.number("alpha", 1.0), data))
    return node.apply(ops.WHERE, above, data, like(0.0, data))


def _hard_sigmoid(node: Operation) -> Node:
    return node.apply(ops.HARD_SIGMOID, node.input(), alpha=node.number("alpha", 0.2), beta=node.number("beta", 0.5))


CONVERTERS: dict[str, Converter] = {
    "Abs": _unary(ops.ABS),
    "Add": _add,
    "And": _binary(ops.LOGICAL_AND),
    "Cast": _cast,
    "CastLike": _cast_like,
    "Ceil": _unary(ops.CEIL),
    "Celu": _celu,
    "Clip": _clip,
    "Cos": _unary(ops.COS),
    "Div": _divide,
    "Dropout": _dropout,
    "Elu": _elu,
    "Equal": _binary(ops.EQUAL),
    "Erf": _unary(ops.ERF),
    "Exp": _unary(ops.EXP),
    "Floor": _unary(ops.FLOOR),
    "Gelu": _gelu,
    "Greater": _binary(ops.GREATER),
    "GreaterOrEqual": _binary(ops.GREATER_EQUAL),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _unary(ops.HARD_SWISH),
    "Identity": _identity,
    "IsInf": _is_infinite,
    "IsNaN": _is_nan,
    "LeakyRelu": _leaky_relu,
    "Less": _binary(ops.LESS),
    "LessOrEqual": _binary(ops.LESS_EQUAL),
    "Log": _unary(ops.LOG),
    "Max": _folded(ops.MAXIMUM),
    "Mean": _average,
    "Min": _folded(ops.MINIMUM),
    "Mish": _mish,
    "Mod": _remainder,
    "Mul": _multiply,
    "Neg": _unary(ops.NEGATIVE),
    "Not": _unary(ops.LOGICAL_NOT),
    "Or": _binary(ops.LOGICAL_OR),
    "PRelu": _prelu,
    "Pow": _power,
    "Reciprocal": _reciprocal,
    "Relu": _unary(ops.RELU),
    "Round": _unary(ops.ROUND),
    "Selu": _selu,
    "Sigmoid": _unary(ops.SIGMOID),
    "Shrink": _shrink,
    "Sign": _unary(ops.SIGN),
    "Sin": _unary(ops.SIN),
    "Softplus": lambda node: softplus(node.apply, node.input()),
    "Softsign": lambda node: softsign(node.apply, node.input()),
    "Sqrt": _unary(ops.SQRT),
    "Sub": _binary(ops.SUBTRACT),
    "Sum": _sum,
    "Swish": _swish,
    "Tanh": _unary(ops.TANH),
    "ThresholdedRelu": _thresholded_relu,
    "Where": _where,
    "Xor": _binary(ops.LOGICAL_XOR),
    f"BiasGelu{MICROSOFT}": _biased_gaussian,
    f"FastGelu{MICROSOFT}": _fast_gaussian,
    f"Gelu{MICROSOFT}": _gaussian,
    f"QuickGelu{MICROSOFT}": _quick_gaussian,
}
