"""Networks run on inputs that nobody chose, whatever they do with them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.inner_graph import FunctionAttributes
from vta.ir.interpreter import evaluate
from vta.ir.transforms.functions import call_of
from vta.runtime.evaluation.random_inputs import any_value, random_inputs

DTYPES = ("int8", "uint8", "int32", "int64")


def table(rows):
    return constant(np.arange(rows * 3, dtype=np.float32).reshape(rows, 3))


def looked_up(indices, rows, axis=0):
    if indices.dtype not in ("int32", "int64"):
        indices = call("cast", [indices], dtype="int64")
    return call("take", [table(rows), indices], "embedding", axis=axis)


STEPS = {
    "cast": lambda value: call("cast", [value], dtype="int64" if value.dtype == "int32" else "int32"),
    "reshape": lambda value: call("reshape", [value], newshape=value.shape[::-1]),
    "transpose": lambda value: call("transpose", [value], axes=tuple(range(len(value.shape)))[::-1]),
    "join": lambda value: call("concatenate", [value, value], axis=0),
    "add": lambda value: call("add", [value, constant(np.ones((), value.dtype))]),
    "twice": lambda value: call("add", [value, value]),
    "less": lambda value: call("subtract", [value, constant(np.full((), 2, value.dtype))]),
    "cut": lambda value: call("maximum", [value, constant(np.zeros((), value.dtype))]),
}


@given(data=st.data())
@settings(max_examples=150)
def test_what_looks_something_up_finds_it(data):
    rows = data.draw(st.sampled_from([3, 7, 130, 300, 70_000]))
    value = graph_input("ids", data.draw(st.sampled_from([(1, 4), (2, 3), (6,)])), data.draw(st.sampled_from(DTYPES)))
    inputs = [value]
    for step in data.draw(st.lists(st.sampled_from(sorted(STEPS)), max_size=4)):
        value = STEPS[step](value)
    outputs = [looked_up(value, rows)]
    if data.draw(st.booleans()):
        outputs.append(looked_up(inputs[0], data.draw(st.sampled_from([2, 5, 1000]))))
    graph = Graph(tuple(inputs), tuple(outputs))
    try:
        evaluate(graph, {"ids": np.zeros(inputs[0].shape, inputs[0].dtype)})
    except GraphError:
        return
    evaluate(graph, random_inputs(graph, data.draw(st.integers(0, 5)), any_value))


def test_indices_reach_over_the_whole_table():
    ids = graph_input("ids", (1, 4000), "int64")
    drawn = random_inputs(Graph((ids,), (looked_up(ids, 50),)), 1, any_value)["ids"]
    assert sorted(set(drawn.reshape(-1).tolist())) == list(range(50))


def test_a_table_inside_an_inner_graph_counts():
    inner = graph_input("inner", (1, 64), "int32")
    body = FunctionAttributes(body=Graph((inner,), (looked_up(inner, 5),)))
    ids = graph_input("ids", (1, 64), "int32")
    graph = Graph((ids,), (call_of(body, (ids,), "call"),))
    assert random_inputs(graph, 0, any_value)["ids"].max() < 5
    evaluate(graph, random_inputs(graph, 0, any_value))


def test_what_is_looked_up_may_follow_from_floats():
    data = graph_input("data", (1, 9))
    found = call("argmax", [data], axis=1, keepdims=False)
    graph = Graph((data,), (looked_up(found, 9),))
    evaluate(graph, random_inputs(graph, 0, any_value))


def test_values_follow_type_and_seed():
    nodes = (graph_input("image", (1, 3, 2, 2)), graph_input("bytes", (1000,), "int8"), graph_input("flags", (1000,), "bool"))
    graph = Graph(nodes, nodes)
    values, again, other = (random_inputs(graph, seed, any_value) for seed in (1, 1, 2))
    assert {name: (value.shape, value.dtype.name) for name, value in values.items()} == {
        "image": ((1, 3, 2, 2), "float32"),
        "bytes": ((1000,), "int8"),
        "flags": ((1000,), "bool"),
    }
    assert (values["bytes"].min(), values["bytes"].max()) == (-128, 127)
    assert 400 < values["flags"].sum() < 600
    assert np.array_equal(values["image"], again["image"])
    assert not np.array_equal(values["image"], other["image"])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "int64", "uint8"])
def test_every_type_can_be_drawn(dtype):
    node = graph_input("x", (5,), dtype)
    assert random_inputs(Graph((node,), (node,)), 0, any_value)["x"].dtype == dtype
