from __future__ import annotations

import numpy as np
import pytest

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.passes.folding.fold_padding import fold_padding

WIDTH = ((0, 0), (0, 0), (1, 2), (3, 0))


def padded(dtype: str = "float32", **attributes) -> tuple[Node, Node, Node]:
    x = graph_input("x", (1, 2, 5, 5), dtype)
    weight = constant(np.random.default_rng(0).integers(-9, 9, (4, 2, 3, 3)).astype(dtype))
    return x, call("nn.pad", [x], "pad", **{"pad_width": WIDTH, **attributes}), weight


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_zeros_join_the_padding(same_results, dtype):
    x, pad, weight = padded(dtype)
    graph = Graph((x,), (call("nn.conv2d", [pad, weight], "conv", padding=(1, 0, 0, 1), strides=(2, 1)),))
    folded = fold_padding(graph)
    (conv,) = folded.calls()
    assert (conv.name, conv.attrs.padding, conv.attrs.strides) == ("conv", (2, 3, 2, 1), (2, 1))
    same_results(graph, folded)


@pytest.mark.parametrize("attributes", [{"pad_value": 1}, {"pad_width": ((0, 1), *WIDTH[1:])}])
def test_other_padding_stays(attributes):
    x, pad, weight = padded(**attributes)
    graph = Graph((x,), (call("nn.conv2d", [pad, weight]),))
    assert fold_padding(graph).outputs == graph.outputs


@pytest.mark.parametrize(("pad_value", "joins"), [(3, True), (0, False)])
def test_quantized_convolution_pads_with_its_zero_point(same_results, pad_value, joins):
    x, pad, weight = padded("int8", pad_value=pad_value)
    scales = {"input_scale": 0.5, "input_zero_point": 3, "kernel_scale": 0.1}
    graph = Graph((x,), (call("qnn.conv2d", [pad, weight], **scales),))
    folded = fold_padding(graph)
    assert (len(folded.calls()) == 1) is joins
    same_results(graph, folded)


def pooled(dtype: str, value: float, width: tuple = ((0, 0), (0, 0), (1, 0), (1, 1)), **attributes) -> Graph:
    x = graph_input("x", (1, 2, 5, 6), dtype)
    pad = call("nn.pad", [x], "pad", pad_width=width, pad_value=value)
    return Graph((x,), (call("nn.max_pool2d", [pad], "pool", **{"pool_size": (3, 3), "strides": (2, 2), **attributes}),))


@pytest.mark.parametrize(
    ("dtype", "value"), [("float32", -np.inf), ("float32", float(np.finfo(np.float32).min)), ("int8", -128), ("int32", -(2**31))]
)
def test_the_least_value_joins_the_padding_of_a_maximum(same_results, dtype: str, value: float):
    graph = pooled(dtype, value)
    folded = fold_padding(graph)
    (pool,) = folded.calls()
    assert pool.attrs.padding == (1, 1, 0, 1)
    same_results(graph, folded)


@pytest.mark.parametrize(
    "graph",
    [
        pooled("float32", 0.0),
        pooled("float32", np.inf),
        pooled("int8", -127),
        pooled("float32", -np.inf, ceil_mode=True),
        pooled("float32", -np.inf, ((0, 0), (0, 0), (3, 0), (0, 0))),
        pooled("float32", -np.inf, ((0, 0), (0, 0), (2, 0), (0, 0)), padding=(1, 0, 0, 0)),
        pooled("float32", -np.inf, ((0, 0), (1, 0), (1, 0), (0, 0))),
    ],
)
def test_other_padding_of_a_maximum_stays(graph: Graph):
    assert fold_padding(graph).outputs == graph.outputs
