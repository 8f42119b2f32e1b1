"""A network that came quantised, without its rounding."""

from __future__ import annotations

import numpy as np

from benchmarks.unrounded import scores, unrounded
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate


def quantized(rng: np.random.Generator) -> Graph:
    """Two convolutions, a sum, a mean and a softmax, with zero points."""
    data = graph_input("data", (1, 8, 6, 6), "int8")
    value = data
    for at in range(2):
        weight = constant(rng.integers(-127, 128, (8, 8, 3, 3)).astype(np.int8))
        product = call(
            "qnn.conv2d",
            [value, weight],
            f"conv{at}",
            input_scale=0.02,
            kernel_scale=0.002,
            input_zero_point=3,
            padding=(1, 1, 1, 1),
        )
        biased = call("nn.bias_add", [product, constant(rng.integers(-500, 500, 8).astype(np.int32))], f"bias{at}")
        value = call("qnn.requantize", [biased], f"out{at}", input_scale=4e-5, output_scale=0.02, output_zero_point=3, a_min=-100)
    scales = {"lhs_scale": 0.02, "rhs_scale": 0.02, "output_scale": 0.03}
    zeros = {"lhs_zero_point": 3, "rhs_zero_point": 3, "output_zero_point": -5}
    total = call("qnn.add", [value, data], "sum", **scales, **zeros)
    mean = call("qnn.global_avg_pool2d", [total], "mean", input_scale=0.03, output_scale=0.03, input_zero_point=-5)
    return Graph((data,), (mean,))


def test_it_is_the_network_but_for_rounding():
    rng = np.random.default_rng(0)
    graph = quantized(rng)
    data = rng.integers(-128, 128, (1, 8, 6, 6)).astype(np.int8)
    (got,), (wanted,) = evaluate(graph, {"data": data}), evaluate(unrounded(graph), {"data": data.astype(np.float32)})
    assert wanted.dtype == np.float32
    assert not np.array_equal(wanted, np.rint(wanted))
    assert np.abs(got - wanted).max() < 1.5
    assert decibels(wanted, got.astype(np.float32)) > 15


def test_scores_are_what_a_softmax_reads():
    graph = quantized(np.random.default_rng(0))
    assert scores(graph) is graph
    rows = call("reshape", [graph.outputs[0]], "rows", newshape=(1, 8))
    chances = call("qnn.softmax", [rows], "chances", input_scale=0.03)
    assert scores(Graph(graph.inputs, (call("reshape", [chances], "flat", newshape=(8,)),))).outputs == (rows,)
