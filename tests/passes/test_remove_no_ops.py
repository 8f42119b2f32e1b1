from __future__ import annotations

import math

import numpy as np
import pytest

from vta.ir.graph import Graph, call, constant, graph_input
from vta.passes.remove_no_ops import remove_no_ops

CASES = [
    ("reshape", {"newshape": (0, -1, 4)}, True),
    ("reshape", {"newshape": (2, 4, 2)}, False),
    ("transpose", {"axes": (0, 1, -1)}, True),
    ("transpose", {"axes": (1, 0, 2)}, False),
    ("squeeze", {"axis": ()}, True),
    ("broadcast_to", {"shape": (2, 2, 4)}, True),
    ("cast", {"dtype": "int32"}, True),
    ("cast", {"dtype": "int8"}, False),
    ("concatenate", {"axis": 0}, True),
    ("nn.pad", {"pad_width": ((0, 0),) * 3}, True),
    ("nn.pad", {"pad_width": ((0, 1),) * 3}, False),
    ("strided_slice", {"begin": (0, 0, -4), "end": (2, 9, 4), "strides": (1, 1, 1)}, True),
    ("strided_slice", {"begin": (1, 0, 0), "end": (-9, 2, 4), "strides": (-1, 1, 1)}, False),
    ("clip", {"a_min": -math.inf, "a_max": 2**31}, True),
    ("clip", {"a_min": -128, "a_max": 127}, False),
]


@pytest.mark.parametrize(("op", "attributes", "gone"), CASES)
def test_operators_that_return_their_input(same_results, op, attributes, gone):
    x = graph_input("x", (2, 2, 4), "int32")
    graph = Graph((x,), (call("negative", [call(op, [x], **attributes)]),))
    simple = remove_no_ops(graph)
    assert (len(simple.calls()) == 1) is gone
    same_results(graph, simple)


@pytest.mark.parametrize(
    ("op", "neutral"),
    [("add", 0), ("subtract", 0), ("multiply", 1), ("divide", 1), ("left_shift", 0), ("right_shift", 0)],
)
def test_neutral_operands(same_results, op, neutral):
    dtype = "int32" if "shift" in op else "float32"
    x = graph_input("x", (2, 4), dtype)
    for value, shape, gone in [
        (neutral, (), True),
        (neutral, (1, 4), True),
        (neutral, (3, 1, 1), False),
        (neutral + 1, (), False),
    ]:
        graph = Graph((x,), (call(op, [x, constant(np.full(shape, value, dtype))]),))
        simple = remove_no_ops(graph)
        assert (simple.outputs == (x,)) is gone
        same_results(graph, simple)


def test_neutral_first_operand():
    x = graph_input("x", (2, 4))
    one = constant(np.float32(1))
    assert remove_no_ops(Graph((x,), (call("multiply", [one, x]),))).outputs == (x,)
    assert remove_no_ops(Graph((x,), (call("divide", [one, x]),))).outputs != (x,)


@pytest.mark.parametrize("condition", [True, False])
def test_a_known_choice(condition):
    known, x, y = constant(np.full((1, 3), condition)), graph_input("x", (2, 3)), graph_input("y", (2, 3))
    assert remove_no_ops(Graph((x, y), (call("where", [known, x, y]),))).outputs == (x if condition else y,)


def test_choices_that_stay():
    x, y, small = graph_input("x", (2, 3)), graph_input("y", (2, 3)), graph_input("s", (3,))
    by_data, broadcast = constant(np.array([True, False, True])), constant(np.array([False]))
    for inputs in ([by_data, x, y], [broadcast, x, small]):
        kept = Graph((x, y, small), (call("where", inputs),))
        assert remove_no_ops(kept).outputs == kept.outputs


def test_unbounded_float_clip():
    x = graph_input("x", (2,))
    assert remove_no_ops(Graph((x,), (call("clip", [x], a_min=-math.inf, a_max=math.inf),))).outputs == (x,)
    kept = Graph((x,), (call("clip", [x], a_min=0, a_max=math.inf),))
    assert remove_no_ops(kept).outputs == kept.outputs


def test_reshapes_join(same_results):
    x = graph_input("x", (2, 6))
    node = call(
        "reshape",
        [
            call("reshape", [x], "a", newshape=(3, 4)),
        ],
        "b",
        newshape=(0, 2, 2),
    )
    graph = Graph((x,), (node,))
    simple = remove_no_ops(graph)
    assert [n.name for n in simple.calls()] == ["b"]
    same_results(graph, simple)
    assert simple.outputs[0].attrs.newshape == (3, 2, 2)
    assert remove_no_ops(Graph((x,), (call("reshape", [node], newshape=(2, 6)),))).outputs == (x,)


def test_joined_reshapes_still_take_any_batch():
    x = graph_input("x", (2, 6))
    node = call("reshape", [call("reshape", [x], newshape=(0, 3, 2))], newshape=(0, -1, 1))
    assert remove_no_ops(Graph((x,), (node,))).outputs[0].attrs.newshape == (0, -1, 1)
