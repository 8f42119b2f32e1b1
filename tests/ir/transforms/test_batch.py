"""Rebuilding a network for another batch: same samples, same values; refusal where samples mix."""

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.ir.transforms.batch import batch_size, with_batch
from vta.ir.transforms.wide import evaluate_alike


def network(batch=1):
    rng = np.random.default_rng(3)
    x = graph_input("x", (batch, 3, 6, 6), "int8")
    weight = constant(rng.integers(-5, 5, (4, 3, 3, 3), np.int8))
    y = call("nn.conv2d", [x, weight], "conv", padding=(1, 1, 1, 1))
    y = call("add", [y, constant(np.arange(4, dtype=np.int32).reshape(1, 4, 1, 1))], "bias")
    y = call("cast", [call("clip", [y], "clip", a_min=-128, a_max=127)], "cast", dtype="int8")
    y = call("nn.max_pool2d", [y], "pool", pool_size=(2, 2), strides=(2, 2))
    y = call("strided_slice", [y], "cut", begin=(0, 1, 0, 0), end=(batch, 4, 3, 3), strides=(1, 1, 1, 1))
    y = call("reshape", [y], "flat", newshape=(batch, -1))
    y = call("nn.dense", [y, constant(rng.integers(-5, 5, (10, 27), np.int8))], "dense")
    return Graph((x,), (y,))


@pytest.mark.parametrize("old", [1, 2])
def test_samples_are_computed_as_before(old):
    graph = network(old)
    wide = with_batch(graph, 6)
    assert (batch_size(graph), batch_size(wide)) == (old, 6)
    x = np.random.default_rng(0).integers(-128, 128, (6, 3, 6, 6), np.int8)
    single = [evaluate(graph, {"x": x[i : i + old]})[0] for i in range(0, 6, old)]
    np.testing.assert_array_equal(evaluate(wide, {"x": x})[0], np.concatenate(single))
    assert [node.name for node in wide.nodes()] == [node.name for node in graph.nodes()]


def test_same_batch_is_the_same_graph():
    graph = network()
    assert with_batch(graph, 1) is graph


def single(op, shape=(1, 4), *others, **attrs):
    x = graph_input("x", shape)
    return Graph((x,), (call(op, [x, *others], "mixer", **attrs),))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (single("nn.softmax", axis=0), r"mixer: nn.softmax works along the batch dimension"),
        (single("nn.softmax", axis=-2), r"mixer: nn.softmax works along the batch dimension"),
        (single("transpose", (1, 1, 4), axes=(1, 0, 2)), r"mixer: transpose gives .* does not treat samples one by one"),
        (single("add", (2, 4), constant(np.ones((2, 4), np.float32))), r"cannot run 3 samples at once: mixer: add"),
    ],
)
def test_mixing_samples_is_refused(graph, message):
    with pytest.raises(GraphError, match=message):
        with_batch(graph, 3)


def test_no_common_batch_is_refused():
    x, y = graph_input("x", (1, 4)), graph_input("y", (2, 4))
    with pytest.raises(GraphError, match=r"do not share a leading batch dimension: x float32\[1, 4\], y float32\[2, 4\]"):
        batch_size(Graph((x, y), (x,)))


def attention(batch, tokens=3, heads=2, width=4):
    """Tokens as rows for layers, heads as matrices for products, as transformers are imported."""
    rng = np.random.default_rng(5)
    features = heads * width
    x = graph_input("x", (batch, tokens, features))

    def layer(data, name):
        rows = call("reshape", [data], name, newshape=(batch * tokens, features))
        weight = constant(rng.normal(size=(features, features)).astype(np.float32))
        rows = call(
            "nn.bias_add", [call("nn.dense", [rows, weight], name), constant(rng.normal(size=features).astype(np.float32))]
        )
        return call("reshape", [rows], name, newshape=(batch, tokens, features))

    def split(data, name):
        apart = call(
            "transpose", [call("reshape", [data], name, newshape=(batch, tokens, heads, width))], name, axes=(0, 2, 1, 3)
        )
        return call("reshape", [apart], name, newshape=(batch * heads, tokens, width))

    query, key, value = (split(layer(x, name), name) for name in ("query", "key", "value"))
    shares = call(
        "nn.softmax", [call("nn.matmul", [query, call("transpose", [key], "turn", axes=(0, 2, 1))], "scores")], "soft", axis=-1
    )
    together = call("reshape", [call("nn.matmul", [shares, value], "mix")], "mix", newshape=(batch, heads, tokens, width))
    joined = call("reshape", [call("transpose", [together], "mix", axes=(0, 2, 1, 3))], "mix", newshape=(batch, tokens, features))
    return Graph((x,), (layer(joined, "out"),))


@pytest.mark.parametrize("old", [1, 2])
def test_rows_and_heads_of_samples_are_computed_as_before(old):
    graph = attention(old)
    wide = with_batch(graph, 6)
    x = np.random.default_rng(0).normal(size=(6, *graph.inputs[0].shape[1:])).astype(np.float32)
    single = [evaluate(graph, {"x": x[i : i + old]})[0] for i in range(0, 6, old)]
    np.testing.assert_allclose(evaluate(wide, {"x": x})[0], np.concatenate(single), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(evaluate_alike(graph, wide, {"x": x})[0], np.concatenate(single))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda rows: call("sum", [rows], "mixer", axis=(0,), keepdims=False), "mixer: sum works along the batch dimension"),
        (lambda rows: call("nn.softmax", [rows], "mixer", axis=0), "mixer: nn.softmax works along the batch dimension"),
        (
            lambda rows: call("transpose", [rows], "mixer", axes=(1, 0)),
            "mixer: transpose gives .* does not treat samples one by one",
        ),
        (
            lambda rows: call("strided_slice", [rows], "mixer", begin=(1, 0), end=(3, 4), strides=(1, 1)),
            "mixer: strided_slice gives",
        ),
        (
            lambda rows: call("add", [rows, constant(np.ones((3, 4), np.float32))], "mixer"),
            "cannot run 2 samples at once: mixer: add",
        ),
        (lambda rows: call("reshape", [rows], "mixer", newshape=(12,)), "do not share a leading batch|mixer"),
    ],
)
def test_mixing_rows_is_refused(make, message):
    x = graph_input("x", (1, 3, 4))
    mixed = make(call("reshape", [x], "rows", newshape=(3, 4)))
    graph = Graph((x,), (call("reshape", [mixed], "end", newshape=(1, -1)),))
    if message.startswith("do not"):
        np.testing.assert_array_equal(
            evaluate(with_batch(graph, 2), {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4)})[0][1], np.arange(12, 24)
        )
        return
    with pytest.raises(GraphError, match=message):
        with_batch(graph, 2)
