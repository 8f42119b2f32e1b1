"""Small integer networks with states, some of whose parts only the host computes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.integer_graphs import conv, int8_clip
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, graph_input
from vta.ir.state import State

__all__ = ["counter", "frames", "streaming_net"]


def counter() -> Graph:
    """Adds what is given to what it keeps, on the host, and gives the sum of before."""
    data, held = graph_input("x", (1, 2), "int32"), graph_input("count", (1, 2), "int32")
    total = call(ops.ADD, [held, data], "total")
    before = call(ops.ADD, [held, call(ops.SUBTRACT, [data, data], "none")], "before")
    return Graph((data, held), (before, total), "counter", ("y", "count"), (State("count", 1, np.array([[5, -5]], np.int32)),))


def streaming_net(rng: np.random.Generator, channels: int = 20, memory: int = 3, new: int = 1) -> Graph:
    """Two convolutions along time, each over its new rows and those that it remembers; between them nothing but VTA."""
    data = graph_input("x", (1, channels, new, 1), "int8")
    first, value = _remembered("first", data, memory)
    value = _layer(rng, value, channels, "conv0")
    second, value = _remembered("second", value, memory)
    value = _layer(rng, value, channels, "conv1")
    held = [first, second]
    states = tuple(State(node.name, 1 + at, _start(node, at)) for at, (node, _) in enumerate(held))
    outputs = (value, *(after for _, after in held))
    return Graph((data, *(node for node, _ in held)), outputs, "stream", ("y", "first", "second"), states)


def _start(node: Node, value: int) -> NDArray[np.int8]:
    return np.full(node.shape, value, np.int8)


def _remembered(name: str, data: Node, memory: int) -> tuple[tuple[Node, Node], Node]:
    """The state and its next value, and all rows."""
    held = graph_input(name, (1, data.shape[1], memory, 1), "int8")
    rows = call(ops.CONCATENATE, [held, data], f"{name}.rows", axis=2)
    new = data.shape[2]
    begin, end = (0, 0, new, 0), (1, data.shape[1], new + memory, 1)
    return (held, call(ops.STRIDED_SLICE, [rows], f"{name}.kept", begin=begin, end=end, strides=(1, 1, 1, 1))), rows


def _layer(rng: np.random.Generator, rows: Node, channels: int, name: str) -> Node:
    weight = rng.integers(-8, 9, (channels, rows.shape[1], rows.shape[2], 1))
    return int8_clip(conv(rows, weight, name=name), name)


def frames(rng: np.random.Generator, graph: Graph, count: int) -> NDArray[np.int8]:
    """Random values of the only argument."""
    return rng.integers(-128, 128, (count, *graph.arguments[0].shape)).astype(np.int8)
