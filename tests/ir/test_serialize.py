from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import ArtifactError, GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.ir.printer import print_graph
from vta.ir.serialize import graph_from_json, graph_to_json


def example() -> Graph:
    data, unused = graph_input("data", (1, 3, 8, 8)), graph_input("label", (1,), "int32")
    weight = constant(np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32), "w")
    conv = call("nn.conv2d", [data, weight], "conv0", padding=(1, 0, 1, 2))
    clipped = call("clip", [conv], "act", a_min=0, a_max=math.inf)
    padded = call("nn.pad", [clipped], "pad", pad_width=((0, 0), (0, 0), (1, 2), (0, 0)), pad_value=0.1)
    flat = call("reshape", [padded], "flat", newshape=(0, -1))
    return Graph((unused, data), (flat, call("nn.conv2d", [data, weight], "conv1", strides=(2, 2))), "net")


def rebuilt(graph: Graph) -> Graph:
    document, arrays = graph_to_json(graph)
    return graph_from_json(json.loads(json.dumps(document, allow_nan=False)), arrays)


def test_round_trip():
    graph = example()
    again = rebuilt(graph)
    assert print_graph(again) == print_graph(graph)
    for old, new in zip(graph.nodes(), again.nodes(), strict=True):
        assert (old.op, old.attrs, old.type, old.name) == (new.op, new.attrs, new.type, new.name)
        assert repr(old.attrs) == repr(new.attrs)
    inputs = {"data": np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32), "label": np.zeros(1, np.int32)}
    for a, b in zip(evaluate(graph, inputs), evaluate(again, inputs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_shared_constants_are_stored_once_and_stay_shared():
    document, arrays = graph_to_json(example())
    assert list(arrays) == ["constant0"]
    assert graph_to_json(graph_from_json(document, arrays))[0] == document


@settings(deadline=None, max_examples=50)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_exact(value):
    x = graph_input("x", (1,))
    node = rebuilt(Graph((x,), (call("nn.elu", [x], alpha=value),))).outputs[0]
    assert node.attrs.alpha == value
    assert math.copysign(1, node.attrs.alpha) == math.copysign(1, value)


def test_a_long_chain():
    x = node = graph_input("x", (1,))
    for i in range(5000):
        node = call("nn.relu", [node], f"r{i}")
    assert len(rebuilt(Graph((x,), (node,))).calls()) == 5000


def _set(path, value):
    def change(document, arrays):
        target = document
        for key in path[:-1]:
            target = target[key]
        if value is ...:
            del target[path[-1]]
        else:
            target[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (_set(["version"], 3), ArtifactError, "version 3 cannot be read; this vta reads versions 1 and 2"),
        (_set(["version"], ...), ArtifactError, "graph: key 'version' is missing"),
        (_set(["nodes"], {}), ArtifactError, "'nodes' must be of type list"),
        (_set(["nodes", 0], 7), ArtifactError, "graph node 0 must be an object, got 7"),
        (_set(["nodes", 3, "op"], "nn.magic"), GraphError, "operator 'nn.magic' is not declared"),
        (_set(["nodes", 3, "colour"], 1), ArtifactError, "graph node 3 ('conv0', nn.conv2d) has unknown keys 'colour'"),
        (_set(["nodes", 3, "attrs", "kernel"], 1), ArtifactError, "missing or unknown: kernel"),
        (_set(["nodes", 3, "attrs", "groups"], ...), ArtifactError, "missing or unknown: groups"),
        (_set(["nodes", 3, "attrs", "groups"], 0), GraphError, "groups must be an integer of at least 1, got 0"),
        (_set(["nodes", 3, "attrs", "groups"], {"a": 1}), ArtifactError, "groups: no attribute value looks like {'a': 1}"),
        (_set(["nodes", 3, "inputs"], [1, 9]), ArtifactError, "'inputs' must hold numbers of earlier nodes, got 9"),
        (_set(["nodes", 3, "inputs"], [1]), GraphError, "conv0: nn.conv2d takes 2 inputs, got 1"),
        (_set(["nodes", 3, "dtype"], "int8"), ArtifactError, "stored as int8[1, 4, 8, 8], but its inputs make it float32"),
        (_set(["nodes", 1, "shape"], [1, -3]), ArtifactError, "'shape' must hold integers of at least 0, got [1, -3]"),
        (_set(["nodes", 2, "value"], "lost"), ArtifactError, "its array 'lost' is missing"),
        (_set(["nodes", 2, "shape"], [4]), ArtifactError, "stored as float32[4], but its array is float32[4, 3, 3, 3]"),
        (_set(["inputs"], [2]), ArtifactError, "'inputs' must name input nodes only"),
        (_set(["outputs"], [True]), ArtifactError, "must hold numbers of earlier nodes, got True"),
    ],
)
def test_damage_is_named(change, error, message):
    document, arrays = graph_to_json(example())
    document = copy.deepcopy(document)
    change(document, arrays)
    with pytest.raises(error) as raised:
        graph_from_json(document, arrays)
    assert message in str(raised.value)


def test_inner_graphs_come_back_once_each():
    x = graph_input("x", (1, 4), "int8")
    inner = Graph((graph_input("p0", (1, 4), "int8"),), ())
    relu = call("nn.relu", [inner.inputs[0]], "relu")
    body = Graph(inner.inputs, (relu, call("negative", [relu], "minus")), "pair")
    outer = graph_input("p0", (1, 4), "int8")
    nested = Graph((outer,), (call("call", [outer], "inside", body=body, composite="vta.pair"),), "region")
    calls = [call("call", [x], "c", body=body, output=1), call("call", [x], "d", body=nested, target="vta")]
    graph = Graph((x,), tuple(calls))
    document, arrays = graph_to_json(graph)
    assert len(document["functions"]) == 2
    back = graph_from_json(json.loads(json.dumps(document)), arrays)
    assert print_graph(back) == print_graph(graph)
    assert back.outputs[0].attrs.body is back.outputs[1].attrs.body.outputs[0].attrs.body
    document["functions"].reverse()
    with pytest.raises(ArtifactError, match="'function' must be the number of an inner graph before this one, got 0"):
        graph_from_json(document, arrays)
