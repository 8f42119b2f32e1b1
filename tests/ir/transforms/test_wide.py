"""Many samples at once give the bits that each gives alone."""

from __future__ import annotations

import numpy as np
import pytest

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate_all
from vta.ir.transforms.batch import with_batch
from vta.ir.transforms.wide import evaluate_alike

RNG = np.random.default_rng(3)


def weights(*shape: int) -> Node:
    return constant(RNG.standard_normal(shape).astype(np.float32))


def network(batch: int) -> Graph:
    """Every kind of operator on floats: those that are computed for all samples together, and some others."""
    x = graph_input("x", (batch, 6, 11, 9))
    value = call("nn.conv2d", [x, weights(8, 6, 3, 3)], "conv", padding=(1, 1, 1, 1))
    value = call("nn.relu", [call("nn.bias_add", [value, weights(8)], "bias")], "relu")
    value = call("nn.conv2d", [value, weights(8, 1, 3, 3)], "depthwise", groups=8, strides=(2, 2))
    value = call("nn.conv2d", [value, weights(6, 4, 1, 1)], "grouped", groups=2)
    value = call("nn.conv2d", [value, weights(5, 6, 1, 1)], "strided", strides=(2, 1))
    other = call("nn.leaky_relu", [value], "leaky", alpha=0.1)
    value = call(
        "concatenate", [call("multiply", [value, other], "squares"), call("sigmoid", [other], "sigmoid")], "both", axis=1
    )
    pools = {"pool_size": (2, 2), "padding": (1, 1, 0, 0)}
    value = call("add", [call("nn.max_pool2d", [value], "max", **pools), call("nn.avg_pool2d", [value], "mean", **pools)], "sum")
    value = call("nn.batch_flatten", [call("nn.global_avg_pool2d", [value], "global")], "flat")
    return Graph((x,), (call("nn.softmax", [call("nn.dense", [value, weights(7, 10)], "dense")], "softmax"),))


@pytest.mark.parametrize("batch", [1, 2])
def test_all_values_keep_their_bits(batch: int):
    graph = network(batch)
    data = RNG.standard_normal((3 * batch, 6, 11, 9)).astype(np.float32)
    seen: dict[Node, np.ndarray] = {}
    outputs = evaluate_alike(graph, with_batch(graph, 3 * batch), {"x": data}, seen.__setitem__)
    alone = [evaluate_all(graph, {"x": part}) for part in np.split(data, 3)]
    for node in (*graph.inputs, *graph.calls()):
        wanted = np.concatenate([values[node] for values in alone])
        assert seen[node].tobytes() == wanted.tobytes(), node.name
    assert outputs[0] is seen[graph.outputs[0]]
