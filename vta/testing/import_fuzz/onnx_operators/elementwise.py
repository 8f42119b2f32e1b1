"""Element-wise operators and activations of ONNX, on floats, integers and truth values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Illegal, Value
from vta.testing.import_fuzz.onnx_net import OnnxNet

__all__ = ["ELEMENTWISE", "other_operand"]

_UNARY = {
    "Abs": 6, "Ceil": 6, "Exp": 6, "Floor": 6, "Neg": 6, "Relu": 6, "Sigmoid": 6, "Tanh": 6, "Identity": 1, "Erf": 9,
    "Sign": 9, "Round": 11, "HardSwish": 14, "Softplus": 1, "Softsign": 1, "Mish": 18,
}  # fmt: skip
"""Operators of one float, and the version since when they are there."""

_TUNABLE: dict[str, tuple[int, dict[str, tuple[float, ...]]]] = {
    "LeakyRelu": (6, {"alpha": (0.01, 0.25, 1.5, -0.5)}),
    "Elu": (6, {"alpha": (1.0, 0.5, 2.0)}),
    "Selu": (6, {"alpha": (1.5,), "gamma": (1.25,)}),
    "HardSigmoid": (6, {"alpha": (0.2, 1 / 6, 0.5), "beta": (0.5, 0.25)}),
    "Celu": (12, {"alpha": (1.0, 0.5, 2.0)}),
    "ThresholdedRelu": (10, {"alpha": (1.0, 0.5, 0.0)}),
    "Shrink": (9, {"lambd": (0.5, 1.0, 0.25), "bias": (0.0, 0.5)}),
    "Gelu": (20, {}),
    "Swish": (24, {"alpha": (1.0, 1.5)}),
}
"""Operators of one float with parameters that may be left out."""

_STEPS = frozenset(("Ceil", "Floor", "Round", "Sign", "ThresholdedRelu", "Shrink", "Equal", "Greater", "Less", "Not"))
"""Operators with jumps: what they read must be exact, or results could differ by all of the jump."""

_BINARY = ("Add", "Sub", "Mul", "Div", "Pow")
_VARIADIC = ("Sum", "Mean", "Max", "Min")
_COMPARE = {"Equal": 11, "Greater": 9, "Less": 9, "GreaterOrEqual": 12, "LessOrEqual": 12}


def _is_exact(value: Value) -> bool:
    return value.exact


def other_operand(net: OnnxNet, name: str, draw: str = "") -> str:
    """Return a second operand: another value or a constant, of the same shape or one that broadcasts with it."""
    value = net.values[name]
    if net.rng.random() < 0.35:
        same = [v.name for v in net.values.values() if v.data is None and v.dtype == value.dtype and _fits(v.shape, value.shape)]
        if same:
            return net.rng.choice(same)
    shape = tuple(dim if net.rng.random() < 0.6 else 1 for dim in value.shape)[net.rng.randint(0, len(value.shape)) :]
    if net.rng.random() < 0.1:
        shape = (*(net.rng.choice((1, 2)) for _ in range(5 - len(shape))), *shape)[-len(value.shape) - 1 :]
    if value.dtype == "float32":
        return net.floats(shape, draw)
    if value.dtype == "bool":
        return net.constant(net.numbers.integers(0, 2, shape).astype(bool))
    return net.constant(net.numbers.integers(-9, 10, shape).astype(value.dtype))


def _fits(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        return False
    return True


def _since(net: OnnxNet, version: int) -> None:
    if net.opset < version:
        raise Illegal(f"since version {version}")


def _unary(net: OnnxNet) -> None:
    kind = net.rng.choice(list(_UNARY))
    _since(net, _UNARY[kind])
    net.add(kind, net.pick(where=_is_exact) if kind in _STEPS else net.pick())


def _tunable(net: OnnxNet) -> None:
    kind = net.rng.choice(list(_TUNABLE))
    since, parameters = _TUNABLE[kind]
    _since(net, since)
    given: dict[str, Any] = {name: net.rng.choice(choices) for name, choices in parameters.items() if net.rng.random() < 0.7}
    if kind == "Gelu" and net.rng.random() < 0.5:
        net.add(kind, net.pick(), approximate=net.rng.choice(("none", "tanh")))
        return
    net.add(kind, net.pick(where=_is_exact) if kind in _STEPS else net.pick(), **given)


def _binary(net: OnnxNet) -> None:
    kind = net.rng.choice(_BINARY)
    name = net.pick()
    if kind == "Pow":
        base = net.apply("Add", net.apply("Abs", name), net.constant(np.float32(0.5)))
        net.add("Pow", base, net.constant(np.float32(net.rng.choice((2.0, 0.5, 3.0, -1.0, 1.0)))))
        return
    operands = [name, other_operand(net, name, "positive" if kind == "Div" else "")]
    if kind == "Div" and net.values[operands[1]].data is None:
        operands[1] = net.apply("Add", net.apply("Abs", operands[1]), net.constant(np.float32(0.5)))
    elif net.rng.random() < 0.4:
        operands.reverse()
        if kind == "Div":
            operands[1] = net.apply("Add", net.apply("Abs", operands[1]), net.constant(np.float32(0.5)))
    net.add(kind, *operands)


def _square(net: OnnxNet) -> None:
    name = net.pick()
    net.add("Mul", name, name)


def _variadic(net: OnnxNet) -> None:
    name = net.pick()
    operands = [name, *(other_operand(net, name) for _ in range(net.rng.randint(0, 2)))]
    net.rng.shuffle(operands)
    net.add(net.rng.choice(_VARIADIC), *operands)


def _clip(net: OnnxNet) -> None:
    low, high = sorted(net.rng.sample((-3.0, -1.0, 0.0, 0.5, 6.0), 2))
    given = (net.rng.random() < 0.8, net.rng.random() < 0.8)
    if net.opset < 11:
        net.add("Clip", net.pick(), min=low if given[0] else None, max=high if given[1] else None)
        return
    bounds = [net.constant(np.float32(bound)) if there else "" for bound, there in zip((low, high), given, strict=True)]
    while bounds and not bounds[-1]:
        bounds.pop()
    net.add("Clip", net.pick(), *bounds)


def _prelu(net: OnnxNet) -> None:
    _since(net, 7)
    name = net.pick()
    shape, rank = net.shape(name), net.rank(name)
    choices: list[tuple[int, ...]] = [(1,), shape]
    if rank > 1:
        choices += [(shape[1], *(1,) * (rank - 2)), (shape[-1],)]
    net.add("PRelu", name, net.floats(net.rng.choice(choices)))


def _logarithm(net: OnnxNet) -> None:
    positive = net.apply("Add", net.apply("Abs", net.pick()), net.constant(np.float32(0.25)))
    net.add(net.rng.choice(("Log", "Sqrt", "Reciprocal")), positive)


def _compare(net: OnnxNet) -> None:
    kind = net.rng.choice(list(_COMPARE))
    _since(net, _COMPARE[kind])
    name = net.pick("float32", "int64", "int32", where=_is_exact)
    other = other_operand(net, name)
    if not net.values[other].exact:
        raise Illegal("a comparison of values that are not exact")
    net.add(kind, name, other)


def _truth(net: OnnxNet) -> str:
    """A truth value, made if there is none."""
    try:
        return net.pick("bool")
    except Illegal:
        return net.apply("Greater", net.pick(where=_is_exact), net.constant(np.float32(0.5)))


def _logic(net: OnnxNet) -> None:
    _since(net, 9)
    name = _truth(net)
    kind = net.rng.choice(("And", "Or", "Xor", "Not"))
    net.add(kind, *((name,) if kind == "Not" else (name, other_operand(net, name))))


def _where(net: OnnxNet) -> None:
    _since(net, 9)
    condition = _truth(net)
    name = net.pick("float32", "int8", "int32", "int64")
    if not _fits(net.shape(condition), net.shape(name)):
        condition = net.constant(net.numbers.integers(0, 2, net.shape(name)[-1:]).astype(bool))
    operands = [name, other_operand(net, name)]
    net.rng.shuffle(operands)
    net.add("Where", condition, *operands)


def _cast(net: OnnxNet) -> None:
    name = net.pick("float32", "int32", "int64", "bool", "int8", where=_is_exact)
    to = net.rng.choice(("float32", "int32", "int64", "bool", "int8"))
    if net.values[name].dtype == "float32" and to == "int8":
        name = net.apply("Floor", net.apply("Max", net.apply("Min", name, net.floats((), "eighths")), net.floats((), "eighths")))
    codes = {"float32": 1, "int32": 6, "int64": 7, "bool": 9, "int8": 3}
    net.add("Cast", name, to=codes[to])


def _wide(net: OnnxNet) -> None:
    """An input of double or half precision."""
    name = net.input((2, 3, 4), net.rng.choice(("float64", "float16")), "eighths")
    net.add("Cast", name, to=1, grid=(3, 5))


def _narrow(net: OnnxNet) -> None:
    """An output of double or half precision."""
    name = net.pick(where=_is_exact)
    net.add("Cast", name, to=net.rng.choice((10, 11)))


def _integer(net: OnnxNet) -> None:
    name = net.pick("int32", "int64")
    kind = net.rng.choice(("Add", "Sub", "Mul", "Max", "Min", "Abs", "Neg", "Sign", "Div", "Mod"))
    if kind in ("Max", "Min"):
        _since(net, 12)
    if kind in ("Abs", "Neg", "Sign"):
        net.add(kind, name)
    elif kind in ("Div", "Mod"):
        _since(net, 10)
        divisor = net.constant(net.numbers.choice([-3, -2, 2, 3, 5], net.shape(name)[-1:]).astype(net.values[name].dtype))
        net.add(kind, name, divisor, exact=True)
    else:
        net.add(kind, name, other_operand(net, name))


def _dropout(net: OnnxNet) -> None:
    outputs = net.rng.choice((1, 1, 2))
    if net.opset < 12:
        net.add("Dropout", net.pick(), outputs=outputs, ratio=net.rng.choice((None, 0.5)))
        return
    ratio = net.rng.choice(("", net.constant(np.float32(0.5))))
    training = net.rng.choice(("", net.constant(np.bool_(False))))
    inputs = [net.pick(), ratio, training]
    while not inputs[-1]:
        inputs.pop()
    net.add("Dropout", *inputs, outputs=outputs)


ELEMENTWISE: tuple[Callable[[OnnxNet], None], ...] = (
    _unary,
    _unary,
    _unary,
    _unary,
    _tunable,
    _binary,
    _binary,
    _square,
    _variadic,
    _clip,
    _prelu,
    _logarithm,
    _compare,
    _logic,
    _where,
    _cast,
    _wide,
    _narrow,
    _integer,
    _dropout,
)
