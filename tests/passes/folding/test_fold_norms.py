"""Norms that are written out, as one operator."""

import numpy as np
import pytest

from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.folding.fold_norms import fold_norms

CHANNELS = 12
RNG = np.random.default_rng(0)


def number(*shape, value=None):
    return constant(np.asarray(RNG.standard_normal(shape) if value is None else value, np.float32))


def norm(x, *, center=True, power=False, scale=True, bias=True):
    axis = (len(x.shape) - 1,)
    centered = call("subtract", [x, call("mean", [x], "n", axis=axis, keepdims=True)], "n") if center else x
    square = call("power", [centered, number(value=2)], "n") if power else call("multiply", [centered, centered], "n")
    variance = call("mean", [square], "n", axis=axis, keepdims=True)
    deviation = call("sqrt", [call("add", [variance, number(value=1e-5)], "n")], "n")
    value = call("divide", [centered, deviation], "n")
    value = call("multiply", [value, number(CHANNELS)], "n") if scale else value
    return call("add", [value, number(1, CHANNELS)], "n") if bias else value


def dense(x, name="fc"):
    rows = call("reshape", [x], name, newshape=(-1, CHANNELS))
    return call("nn.dense", [rows, number(5, CHANNELS)], name)


def folded(graph):
    made = fold_norms(graph, lambda result, length: True)
    values = {"x": RNG.standard_normal(graph.inputs[0].shape).astype(np.float32)}
    for wanted, got in zip(evaluate(graph, values), evaluate(made, values), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    return [node.op for node in made.calls()]


@pytest.mark.parametrize("how", [{}, {"center": False}, {"power": True}, {"scale": False}, {"bias": False}])
@pytest.mark.parametrize("shape", [(4, CHANNELS), (1, 4, CHANNELS)])
def test_a_dense_layer_takes_the_scale_in(how, shape):
    x = graph_input("x", shape)
    found = folded(Graph((x,), (dense(norm(x, **how)),)))
    assert found.count("nn.normalize") == found.count("nn.dense") == 1
    assert "sqrt" not in found


def test_a_norm_by_sums_and_squares():
    """As JAX writes it, with the scale joined to the root."""
    pooled = graph_input("x", (1, CHANNELS, 1, 1))
    x = call("reshape", [pooled], "n", newshape=(1, CHANNELS))
    by_count = number(value=1 / CHANNELS)
    mean = call("multiply", [call("sum", [x], "n", axis=(1,)), by_count], "n")
    square = call("sum", [call("multiply", [x, x], "n")], "n", axis=(1,))
    variance = call("subtract", [call("multiply", [square, by_count], "n"), call("multiply", [mean, mean], "n")], "n")
    variance = call("clip", [variance], "n", a_min=0.0, a_max=np.inf)
    deviation = call("sqrt", [call("add", [variance, number(value=1e-6)], "n")], "n")
    factor = call("reshape", [call("divide", [number(value=1.0), deviation], "n")], "n", newshape=(1, 1))
    scaled = call("multiply", [factor, number(1, CHANNELS)], "n")
    centered = call("subtract", [x, call("reshape", [mean], "n", newshape=(1, 1))], "n")
    value = call("add", [call("multiply", [centered, scaled], "n"), number(1, CHANNELS)], "n")
    assert folded(Graph((pooled,), (dense(value),))) == ["reshape", "nn.normalize", "nn.dense", "nn.bias_add"]


def test_what_something_else_reads_is_a_dense_layer_of_its_own():
    x = graph_input("x", (4, CHANNELS))
    value = norm(x)
    found = folded(Graph((x,), (dense(value), call("add", [value, x], "sum"))))
    assert (found.count("nn.normalize"), found.count("nn.dense")) == (1, 2)


@pytest.mark.parametrize("lead", [(), (1,)])
def test_a_norm_over_the_axis_before_the_last(lead):
    """Rows are those of a transposition, and scale and bias a dense layer of their own."""
    x = graph_input("x", (*lead, CHANNELS, 7))
    axis = (len(lead),)
    centered = call("subtract", [x, call("mean", [x], "n", axis=axis, keepdims=True)], "n")
    variance = call("mean", [call("multiply", [centered, centered], "n")], "n", axis=axis, keepdims=True)
    deviation = call("sqrt", [call("add", [variance, number(value=1e-5)], "n")], "n")
    value = call("add", [call("divide", [centered, deviation], "n"), number(CHANNELS, 1)], "n")
    found = folded(Graph((x,), (call("nn.relu", [value], "r"),)))
    assert [op for op in found if op != "reshape"] == [
        "transpose",
        "nn.normalize",
        "nn.dense",
        "nn.bias_add",
        "transpose",
        "nn.relu",
    ]


def test_what_only_looks_like_a_norm_is_left():
    x = graph_input("x", (4, CHANNELS))
    mean = call("mean", [call("multiply", [x, x], "n")], "n", axis=(1,), keepdims=True)
    by_the_variance = call("divide", [x, call("add", [call("sqrt", [mean], "n"), mean], "n")], "n")
    graph = Graph((x,), (by_the_variance,))
    assert folded(graph) == [node.op for node in graph.calls()]


def test_norms_that_are_not_accepted_are_left():
    x = graph_input("x", (4, CHANNELS))
    graph = Graph((x,), (dense(norm(x)),))
    assert [node.op for node in fold_norms(graph, lambda result, length: length > CHANNELS).calls()] == [
        node.op for node in graph.calls()
    ]


@pytest.mark.parametrize("before", [True, False])
def test_a_bound_that_is_far_away_stays(before):
    x = graph_input("x", (4, 400))

    def bounded(value):
        return call("clip", [value], "clip", a_min=-10.0, a_max=10.0)

    centered = bounded(x) if before else x
    variance = call("mean", [call("multiply", [centered, centered], "n")], "n", axis=(1,), keepdims=True)
    deviation = call("sqrt", [call("add", [variance, number(value=1e-5)], "n")], "n")
    value = call("divide", [centered, deviation], "n")
    graph = Graph((x,), (value if before else bounded(value),))
    made = fold_norms(graph, lambda result, length: True)
    values = RNG.standard_normal((4, 400)).astype(np.float32)
    values[:, 0] = 1000
    np.testing.assert_allclose(evaluate(made, {"x": values})[0], evaluate(graph, {"x": values})[0], rtol=1e-4, atol=1e-5)
