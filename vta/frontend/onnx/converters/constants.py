"""ONNX operators of shape arithmetic: they have no counterpart in the graph, and their values are known at import."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import MAX_ARRAY_BYTES, UnsupportedNodeError
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

Array = NDArray[Any]


def _constant(node: Operation) -> Node:
    value = node.attribute("value")
    if value is not None:
        return node.constant(value)
    for name, dtype in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        value = node.attribute(name)
        if value is not None:
            return node.constant(np.array(value, dtype))
    raise UnsupportedNodeError("a constant that is not a dense tensor of numbers")


def _constant_of_shape(node: Operation) -> Node:
    shape = node.numbers(0, "the shape") or ()
    value = node.attribute("value")
    fill = np.zeros(1, np.float32) if value is None else value
    if any(dim < 0 for dim in shape) or math.prod(shape) * fill.itemsize > MAX_ARRAY_BYTES:
        raise ImportModelError(f"shape {shape} is negative or too large")
    return node.constant(np.broadcast_to(fill.reshape(-1)[0], shape))


def _shape(node: Operation) -> Node:
    shape = node.input().shape
    return node.constant(np.array(shape[node.integer("start", 0) : node.integer("end", len(shape))], np.int64))


def _size(node: Operation) -> Node:
    return node.constant(np.array(math.prod(node.input().shape), np.int64))


def _range(start: Array, limit: Array, delta: Array) -> Array:
    count = math.ceil((limit.item() - start.item()) / delta.item())
    if count * 8 > MAX_ARRAY_BYTES:
        raise ImportModelError(f"a range of {count} values is too large")
    return np.asarray(start + np.arange(max(0, count), dtype=start.dtype) * delta, start.dtype)


def _known(function: Callable[..., Array]) -> Converter:
    """An operator that is only evaluated, on values known at import."""

    def convert(node: Operation) -> Node:
        inputs = [node.array(index, "its inputs") for index in range(node.arity)]
        with np.errstate(all="ignore"):
            value = np.asarray(function(*inputs))
        if value.nbytes > MAX_ARRAY_BYTES:
            raise ImportModelError(f"a constant of shape {value.shape} is too large")
        return node.constant(value)

    return convert


def _reduce_prod(node: Operation) -> Node:
    data = node.array(0, "its inputs")
    if data is None:
        raise ImportModelError("input 0 is missing")
    axes = node.axes(data.ndim, 1, 18)
    return node.constant(np.prod(data, axis=axes or None, keepdims=node.integer("keepdims", 1) != 0, dtype=data.dtype))


CONVERTERS: dict[str, Converter] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "NonZero": _known(lambda data: np.array(np.nonzero(data), np.int64)),
    "Range": _known(_range),
    "ReduceProd": _reduce_prod,
    "Shape": _shape,
    "Size": _size,
}
