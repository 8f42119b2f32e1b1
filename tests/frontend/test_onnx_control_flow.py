"""Branches and loops of ONNX models."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnx_models import check, model
from vta.errors import ImportModelError
from vta.frontend import load_model
from vta.frontend.onnx import import_onnx

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def _value(name, dtype=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def _branch(op, name):
    """What it reads is around it."""
    return helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [_value(name)])


def _if(condition, **more):
    branches = {"then_branch": _branch("Neg", "negated"), "else_branch": _branch("Exp", "grown"), **more}
    return helper.make_node("If", [condition], ["y"], **branches)


@pytest.mark.parametrize("taken", [True, False])
def test_a_known_condition_takes_one_branch(taken):
    graph = check(model([_if("c")], {"x": X}, {"c": np.array(taken)}), {"x": X})
    assert [node.op for node in graph.calls()] == ["negative" if taken else "exp"]


def test_the_other_branch_need_not_be_possible():
    strange = helper.make_graph([helper.make_node("Strange", ["x"], ["s"])], "strange", [], [_value("s")])
    graph = import_onnx(model([_if("c", else_branch=strange)], {"x": X}, {"c": np.array(True)}))
    assert [node.op for node in graph.calls()] == ["negative"]


def _rate_net():
    equal = helper.make_node("Equal", ["rate", "wanted"], ["c"])
    feed = {"x": X, "rate": np.array(16000, np.int64)}
    return model([equal, _if("c")], feed, {"wanted": np.array(16000, np.int64)}), feed


@pytest.mark.parametrize("rate", [8000, 16000])
def test_a_condition_on_data_chooses_among_both(rate):
    network, feed = _rate_net()
    feed["rate"] = np.array(rate, np.int64)
    graph = check(network, feed)
    assert {"negative", "exp", "where"} <= {node.op for node in graph.calls()}


def test_an_input_with_a_value_decides(tmp_path):
    network, _ = _rate_net()
    path = tmp_path / "net.onnx"
    onnx.save(network, path)
    graph = load_model(path, input_values={"rate": 16000})
    assert [node.op for node in graph.calls()] == ["negative"]
    assert [node.name for node in graph.inputs] == ["x"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"tempo": 3}, "no input is called tempo, for which a value is given"),
        ({"rate": 1.5}, "input 'rate' is int64; the value that is given is float64"),
        ({"rate": [1, 2]}, r"input 'rate' has shape \(\); the value that is given has \(2,\)"),
    ],
)
def test_values_of_inputs_that_do_not_fit(tmp_path, values, reason):
    path = tmp_path / "net.onnx"
    onnx.save(_rate_net()[0], path)
    with pytest.raises(ImportModelError, match=reason):
        load_model(path, input_values=values)


def test_branches_of_two_types_on_data_are_refused():
    shapes = helper.make_graph([helper.make_node("Shape", ["x"], ["s"])], "shape", [], [_value("s", TensorProto.INT64)])
    network = model([_if("c", else_branch=shapes)], {"x": X, "c": np.array(True)}, {})
    with pytest.raises(ImportModelError, match="the condition depends on data, and its branches give float32"):
        import_onnx(network)


def _loop(limit, condition, keeps_on=True, scanned=True):
    """Adds x to what is carried, and gathers the turn times x."""
    nodes = [
        helper.make_node("Add", ["carried", "x"], ["carried_after"]),
        helper.make_node("Cast", ["turn"], ["place"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["x", "place"], ["row"]),
    ]
    kept = [] if keeps_on else [numpy_helper.from_array(np.array(False), "stop")]
    nodes.append(helper.make_node("Identity", ["going" if keeps_on else "stop"], ["going_after"]))
    outputs = [_value("going_after", TensorProto.BOOL), _value("carried_after"), _value("row")]
    inputs = [_value("turn", TensorProto.INT64, ()), _value("going", TensorProto.BOOL, ()), _value("carried")]
    body = helper.make_graph(nodes, "body", inputs, outputs if scanned else outputs[:2], kept)
    return helper.make_node("Loop", [limit, condition, "x"], ["y", "rows"] if scanned else ["y"], body=body)


@pytest.mark.parametrize(("condition", "keeps_on"), [("", True), ("c", True), ("c", False)])
def test_a_loop_with_known_turns_is_written_out(condition, keeps_on):
    constants = {"n": np.array(3, np.int64), "c": np.array(True)}
    check(model([_loop("n", condition, keeps_on)], {"x": X}, constants, ["y", "rows"]), {"x": X})


def test_a_loop_on_data_is_refused():
    network = model([_loop("n", "c")], {"x": X, "c": np.array(True)}, {"n": np.array(3, np.int64)}, ["y", "rows"])
    with pytest.raises(ImportModelError, match="Loop: whether it goes on depends on data"):
        import_onnx(network)


def test_a_loop_without_an_end_is_refused():
    network = model([_loop("", "c", scanned=False)], {"x": X}, {"c": np.array(True)})
    with pytest.raises(ImportModelError, match="Loop: more than 1024 turns"):
        import_onnx(network)


@pytest.mark.parametrize(("backward", "axis"), [(0, 0), (1, 0), (1, 1)])
def test_a_scan_is_written_out(backward, axis):
    nodes = [helper.make_node("Add", ["s", "part"], ["s_after"]), helper.make_node("Neg", ["s_after"], ["row"])]
    size = X.shape[1 - axis]
    body = helper.make_graph(nodes, "body", [_value("s"), _value("part")], [_value("s_after"), _value("row")])
    attributes = {"scan_input_axes": [axis], "scan_input_directions": [backward], "scan_output_directions": [backward]}
    node = helper.make_node("Scan", ["start", "x"], ["y", "rows"], body=body, num_scan_inputs=1, **attributes)
    check(model([node], {"x": X}, {"start": np.zeros(size, np.float32)}, ["y", "rows"]), {"x": X})
