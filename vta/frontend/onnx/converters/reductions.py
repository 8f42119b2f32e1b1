"""ONNX's reductions. Axes are an attribute; since version 18 (of ReduceSum, 13) an input."""

from __future__ import annotations

from collections.abc import Callable

from vta.frontend._layers import mean
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

_Reduce = Callable[[Operation, Node, tuple[int, ...], bool], Node]
"""Reduces a value over axes (none: all), which stay with size 1 or go."""

_Map = Callable[[Operation, Node], Node]


def _through(op: str) -> _Reduce:
    return lambda node, data, axes, keepdims: node.apply(op, data, axis=axes, keepdims=keepdims)


def _identity(node: Operation, data: Node) -> Node:
    return data


def _unary(op: str) -> _Map:
    return lambda node, data: node.apply(op, data)


def _square(node: Operation, data: Node) -> Node:
    return node.apply(ops.MULTIPLY, data, data)


def _mean(node: Operation, data: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    return mean(node.apply, data, axes, keepdims)


def _log_sum_exp(node: Operation, data: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """Less the largest value, which is added back, nothing overflows."""
    largest = node.apply(ops.MAX, data, axis=axes, keepdims=True)
    powers = node.apply(ops.EXP, node.apply(ops.SUBTRACT, data, largest))
    total = node.apply(ops.LOG, node.apply(ops.SUM, powers, axis=axes, keepdims=True))
    result = node.apply(ops.ADD, total, largest)
    if keepdims:
        return result
    return node.apply(ops.SQUEEZE, result, axis=axes or tuple(range(len(data.shape))))


def _reduction(reduce: _Reduce, before: _Map = _identity, after: _Map = _identity, since: int = 18) -> Converter:
    def convert(node: Operation) -> Node:
        data = before(node, node.input())
        axes = node.axes(len(data.shape), 1, since) or ()
        if not axes and node.integer("noop_with_empty_axes", 0):
            return after(node, data)
        return after(node, reduce(node, data, axes, node.integer("keepdims", 1) != 0))

    return convert


def _log_sum_exp_reduction(node: Operation) -> Node:
    axes = node.axes(len(node.input().shape), 1, 18) or ()
    if not axes and node.integer("noop_with_empty_axes", 0):
        return node.input()
    return _log_sum_exp(node, node.input(), axes, node.integer("keepdims", 1) != 0)


def _arg(op: str) -> Converter:
    def convert(node: Operation) -> Node:
        last = node.integer("select_last_index", 0) != 0
        return node.apply(
            op, node.input(), axis=node.integer("axis", 0), keepdims=node.integer("keepdims", 1) != 0, select_last=last
        )

    return convert


CONVERTERS: dict[str, Converter] = {
    "ArgMax": _arg(ops.ARGMAX),
    "ArgMin": _arg(ops.ARGMIN),
    "ReduceL1": _reduction(_through(ops.SUM), before=_unary(ops.ABS)),
    "ReduceL2": _reduction(_through(ops.SUM), before=_square, after=_unary(ops.SQRT)),
    "ReduceLogSum": _reduction(_through(ops.SUM), after=_unary(ops.LOG)),
    "ReduceLogSumExp": _log_sum_exp_reduction,
    "ReduceMax": _reduction(_through(ops.MAX)),
    "ReduceMean": _reduction(_mean),
    "ReduceMin": _reduction(_through(ops.MIN)),
    "ReduceProd": _reduction(_through(ops.PROD)),
    "ReduceSum": _reduction(_through(ops.SUM), since=13),
    "ReduceSumSquare": _reduction(_through(ops.SUM), before=_square),
}
