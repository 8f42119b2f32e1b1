"""Regions are as large as they can be without depending on themselves."""

from __future__ import annotations

import numpy as np
import pytest

from vta.compiler import compile_graph
from vta.config_files import find_config
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.runtime import Module
from vta.runtime.devices.sim import SimDevice


def conv(source: Node, name: str) -> Node:
    weights = np.random.default_rng(len(name)).integers(-4, 5, (16, 16, 1, 1), dtype=np.int8)
    return clipped(call("nn.conv2d", [source, constant(weights)], name), name)


def clipped(value: Node, name: str) -> Node:
    value = call("clip", [call("right_shift", [value, constant(np.int32(3))], name)], name, a_min=-128, a_max=127)
    return call("cast", [value], name, dtype="int8")


def added(first: Node, second: Node, name: str) -> Node:
    operands = [call("cast", [node], name, dtype="int32") for node in (first, second)]
    return clipped(call("add", operands, name), name)


def on_host(source: Node, name: str) -> Node:
    """An int8 operator that has no template."""
    return call("nn.upsampling", [source], name, scale_h=1, scale_w=1)


def run(graph: Graph) -> int:
    compiled = compile_graph(graph, find_config("sim"))
    inputs = {node.name: np.random.default_rng(1).integers(-128, 128, node.shape, dtype=np.int8) for node in graph.inputs}
    with Module(compiled, SimDevice(compiled.hw)) as module:
        assert module.check(inputs).bit_exact
    return len(compiled.regions)


@pytest.fixture
def image() -> Node:
    return graph_input("image", (1, 16, 4, 4), "int8")


def test_a_branch_over_the_host_splits_the_region(image):
    first = conv(image, "first")
    assert run(Graph((image,), (added(first, on_host(first, "host"), "sum"),))) == 2


def test_a_second_source_behind_the_first_and_the_host_is_no_reason_to_join_the_first(image):
    first = conv(image, "first")
    second = conv(on_host(first, "host"), "second")
    for operands in ((first, second), (second, first)):
        assert run(Graph((image,), (added(*operands, "sum"),))) == 2


def test_branches_that_share_only_the_input_run_together(image):
    assert run(Graph((image,), (conv(image, "left"), conv(image, "right")))) == 1


def test_independent_halves_on_both_sides_of_the_host(image):
    left, right = conv(image, "left"), conv(image, "right")
    outputs = (conv(on_host(left, "host"), "after"), conv(right, "last"))
    assert run(Graph((image,), outputs)) == 2
