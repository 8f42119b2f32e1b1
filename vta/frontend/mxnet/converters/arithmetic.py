"""MXNet's element-wise arithmetic and reductions."""

from __future__ import annotations

from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import add, like, mean, multiply
from vta.frontend.mxnet.layer import Converter, Layer
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _identity(layer: Layer) -> Node:
    return layer.tensor()


def _unary(op: str) -> Converter:
    return lambda layer: layer.call(op, layer.tensor())


def _binary(op: str) -> Converter:
    return lambda layer: layer.call(op, layer.tensor(0), layer.tensor(1))


def _add(layer: Layer) -> Node:
    return add(layer.call, layer.tensor(0), layer.tensor(1))


def _multiply(layer: Layer) -> Node:
    return multiply(layer.call, layer.tensor(0), layer.tensor(1))


def _add_n(layer: Layer) -> Node:
    total, *rest = layer.tensors()
    for term in rest:
        total = add(layer.call, total, term)
    return total


def _scalar(op: str) -> Converter:
    """The scalar of the attribute is the second operand."""
    return lambda layer: layer.call(op, layer.tensor(), like(layer.attrs.number("scalar"), layer.tensor()))


def _reversed_scalar(op: str) -> Converter:
    """The scalar of the attribute is the first operand."""
    return lambda layer: layer.call(op, like(layer.attrs.number("scalar"), layer.tensor()), layer.tensor())


def _square(layer: Layer) -> Node:
    return layer.call(ops.MULTIPLY, layer.tensor(), layer.tensor())


def _clip(layer: Layer) -> Node:
    return layer.call(ops.CLIP, layer.tensor(), a_min=layer.attrs.number("a_min"), a_max=layer.attrs.number("a_max"))


def _hard_sigmoid(layer: Layer) -> Node:
    attrs = layer.attrs
    return layer.call(ops.HARD_SIGMOID, layer.tensor(), alpha=attrs.number("alpha", 0.2), beta=attrs.number("beta", 0.5))


def _reduction_axes(layer: Layer) -> tuple[int, ...]:
    """The reduced axes; empty means all."""
    axes = layer.attrs.integers("axis", ())
    if layer.attrs.boolean("exclude", False):
        rank = len(layer.tensor().shape)
        axes = tuple(sorted(set(range(rank)) - {axis % rank for axis in axes}))
        if not axes:
            raise UnsupportedNodeError("a reduction over no axis")
    return axes


def _mean(layer: Layer) -> Node:
    return mean(layer.call, layer.tensor(), _reduction_axes(layer), layer.attrs.boolean("keepdims", False))


def _reduction(op: str) -> Converter:
    return lambda layer: layer.call(
        op, layer.tensor(), axis=_reduction_axes(layer), keepdims=layer.attrs.boolean("keepdims", False)
    )


_ADD = ("elemwise_add", "broadcast_add", "broadcast_plus", "_Plus", "_plus", "_add")
_SUBTRACT = ("elemwise_sub", "broadcast_sub", "broadcast_minus", "_Minus", "_minus", "_sub")
_MULTIPLY = ("elemwise_mul", "broadcast_mul", "_Mul", "_mul")
_DIVIDE = ("elemwise_div", "broadcast_div", "_Div", "_div")
_IDENTITY = ("BlockGrad", "Dropout", "LinearRegressionOutput", "MAERegressionOutput", "MakeLoss", "_copy", "identity")

CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(_IDENTITY, _identity),
    **dict.fromkeys(_ADD, _add),
    **dict.fromkeys(_MULTIPLY, _multiply),
    **dict.fromkeys(_SUBTRACT, _binary(ops.SUBTRACT)),
    **dict.fromkeys(_DIVIDE, _binary(ops.DIVIDE)),
    **dict.fromkeys(("broadcast_maximum", "_maximum", "_Maximum"), _binary(ops.MAXIMUM)),
    **dict.fromkeys(("broadcast_minimum", "_minimum", "_Minimum"), _binary(ops.MINIMUM)),
    **dict.fromkeys(("broadcast_power", "_power", "_Power"), _binary(ops.POWER)),
    **dict.fromkeys(("add_n", "ElementWiseSum"), _add_n),
    **dict.fromkeys(("_plus_scalar", "_PlusScalar"), _scalar(ops.ADD)),
    **dict.fromkeys(("_minus_scalar", "_MinusScalar"), _scalar(ops.SUBTRACT)),
    **dict.fromkeys(("_mul_scalar", "_MulScalar"), _scalar(ops.MULTIPLY)),
    **dict.fromkeys(("_div_scalar", "_DivScalar"), _scalar(ops.DIVIDE)),
    **dict.fromkeys(("_power_scalar", "_PowerScalar"), _scalar(ops.POWER)),
    **dict.fromkeys(("_maximum_scalar", "_MaximumScalar"), _scalar(ops.MAXIMUM)),
    **dict.fromkeys(("_minimum_scalar", "_MinimumScalar"), _scalar(ops.MINIMUM)),
    **dict.fromkeys(("_rminus_scalar", "_RMinusScalar"), _reversed_scalar(ops.SUBTRACT)),
    **dict.fromkeys(("_rdiv_scalar", "_RDivScalar"), _reversed_scalar(ops.DIVIDE)),
    **{op: _unary(op) for op in (ops.ABS, ops.ERF, ops.EXP, ops.LOG, ops.NEGATIVE, ops.SIGMOID, ops.SQRT, ops.TANH)},
    "LogisticRegressionOutput": _unary(ops.SIGMOID),
    "clip": _clip,
    "hard_sigmoid": _hard_sigmoid,
    "max": _reduction(ops.MAX),
    "mean": _mean,
    "relu": _unary(ops.RELU),
    "square": _square,
    "sum": _reduction(ops.SUM),
}
