"""Inputs of the wrong magnitude for a quantised network."""

import numpy as np
import pytest

from vta.ir.graph import Graph, call, graph_input
from vta.runtime.evaluation.input_range import input_ranges, scale_warnings


@pytest.fixture
def graph():
    x = graph_input("image", (1, 4, 4, 3))
    moved = call("transpose", [x], "image", axes=(0, 3, 1, 2))
    return Graph((x,), (call("qnn.quantize", [moved], "image", scale=1 / 128),))


def test_the_range_is_that_of_int8_by_the_scale(graph):
    assert input_ranges(graph) == {"image": (-1.0, 127 / 128)}


@pytest.mark.parametrize(
    ("largest", "words"),
    [(255.0, "reach 255; the network is quantised for -1 to 0.9922: was a scale"), (1.5, None), (0.01, "although"), (0.0, None)],
)
def test_values_far_from_it_are_said(graph, largest, words):
    said = scale_warnings(graph, {"image": np.full((1, 4, 4, 3), largest, np.float32)})
    assert [words in text for text in said] == ([True] if words else [])


def test_an_input_that_is_not_quantised_at_once_has_no_range():
    x = graph_input("x", (1, 4))
    assert input_ranges(Graph((x,), (call("nn.relu", [x], "relu"),))) == {}
