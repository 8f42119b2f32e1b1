"""Images that are flattened with their channels last are read as they lie."""

from __future__ import annotations

import numpy as np
import pytest

from vta.ir.graph import Graph, call, constant, graph_input
from vta.passes.folding.fold_flattened import fold_flattened

RNG = np.random.default_rng(0)


def flattened(dtype: str, axes: tuple[int, ...]) -> Graph:
    x = graph_input("x", (2, 3, 4, 5), dtype)
    flat = call("reshape", [call("transpose", [x], "t", axes=axes)], "flat", newshape=(2, 60))
    if dtype == "float32":
        return Graph((x,), (call("nn.dense", [flat, constant(RNG.standard_normal((7, 60)).astype(np.float32))], "fc"),))
    weight = constant(RNG.integers(-127, 128, (7, 60)).astype(np.int8))
    return Graph((x,), (call("qnn.dense", [flat, weight], "fc", input_scale=0.1, kernel_scale=0.1, input_zero_point=3),))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_the_weights_take_the_order_of_the_image(same_results, dtype):
    graph = flattened(dtype, (0, 2, 3, 1))
    same_results(graph, folded := fold_flattened(graph))
    assert [node.op for node in folded.calls()] == ["reshape", "nn.dense" if dtype == "float32" else "qnn.dense"]


def test_other_orders_stay():
    graph = flattened("float32", (0, 3, 2, 1))
    assert fold_flattened(graph).outputs == graph.outputs
