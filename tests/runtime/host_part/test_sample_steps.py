"""Many samples through a graph by kernels: the bits of each alone."""

import numpy as np
import pytest

from vta.errors import GraphError
from vta.host import runner
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.runtime.host_part.host_graph import HostGraph, host_graph
from vta.runtime.host_part.plan import make_plan
from vta.runtime.host_part.sample_steps import have_sample_runs

X = graph_input("x", (2, 3, 6, 5))
WEIGHT = constant(np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
CONV = call(ops.CONV2D, [X, WEIGHT], padding=(1, 1, 1, 1))
FLAT = call(ops.RESHAPE, [X], newshape=(2, 90))
FIXED = constant(np.float32([[1, 2]]), "fixed")
NET = Graph((X,), (call(ops.RELU, [CONV]), FLAT, X, FIXED))


def samples(count):
    return np.random.default_rng(count).standard_normal((count, *X.shape)).astype(np.float32)


@pytest.mark.parametrize("graph", [host_graph(NET), HostGraph(NET, make_plan(NET))], ids=["kernels", "references"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_bits_are_those_of_each_sample_alone(graph, order):
    given = np.asarray(samples(5), order=order)
    outputs = graph.run_samples({"x": given}, 5)
    assert [output.shape for output in outputs] == [(5, *node.shape) for node in NET.outputs]
    for at in range(5):
        for output, alone in zip(outputs, graph.run({"x": given[at]}), strict=True):
            np.testing.assert_array_equal(output[at], alone)


@pytest.mark.parametrize("most", [1, 2, 3, 16])
@pytest.mark.parametrize("count", [1, 4, 7])
def test_it_does_not_matter_how_many_samples_are_computed_together(monkeypatch, most, count):
    monkeypatch.setattr(runner, "_MOST_TOGETHER", most)
    graph, given = host_graph(NET), samples(count)
    outputs = graph.run_samples({"x": given}, count)
    for at in range(count):
        for output, alone in zip(outputs, graph.run({"x": given[at]}), strict=True):
            np.testing.assert_array_equal(output[at], alone)


def test_kernels_go_on_by_themselves():
    assert have_sample_runs(host_graph(NET).plan)
    assert len(host_graph(NET).plan.steps) == 1


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"x": samples(3).astype(np.float64)}, "must be float32"),
        ({"x": samples(3)[:, :1]}, "must be"),
        ({"y": samples(3)}, "no input"),
        ({}, "is missing"),
    ],
)
def test_wrong_inputs_are_named(inputs, said):
    with pytest.raises(GraphError, match=said):
        host_graph(NET).run_samples(inputs, 3)


def test_what_is_no_number_is_refused_where_it_is_quantised():
    graph = Graph((X,), (call(ops.QNN_QUANTIZE, [X], scale=0.1),))
    given = samples(3)
    assert host_graph(graph).run_samples({"x": given}, 3)[0].dtype == np.int8
    given[2, 1, 0, 0, 0] = np.nan
    with pytest.raises(GraphError, match="is nan at"):
        host_graph(graph).run_samples({"x": given}, 3)
    assert np.isnan(host_graph(Graph((X,), (call(ops.NEGATIVE, [X]),))).run_samples({"x": given}, 3)[0]).any()


@pytest.mark.parametrize(
    "call_of",
    [
        lambda x: call(ops.QNN_QUANTIZE, [x], scale=0.1),
        lambda x: call(ops.QNN_QUANTIZE, [x], scale=(0.1, 0.2, 0.3), axis=1),
        lambda x: call(ops.QNN_QUANTIZE, [x], scale=(0.1, 0.2), axis=0),
        lambda x: call(ops.QNN_QUANTIZE, [x], scale=(0.1, 0.2), axis=-4),
        lambda x: call(ops.WINDOWS, [call(ops.QNN_QUANTIZE, [x], scale=0.1)], kernel=(3, 2), padding=(1, 0, 0, 1)),
        lambda x: call(ops.QNN_DEQUANTIZE, [call(ops.QNN_QUANTIZE, [x], scale=0.1)], scale=(0.1, 0.2, 0.3), axis=1),
    ],
)
@pytest.mark.parametrize("at_once", [1, 400, 1 << 16])
def test_samples_that_are_computed_together_have_the_bits_of_each_alone(monkeypatch, call_of, at_once):
    monkeypatch.setattr("vta.runtime.host_part.sample_steps._ELEMENTS_AT_ONCE", at_once)
    net = Graph((X,), (call_of(X),))
    run = HostGraph(net, make_plan(net))
    given = samples(7)
    (together,) = run.run_samples({"x": given}, 7)
    assert (together.shape, together.dtype) == ((7, *net.outputs[0].shape), net.outputs[0].dtype)
    for at in range(7):
        np.testing.assert_array_equal(together[at], run.run({"x": given[at]})[0])


def test_computed_positions_are_looked_at_in_each_sample():
    table = graph_input("t", (4, 2))
    graph = Graph((table, places := graph_input("p", (3,), "int64")), (call(ops.TAKE, [table, places], axis=0),))
    run = host_graph(graph)
    given = {"t": np.arange(24, dtype=np.float32).reshape(3, 4, 2), "p": np.array([[0, 3, 1], [-1, 2, 2], [1, 1, -4]])}
    for at, output in enumerate(run.run_samples(given, 3)[0]):
        np.testing.assert_array_equal(output, given["t"][at][given["p"][at]])
    given["p"][1, 2] = 4
    with pytest.raises(GraphError, match="4"):
        run.run_samples(given, 3)
