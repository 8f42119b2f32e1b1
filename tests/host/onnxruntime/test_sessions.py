"""The host part by onnxruntime: integers to the bit, floats within rounding, or a refusal that names the operator."""

import json
import sys

import numpy as np
import pytest

from tests.host.examples import EXAMPLES, values_of
from tests.integer_graphs import BASELINE
from vta.cli.main import main
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.errors import DeviceError
from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input, topological
from vta.ir.interpreter import evaluate
from vta.runtime import Module
from vta.runtime.host_part.host_graph import host_graph, reference_of
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import HostStep

pytest.importorskip("onnxruntime", minversion="1.24")
OPTIONS = HostOptions(onnxruntime=True)
BOUND = 2e-6
"""Of the largest value of a result, and of each value."""
REFUSED = (
    ops.AVG_POOL2D, ops.CAST, ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.COS, ops.DENSE, ops.DETECTIONS, ops.ERF, ops.LRN,
    ops.NORMALIZE, ops.PROD, ops.QNN_AVG_POOL2D, ops.QNN_CONV2D_TRANSPOSE, ops.QNN_DENSE, ops.QNN_NORMALIZE,
    ops.QNN_NORMALIZE16, ops.QNN_SOFTMAX_SHARES, ops.QNN_SOFTMAX_TERMS, ops.RESCALE,
)  # fmt: skip
"""Some of whose calls onnxruntime does not take: of double precision, of wide weights, of what is looked at, or all."""


def graph_of(node):
    return Graph(tuple(item for item in topological([node]) if item.op == ops.INPUT), (node,))


def compare(node, feed=None):
    graph = graph_of(node)
    feed = {item.name: values_of(item) for item in graph.inputs} if feed is None else feed
    compiled = host_graph(graph, OPTIONS)
    assert not any(isinstance(step, HostStep) for step in compiled.plan.steps)
    (got,), (want,) = compiled.run(feed), evaluate(graph, feed)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if got.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=BOUND, atol=BOUND * np.abs(want[np.isfinite(want)]).max(initial=0))
    else:
        np.testing.assert_array_equal(got, want)


def refusal_of(node):
    """Compare, or return why it is not computed."""
    try:
        compare(node)
    except DeviceError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("op", sorted(EXAMPLES))
def test_sessions_give_what_references_give_or_name_the_operator(op):
    refusals = [refusal for node in EXAMPLES[op] if (refusal := refusal_of(node))]
    assert all(f"onnxruntime cannot compute {op} " in refusal for refusal in refusals)
    assert not refusals or op in REFUSED


def test_values_that_are_ordered():
    boxes, scores = graph_input("x", (2, 40, 4)), graph_input("y", (2, 3, 40))
    for center in (False, True):
        compare(
            call(ops.NON_MAX_SUPPRESSION, [boxes, scores], most=7, iou_threshold=0.3, score_threshold=0.1, center_point=center)
        )


def test_a_version_that_is_too_old_is_named(monkeypatch, compiled):
    monkeypatch.setattr("onnxruntime.__version__", "1.23.2")
    with pytest.raises(DeviceError, match=r"onnxruntime 1\.23\.2, which does not multiply signed bytes; allowed: 1\.24 or later"):
        Module(compiled, SimDevice(BASELINE), host=OPTIONS)


def test_an_operator_that_is_refused_is_named():
    node = call(ops.QNN_SOFTMAX_TERMS, [graph_input("x", (2, 5), "int8")], input_scale=0.1, name="classes")
    with pytest.raises(DeviceError, match=r"onnxruntime cannot compute qnn\.softmax_terms 'classes': it has no such operator"):
        host_graph(graph_of(node), OPTIONS)


def test_positions_that_are_wrong_are_an_error():
    node = call(ops.TAKE, [graph_input("x", (3, 4)), graph_input("y", (2,), "int32")])
    with pytest.raises(DeviceError, match=r"onnxruntime failed on the host part: .*out of"):
        host_graph(graph_of(node), OPTIONS).run({"x": np.zeros((3, 4), np.float32), "y": np.int32([0, 7])})


@pytest.fixture(scope="module")
def compiled():
    return compile_model("resnet8", BASELINE)


def inputs_of(graph):
    return {node.name: values_of(node) for node in graph.inputs}


def test_a_module_gives_what_its_references_give(compiled):
    inputs = inputs_of(compiled.graph)
    with Module(compiled, SimDevice(BASELINE)) as plain:
        want = plain.run(inputs)
    with Module(compiled, SimDevice(BASELINE), host=OPTIONS) as module:
        got, check = module.run(inputs), module.check(inputs)
    np.testing.assert_allclose(got.outputs[0], want.outputs[0], rtol=1e-5, atol=1e-5)
    assert got.counters == want.counters
    assert check.bit_exact
    np.testing.assert_array_equal(reference_of(compiled, OPTIONS).run(inputs)[0], got.outputs[0])


def test_the_command(compiled, tmp_path, capsys):
    compiled.save(tmp_path / "net.vta")
    assert main(["run", str(tmp_path / "net.vta"), "--host", "onnxruntime", "--threads", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["host_seconds"] > 0


def test_a_machine_without_the_package_says_so(compiled, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(DeviceError, match=r"onnxruntime, which is missing: pip install 'vta\[onnxruntime\]'"):
        Module(compiled, SimDevice(BASELINE), host=OPTIONS)
