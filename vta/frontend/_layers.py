"""Layers that several formats have and the graph composes of its operators.

`apply` makes a node: ``apply(op, *inputs, **attributes)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from vta.frontend._errors import MAX_ARRAY_BYTES, UnsupportedNodeError
from vta.ir import names as ops
from vta.ir.graph import Node, call, constant

__all__ = [
    "SIGNED_INTEGERS",
    "Apply",
    "add",
    "dense",
    "flipped",
    "gelu",
    "gelu_by_tanh",
    "like",
    "mean",
    "multiply",
    "reversed_sequences",
    "running_sums",
    "selu",
    "sliced",
    "softmax_flattened",
    "softplus",
    "softsign",
    "tiled",
]

Apply = Callable[..., Node]

SIGNED_INTEGERS = ("int8", "int16", "int32", "int64")

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def like(value: float, data: Node) -> Node:
    """Return the scalar constant `value` with the data type of `data`."""
    return constant(np.asarray(value, data.dtype))


def flipped(node: Node, dtype: str, name: str, scale: float = 1.0) -> Node:
    """Return uint8 values as int8, or int8 as uint8: the same real numbers, 128 less or more."""
    zero_in, zero_out = (128, 0) if dtype == "int8" else (0, 128)
    attributes = {"input_scale": scale, "output_scale": scale, "out_dtype": dtype, "rounding": "tflite"}
    return call(ops.QNN_REQUANTIZE, [node], name, input_zero_point=zero_in, output_zero_point=zero_out, **attributes)


def _constant_second(left: Node, right: Node) -> tuple[Node, Node]:
    return (right, left) if left.op == ops.CONSTANT else (left, right)


def add(apply: Apply, left: Node, right: Node) -> Node:
    """Return the sum; a constant comes second, where passes look for it."""
    return apply(ops.ADD, *_constant_second(left, right))


def multiply(apply: Apply, left: Node, right: Node) -> Node:
    """Return the product; a constant comes second, where passes look for it."""
    return apply(ops.MULTIPLY, *_constant_second(left, right))


def dense(apply: Apply, data: Node, weight: Node, bias: Node | None = None) -> Node:
    """Return data (..., K) times weight (M, K) transposed, plus bias (M,)."""
    lead = data.shape[:-1]
    rows = data if len(data.shape) == 2 else apply(ops.RESHAPE, data, newshape=(math.prod(lead), data.shape[-1]))
    result = apply(ops.DENSE, rows, weight)
    if bias is not None:
        result = apply(ops.BIAS_ADD, result, bias)
    return result if len(data.shape) == 2 else apply(ops.RESHAPE, result, newshape=(*lead, weight.shape[0]))


def mean(apply: Apply, data: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """Return the mean over `axes` (none: all); over height and width of an image it is a global average pool."""
    rank = len(data.shape)
    if rank == 4 and {axis % rank for axis in axes} == {2, 3}:
        pooled = apply(ops.GLOBAL_AVG_POOL2D, data)
        return pooled if keepdims else apply(ops.RESHAPE, pooled, newshape=data.shape[:2])
    return apply(ops.MEAN, data, axis=axes, keepdims=keepdims)


def softplus(apply: Apply, data: Node) -> Node:
    """Return log(1 + exp(x)), as max(x, 0) + log(1 + exp(-|x|)), which does not overflow."""
    decay = apply(ops.EXP, apply(ops.NEGATIVE, apply(ops.ABS, data)))
    return apply(ops.ADD, apply(ops.RELU, data), apply(ops.LOG, apply(ops.ADD, decay, like(1.0, data))))


def softsign(apply: Apply, data: Node) -> Node:
    """Return x / (1 + |x|)."""
    return apply(ops.DIVIDE, data, apply(ops.ADD, apply(ops.ABS, data), like(1.0, data)))


def selu(apply: Apply, data: Node, alpha: float = _SELU_ALPHA, scale: float = _SELU_SCALE) -> Node:
    """Return the scaled exponential linear unit."""
    return apply(ops.MULTIPLY, apply(ops.ELU, data, alpha=alpha), like(scale, data))


def gelu(apply: Apply, data: Node) -> Node:
    """Return the Gaussian error linear unit, x / 2 * (1 + erf(x / sqrt 2))."""
    error = apply(ops.ERF, apply(ops.MULTIPLY, data, like(math.sqrt(0.5), data)))
    half = apply(ops.MULTIPLY, data, like(0.5, data))
    return apply(ops.MULTIPLY, half, apply(ops.ADD, error, like(1.0, data)))


def gelu_by_tanh(apply: Apply, data: Node) -> Node:
    """Return the approximation x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of the Gaussian error linear unit."""
    cube = apply(ops.MULTIPLY, apply(ops.MULTIPLY, apply(ops.MULTIPLY, data, data), data), like(0.044715, data))
    inner = apply(ops.MULTIPLY, apply(ops.ADD, data, cube), like(math.sqrt(2 / math.pi), data))
    factor = apply(ops.ADD, apply(ops.TANH, inner), like(1.0, data))
    return apply(ops.MULTIPLY, apply(ops.MULTIPLY, data, like(0.5, data)), factor)


def tiled(apply: Apply, data: Node, repeats: tuple[int, ...]) -> Node:
    """Return `data` repeated along each axis."""
    pairs = list(zip(repeats, data.shape, strict=True))
    spread = apply(ops.RESHAPE, data, newshape=tuple(n for _, dim in pairs for n in (1, dim)))
    repeated = apply(ops.BROADCAST_TO, spread, shape=tuple(n for pair in pairs for n in pair))
    return apply(ops.RESHAPE, repeated, newshape=tuple(count * dim for count, dim in pairs))


def softmax_flattened(apply: Apply, op: str, data: Node, axis: int) -> Node:
    """Return softmax operator `op` over all axes from `axis` on together."""
    shape = data.shape
    axis %= max(1, len(shape))
    if math.prod(shape[axis:]) == shape[axis]:
        return apply(op, data, axis=axis)
    rows = apply(ops.RESHAPE, data, newshape=(math.prod(shape[:axis]), math.prod(shape[axis:])))
    return apply(ops.RESHAPE, apply(op, rows, axis=1), newshape=shape)


def sliced(apply: Apply, data: Node, ranges: Mapping[int, tuple[int | None, int | None, int | None]]) -> Node:
    """Slice some axes of `data`, by begin, end and step with Python's meaning."""
    begin, end, strides = list[int](), list[int](), list[int]()
    for axis, dim in enumerate(data.shape):
        first, last, step = slice(*ranges.get(axis, (None, None, None))).indices(dim)
        begin.append(first)
        # Going backwards, an end before the first element is written as one beyond the negative range.
        end.append(last if last >= 0 else -dim - 1)
        strides.append(step)
    return apply(ops.STRIDED_SLICE, data, begin=tuple(begin), end=tuple(end), strides=tuple(strides))


def reversed_sequences(apply: Apply, data: Node, lengths: Node, time: int, batch: int) -> Node:
    """Return `data` with the first steps of each sample, as many as `lengths` says, in reverse along the axis `time`."""
    rank = len(data.shape)
    time, batch = time % rank, batch % rank

    def along(axis: int) -> tuple[int, ...]:
        return tuple(-1 if at == axis else 1 for at in range(rank))

    steps = constant(np.arange(data.shape[time]).reshape(along(time)))
    counts = apply(ops.RESHAPE, apply(ops.CAST, lengths, dtype="int64"), newshape=along(batch))
    mirrored = apply(ops.SUBTRACT, apply(ops.SUBTRACT, counts, constant(np.int64(1))), steps)
    places = apply(ops.WHERE, apply(ops.LESS, steps, counts), mirrored, steps)
    return apply(ops.GATHER_ELEMENTS, data, apply(ops.BROADCAST_TO, places, shape=data.shape), axis=time)


def running_sums(apply: Apply, data: Node, axis: int, *, exclusive: bool, reverse: bool) -> Node:
    """Return the sums up to each place along an axis, as a product with a triangle of ones."""
    axis %= len(data.shape)
    if data.shape[axis] ** 2 * np.dtype(data.dtype).itemsize > MAX_ARRAY_BYTES:
        raise UnsupportedNodeError(f"running sums of {data.shape[axis]} values, which are too many")
    ones = np.tri(data.shape[axis], k=-1 if exclusive else 0, dtype=data.dtype)
    ones = ones[::-1, ::-1] if reverse else ones
    order = (*(other for other in range(len(data.shape)) if other != axis), axis)
    moved = apply(ops.TRANSPOSE, data, axes=order)
    flat = apply(ops.RESHAPE, moved, newshape=(math.prod(moved.shape[:-1]), data.shape[axis]))
    sums = apply(ops.RESHAPE, apply(ops.DENSE, flat, constant(np.ascontiguousarray(ones))), newshape=moved.shape)
    return apply(ops.TRANSPOSE, sums, axes=tuple(int(at) for at in np.argsort(order)))
