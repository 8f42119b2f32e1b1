"""Guards of softmaxes: they go where a row keeps a score whatever the data, and stay elsewhere."""

import numpy as np
import pytest

from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.canonicalize import canonicalize

CAUSAL = np.triu(np.full((4, 4), -np.inf, np.float32), 1)
EMPTY_ROW = np.where(np.arange(4)[:, None] == 2, -np.inf, CAUSAL).astype(np.float32)


def guarded(scores):
    shares = call("nn.softmax", [scores], "softmax", axis=-1)
    is_nan = call("logical_not", [call("equal", [shares, shares], "isnan")], "isnan")
    zeros = constant(np.zeros((1, 1, 1), np.float32))
    return call("where", [is_nan, zeros, shares], "guard")


def attention(mask=None, factor=0.5, moved=False, switched=False):
    left, right = graph_input("left", (2, 4, 8)), graph_input("right", (2, 8, 4))
    scores = call("nn.matmul", [left, right], "scores")
    scores = call("multiply", [scores, constant(np.float32(factor))], "scale")
    inputs = (left, right)
    if moved:
        scores = call("transpose", [scores], "turn", axes=(0, 2, 1))
    if mask is not None:
        sides = [scores, constant(mask)]
        scores = call("add", sides[::-1] if switched else sides, "mask")
    return Graph(inputs, (guarded(scores),))


def left_over(graph):
    data = {n.name: np.random.default_rng(0).normal(size=n.shape).astype(np.float32) for n in graph.inputs}
    with np.errstate(invalid="ignore"):
        found = canonicalize(graph)
        np.testing.assert_array_equal(evaluate(found, data)[0], evaluate(graph, data)[0])
    return "where" in [node.op for node in found.calls()]


@pytest.mark.parametrize("mask", [None, CAUSAL, CAUSAL[None], np.full((4, 4), -1e9, np.float32)])
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("switched", [False, True])
def test_a_guard_goes_where_each_row_keeps_a_score(mask, moved, switched):
    assert not left_over(attention(mask, moved=moved, switched=switched))


@pytest.mark.parametrize("mask", [EMPTY_ROW, np.full((1, 1, 1), -np.inf, np.float32)])
def test_a_guard_stays_where_a_row_is_taken_away(mask):
    assert left_over(attention(mask))


def test_a_guard_stays_where_a_mask_is_data():
    scores, mask = graph_input("scores", (2, 4, 4)), graph_input("mask", (2, 4, 4))
    product = call("nn.matmul", [scores, scores], "product")
    graph = Graph((scores, mask), (guarded(call("add", [product, mask], "mask")),))
    assert left_over(graph)
    data = {"scores": np.ones((2, 4, 4), np.float32), "mask": np.full((2, 4, 4), -np.inf, np.float32)}
    with np.errstate(invalid="ignore"):
        assert not evaluate(canonicalize(graph), data)[0].any()


def test_other_choices_stay():
    data = graph_input("data", (2, 4, 4))
    shares = call("nn.softmax", [call("nn.matmul", [data, data], "scores")], "softmax", axis=-1)
    same = call("equal", [shares, call("abs", [shares], "abs")], "same")
    chosen = call("where", [call("logical_not", [same], "not"), constant(np.zeros((1,), np.float32)), shares], "choice")
    assert left_over(Graph((data,), (chosen,)))
