"""The rewrites that the example shows."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.integer_graphs import random_inputs
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate

FILE = Path(__file__).resolve().parents[2] / "examples" / "quantized_rewrites.py"
X = graph_input("x", (1, 4, 3, 3), "int8")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("quantized_rewrites", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def requantized(**attributes):
    value = call("cast", [X], "wide", dtype="int32")
    return call("qnn.requantize", [value], "q", input_scale=0.5, output_scale=0.3, bound=128, **attributes)


def ops(graph):
    return [node.op for node in graph.calls()]


@pytest.mark.parametrize("scale", [0.25, (0.25, 0.5, 1.0, 2.0)])
def test_a_quantized_constant_is_folded(example, scale):
    weights = constant(np.linspace(-3, 3, 16, dtype=np.float32).reshape(1, 4, 2, 2))
    quantized = call("qnn.quantize", [weights], "w", scale=scale, zero_point=3)
    graph = Graph((X,), (quantized, X))
    folded = example.fold_quantized_constants(graph)
    assert ops(folded) == []
    assert np.array_equal(folded.outputs[0].value, evaluate(graph, random_inputs(graph))[0])


def test_what_is_not_constant_stays(example):
    data = graph_input("f", (1, 2))
    graph = Graph((data,), (call("qnn.quantize", [data], "q", scale=0.5),))
    assert example.fold_quantized_constants(graph).outputs == graph.outputs


@pytest.mark.parametrize(
    ("limits", "bounds", "idle"),
    [
        ({}, (-128, 127), True),
        ({}, (-1000, np.inf), True),
        ({}, (-127, 127), False),
        ({"a_min": 0}, (0, 127), True),
        ({"a_min": 0, "a_max": 100}, (-5, 100.5), True),
        ({"a_min": 0, "a_max": 100}, (0, 99.5), False),
    ],
)
def test_an_idle_clip_is_dropped(example, limits, bounds, idle):
    graph = Graph((X,), (call("clip", [requantized(**limits)], "clip", a_min=bounds[0], a_max=bounds[1]),))
    after = example.drop_idle_clips(graph)
    assert ops(after) == ["cast", "qnn.requantize"] + ([] if idle else ["clip"])
    inputs = random_inputs(graph)
    assert np.array_equal(evaluate(graph, inputs)[0], evaluate(after, inputs)[0])


def test_a_clip_of_other_results_stays(example):
    wide = requantized(out_dtype="uint8")
    graph = Graph((X,), (call("clip", [wide], "clip", a_min=0, a_max=255),))
    assert ops(example.drop_idle_clips(graph))[-1] == "clip"


def test_the_script_prints_what_it_finds(example, shared, capsys, monkeypatch):
    model = shared / "models" / "mlperf_tiny" / "pretrainedResnet_quant.tflite"
    monkeypatch.setattr(sys, "argv", ["quantized_rewrites.py", str(model)])
    example.main()
    printed = capsys.readouterr().out
    assert "as imported:" in printed
    assert "vta_0: 1 vta.qnn_add" in printed or "vta.qnn_conv2d" in printed
