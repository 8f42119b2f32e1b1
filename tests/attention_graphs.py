"""Integer graphs with products of two tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input

__all__ = ["Attention", "attention_graph", "matmul_graph"]


@dataclass(frozen=True)
class Attention:
    """Sizes and zero points of an attention."""

    tokens: int = 32
    heads: int = 2
    head: int = 16
    zeros: tuple[int, int] = (3, -5)
    softmax: bool = True


def attention_graph(of: Attention, seed: int = 0) -> Graph:
    """Dense layers, products of each head, a softmax, a dense layer and a residual, as front ends write them."""
    rng, features = np.random.default_rng(seed), of.heads * of.head
    x = graph_input("x", (1, of.tokens, features), "int8")
    rows = call(ops.RESHAPE, [x], "x", newshape=(of.tokens, features))
    split = of.tokens, of.heads, of.head
    query, key, values = (
        _turned(_dense(rows, name, rng), (1, *split), axes)
        for name, axes in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3)))
    )
    zeros = {"lhs_zero_point": of.zeros[0], "rhs_zero_point": of.zeros[1]}
    scores = _narrowed(call(ops.QNN_MATMUL, [query, key], "scores", **zeros), 11)
    if of.softmax:
        scores = call(ops.QNN_SOFTMAX, [scores], "softmax", input_scale=0.05)
        zeros["lhs_zero_point"] = -128
    attended = _narrowed(call(ops.QNN_MATMUL, [scores, values], "attended", **zeros), 8)
    turned = call(ops.TRANSPOSE, [attended], "attended", axes=(0, 2, 1, 3))
    projected = _dense(call(ops.RESHAPE, [turned], "attended", newshape=(of.tokens, features)), "projected", rng)
    wide = [call(ops.CAST, [value], "sum", dtype="int32") for value in (projected, rows)]
    total = _narrowed(call(ops.ADD, wide, "sum"), 1)
    return Graph((x,), (call(ops.RESHAPE, [total], "y", newshape=x.shape),))


def matmul_graph(channels: int, columns: int, rows: tuple[int, int], groups: int, zeros: tuple[int, int]) -> Graph:
    """One product of images that is stored as int8, with a maximum before each of its tensors."""
    data = graph_input("data", (1, groups * channels, *rows), "int8")
    weights = graph_input("weights", (1, groups * channels, 1, columns), "int8")
    inside = [call(ops.RELU, [value], value.name) for value in (data, weights)]
    attrs = {"groups": groups, "lhs_zero_point": zeros[0], "rhs_zero_point": zeros[1]}
    return Graph((data, weights), (_narrowed(call(ops.MATMUL2D, inside, "product", **attrs), 9),))


def _dense(data: Node, name: str, rng: np.random.Generator) -> Node:
    features = data.shape[1]
    weights = constant(rng.integers(-127, 128, (features, features)).astype(np.int8), name)
    bias = constant(rng.integers(-500, 500, (1, features)).astype(np.int32), name)
    return _narrowed(call(ops.ADD, [call(ops.DENSE, [data, weights], name), bias], name), 9)


def _turned(data: Node, shape: tuple[int, ...], axes: tuple[int, ...]) -> Node:
    return call(ops.TRANSPOSE, [call(ops.RESHAPE, [data], data.name, newshape=shape)], data.name, axes=axes)


def _narrowed(value: Node, shift: int) -> Node:
    rounded = call(ops.ADD, [value, constant(np.int32(1 << (shift - 1)))], value.name)
    clipped = call(
        ops.CLIP, [call(ops.RIGHT_SHIFT, [rounded, constant(np.int32(shift))], value.name)], value.name, a_min=-128, a_max=127
    )
    return call(ops.CAST, [clipped], value.name, dtype="int8")
