"""Branches and loops of TFLite files."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tflite_models import Tflite, reference
from vta.errors import ImportModelError
from vta.frontend.tflite import import_tflite
from vta.ir.interpreter import evaluate

X = np.arange(6, dtype=np.float32).reshape(1, 6) - 2


def _branch(kind: str, size: int = 6):
    net = Tflite()
    x, y = net.tensor((1, 6), "float32"), net.tensor((1, size), "float32")
    if size == 6:
        net.operator(kind, [x], y)
    else:
        net.operator("SLICE", [x, net.constant([0, 0], "int32"), net.constant([1, size], "int32")], y, "SliceOptions")
    return net, [x], [y]


def _if(condition=None, other=None):
    """|x| where the condition holds, else -x; without a condition where the sum of x is above 0."""
    net = Tflite()
    x, y = net.tensor((1, 6), "float32", name="x"), net.tensor((1, 6), "float32", name="y")
    if condition is None:
        total, holds = net.tensor((1,), "float32"), net.tensor((1,), "bool")
        net.operator("SUM", [x, net.constant([1], "int32")], total, "ReducerOptions", KeepDims=False)
        net.operator("GREATER", [total, net.constant([0.0], "float32")], holds, "GreaterOptions")
    else:
        holds = net.constant([condition], "bool")
    net.operator("IF", [holds, x], y, "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    return net.build([x], [y], [_branch("ABS"), other or _branch("NEG")])


def compare(content, data=X):
    graph = import_tflite(content)
    (got,) = evaluate(graph, {"x": data})
    np.testing.assert_array_equal(got, reference(content, data)[0])
    return graph


@pytest.mark.parametrize("condition", [True, False])
def test_a_known_condition_takes_one_branch(condition):
    graph = compare(_if(condition))
    assert [node.op for node in graph.calls()] == ["abs" if condition else "negative"]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_condition_on_data_chooses_among_both(sign):
    assert "where" in {node.op for node in compare(_if(), sign * X).calls()}


def test_branches_of_two_types_on_data_are_refused():
    with pytest.raises(ImportModelError, match="the condition depends on data, and its branches give float32"):
        import_tflite(_if(other=_branch("", 3)))


def test_variables_in_branches_on_data_are_refused():
    inner = Tflite()
    x, handle, y = inner.tensor((1, 6), "float32"), inner.tensor((), "resource"), inner.tensor((1, 6), "float32")
    inner.operator("VAR_HANDLE", [], handle, "VarHandleOptions", SharedName="past")
    inner.operator("ABS", [x], y)
    with pytest.raises(ImportModelError, match="VAR_HANDLE: variable 'past' "):
        import_tflite(_if(other=(inner, [x], [y])))


def _while(limit, step=1):
    """Doubles x until the turn reaches a limit, which is a constant or an input."""
    net, condition, body = Tflite(), Tflite(), Tflite()
    x, start = net.tensor((1, 6), "float32", name="x"), net.constant([0], "int32")
    turn, y = net.tensor((1,), "int32"), net.tensor((1, 6), "float32", name="y")
    net.operator("WHILE", [start, x], [turn, y], "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    at, going = condition.tensor((1,), "int32"), condition.tensor((1,), "bool")
    unused = condition.tensor((1, 6), "float32")
    condition.operator("LESS", [at, condition.constant([limit], "int32")], going, "LessOptions")
    before, value = body.tensor((1,), "int32"), body.tensor((1, 6), "float32")
    after, doubled = body.tensor((1,), "int32"), body.tensor((1, 6), "float32")
    body.operator("ADD", [before, body.constant([step], "int32")], after, "AddOptions", FusedActivationFunction=0)
    body.operator("ADD", [value, value], doubled, "AddOptions", FusedActivationFunction=0)
    return net.build([x], [y], [(condition, [at, unused], [going]), (body, [before, value], [after, doubled])])


@pytest.mark.parametrize("limit", [0, 3])
def test_a_loop_with_known_turns_is_written_out(limit):
    compare(_while(limit))


def test_a_loop_without_an_end_is_refused():
    with pytest.raises(ImportModelError, match="WHILE: more than 1024 turns"):
        import_tflite(_while(1, step=0))


def test_graphs_that_call_themselves_are_refused():
    net, inner = Tflite(), Tflite()
    x, y = net.tensor((1, 6), "float32", name="x"), net.tensor((1, 6), "float32", name="y")
    options = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1}
    net.operator("IF", [net.constant([True], "bool"), x], y, "IfOptions", **options)
    a, b = inner.tensor((1, 6), "float32"), inner.tensor((1, 6), "float32")
    inner.operator("IF", [inner.constant([True], "bool"), a], b, "IfOptions", **options)
    with pytest.raises(ImportModelError, match="graphs that call each other, more than 16"):
        import_tflite(net.build([x], [y], [(inner, [a], [b])]))


def test_an_operator_inside_that_is_not_supported_is_named():
    inner = Tflite()
    a, b = inner.tensor((1, 6), "float32"), inner.tensor((1, 6), "float32", name="strange")
    inner.operator("REAL", [a], b)
    with pytest.raises(ImportModelError, match="REAL: not a supported operator: 1 node: strange"):
        import_tflite(_if(other=(inner, [a], [b])))
