"""Names, order and functions of ONNX models, and what is known of them at import."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.onnx_models import Quantized, check, model
from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate

FEED = {"x": np.float32([1, -2])}


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, **attributes)


def refused(network, message):
    """Our message; ONNX Runtime refuses the model too."""
    onnxruntime = pytest.importorskip("onnxruntime")
    with pytest.raises(ImportModelError, match=message) as caught:
        import_onnx(network, path="net.onnx")
    assert str(caught.value).startswith("net.onnx: ")
    assert "\n" not in str(caught.value)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    state = onnxruntime.capi.onnxruntime_pybind11_state
    with pytest.raises((state.Fail, state.InvalidArgument, state.InvalidGraph)):
        onnxruntime.InferenceSession(network.SerializeToString(), options, providers=["CPUExecutionProvider"])


K = {"k": np.float32([3, 3])}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [node("Add", "x k", "a", "one"), node("Mul", "x k", "a", "two"), node("Relu", "a", "y")],
            r"Mul 'two' \(node 1\): its output 'a' is defined already, by Add 'one' \(node 0\)",
        ),
        ([node("Add", "x k", "k"), node("Relu", "k", "y")], r"Add 'Add_0' \(node 0\): its output 'k' is .* by an initialiser"),
        ([node("Add", "x x", "k", "unused"), node("Relu", "x", "y")], "its output 'k' is defined already"),
        ([node("Add", "k k", "x"), node("Relu", "x", "y")], "its output 'x' is defined already, by an input"),
        ([node("Split", "x", "y y", "twice")], "Split 'twice' .*: its output 'y' is defined already, by Split 'twice'"),
        ([node("Add", "q x", "y", "sum")], r"Add 'sum' \(node 0\): reads 'q', which no node computes"),
        ([node("Add", "q x", "z", "unused"), node("Relu", "x", "y")], "Add 'unused' .*: reads 'q'"),
        ([node("Add", "y x", "y", "self")], r"nodes wait for each other: self \(node 0\)"),
        (
            [node("Add", "b x", "a", "one"), node("Neg", "a", "b", "two"), node("Relu", "a", "y")],
            r"nodes wait for each other: one \(node 0\), two \(node 1\)",
        ),
        ([node("Add", "b x", "a"), node("Neg", "a", "b"), node("Relu", "x", "y")], "nodes wait for each other: Add_0"),
    ],
)
def test_every_name_is_defined_once_and_before_it_is_read(nodes, message):
    refused(model(nodes, FEED, K), message)


def test_inputs_and_initializers_are_defined_once():
    network = model([node("Relu", "x", "y")], FEED, K)
    network.graph.input.append(network.graph.input[0])
    refused(network, "input 'x' is defined twice")
    network = model([node("Add", "x k", "y")], FEED, K)
    network.graph.initializer.append(numpy_helper.from_array(np.float32([5, 5]), "k"))
    with pytest.raises(ImportModelError, match="initialiser 'k' is defined twice"):
        import_onnx(network)


def test_names_in_inner_graphs_are_defined_once():
    inner = helper.make_graph(
        [node("Relu", "x", "t"), node("Neg", "x", "t", "again")], "then", [], [helper.make_tensor_value_info("t", 1, [2])]
    )
    branch = node("If", "c", "y", "branch", then_branch=inner, else_branch=inner)
    refused(model([branch], FEED, {"c": np.bool_(True)}), r"If 'branch' \(node 0\): Neg 'again' \(node 1\): its output 't' is")


@settings(max_examples=40)
@given(order=st.permutations(range(5)))
def test_nodes_in_any_order(order):
    nodes = [
        node("Neg", "x", "a"),
        node("Relu", "a", "b"),
        node("Add", "a b", "c"),
        node("Mul", "c x", "d"),
        node("Add", "d k", "y"),
    ]
    check(model([nodes[at] for at in order], FEED, K), FEED)


def function(name, nodes, inputs="a", outputs="b", opset=17, **more):
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs.split(), outputs.split(), nodes, opsets, **more)


def with_functions(nodes, functions):
    return model(nodes, FEED, {}, functions=functions, opsets=[helper.make_opsetid("own", 1)])


def test_functions_are_put_in_the_place_of_their_calls():
    leak = helper.make_node("LeakyRelu", ["t"], ["b"], "leak")
    leak.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    inner = function("Leak", [node("Neg", "a", "t", "neg"), leak], attributes=["slope"])
    outer = function("Twice", [node("Leak", "a", "t", domain="own", slope=0.25), node("Leak", "t", "b", domain="own", slope=0.5)])
    calls = [node("Twice", "x", "z", domain="own"), node("Twice", "z", "y", domain="own")]
    graph = check(with_functions(calls, [inner, outer]), FEED)
    assert [call.op for call in graph.calls()] == ["negative", "nn.leaky_relu"] * 4


def test_functions_that_compute_constants():
    shape = function("Rows", [node("Shape", "a", "s"), node("ReduceProd", "s", "p"), node("Reshape", "a p", "b")])
    assert check(with_functions([node("Rows", "x", "y", domain="own")], [shape]), FEED).outputs[0].shape == (2,)


@pytest.mark.parametrize(
    ("nodes", "functions", "message"),
    [
        ("x", [function("F", [node("F", "a", "b", domain="own")])], "functions of the model: Cycle"),
        ("x x", [function("F", [node("Neg", "a", "b")])], "functions of the model: .*parameters"),
        ("x", [function("F", [node("Neg", "a", "b")])] * 2, "function 'F' is defined twice"),
        (
            "x",
            [function("F", [node("Neg", "a", "t", "n"), node("Relu", "a", "t")])],
            "function 'F': Relu .* 't' is defined already",
        ),
        ("x", [function("F", [node("Add", "a q", "b", "n")])], "function 'F': Add 'n' .*: reads 'q'"),
    ],
)
def test_functions_that_do_not_fit(nodes, functions, message):
    with pytest.raises(ImportModelError, match=message) as caught:
        import_onnx(with_functions([node("F", nodes, "y", domain="own")], functions))
    assert "\n" not in str(caught.value)


def test_functions_of_another_operator_set_are_named():
    old = function("Old", [node("Squeeze", "a", "b", axes=[0])], opset=9)
    with pytest.raises(ImportModelError, match=r"Old \(own\): a function of operator set 9 in a model of 17"):
        import_onnx(with_functions([node("Old", "x", "y", domain="own")], [old]))


CONSTANT_NODES = {
    "Trilu": (["m"], {"upper": 0}),
    "CumSum": (["m", "axis"], {"reverse": 1}),
    "OneHot": (["i", "depth", "values"], {}),
    "Sin": (["m"], {}),
    "TopK": (["m", "two"], {}),
    "GatherND": (["m", "nd"], {}),
    "GatherElements": (["m", "ge"], {"axis": 1}),
    "ScatterND": (["m", "nd", "u"], {}),
    "BitwiseAnd": (["i", "i"], {}),
    "Det": (["m"], {}),
    "Einsum": (["m", "m"], {"equation": "ij,kj->ik"}),
    "EyeLike": (["m"], {"dtype": TensorProto.FLOAT}),
    "IsNaN": (["m"], {}),
    "HannWindow": (["depth"], {}),
    "Hardmax": (["m"], {}),
    "Mod": (["i", "depth"], {}),
    "Unique": (["i"], {}),
}

CONSTANTS = {
    "m": np.random.default_rng(0).standard_normal((3, 3)).astype(np.float32),
    "axis": np.int64(1),
    "i": np.int64([2, 0, 1]),
    "depth": np.int64(4),
    "values": np.float32([-1, 5]),
    "two": np.int64([2]),
    "nd": np.int64([[1, 2], [0, 0]]),
    "ge": np.int64([[1, 2, 0], [0, 0, 1], [2, 2, 2]]),
    "u": np.float32([7, 8]),
}


@pytest.mark.parametrize("op", CONSTANT_NODES)
def test_any_operator_of_constants_is_computed_at_import(op):
    names, attributes = CONSTANT_NODES[op]
    nodes = [
        helper.make_node(op, names, ["v"], **attributes),
        helper.make_node("Cast", ["v"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["f"], ["s"], keepdims=0),
        node("Mul", "x s", "y"),
    ]
    network = model(nodes, FEED, {name: CONSTANTS[name] for name in names}, opset=18)
    graph = import_onnx(network)
    assert [call.op for call in graph.calls()] == ["multiply"]
    np.testing.assert_allclose(evaluate(graph, FEED)[0], ReferenceEvaluator(network).run(None, FEED)[0], rtol=1e-5)


@pytest.mark.parametrize("op", ["RandomNormalLike", "Bernoulli"])
def test_random_numbers_are_not_constants(op):
    nodes = [node(op, "k", "v"), node("Mul", "x v", "y")]
    with pytest.raises(ImportModelError, match=f"{op}: not a supported operator"):
        import_onnx(model(nodes, FEED, {"k": np.float32([0.5, 0.5])}))


def test_a_constant_that_would_fill_the_memory_is_refused():
    nodes = [node("OneHot", "i d v", "h"), node("ReduceSum", "h", "s", keepdims=0), node("Mul", "x s", "y")]
    constants = {"i": np.int64([1, 2]), "d": np.int64(1 << 40), "v": np.float32([0, 1])}
    with pytest.raises(ImportModelError, match="OneHot: a depth of 1099511627776, which is too large"):
        import_onnx(model(nodes, FEED, constants))


@pytest.mark.parametrize(("low", "high"), list(itertools.product(["plain", "dq", "qdq", "moved", "none"], repeat=2)))
def test_bounds_behind_a_dequantization(low, high):
    net = Quantized()
    bounds = [""]

    def bound(kind, value):
        if kind == "none":
            return ""
        scale, zero = net.constant(np.float32(0.05)), net.constant(np.int8(0))
        if kind == "qdq":
            return net.node(
                "DequantizeLinear", net.node("QuantizeLinear", net.constant(np.float32(value)), scale, zero), scale, zero
            )
        if kind == "moved":
            row = net.node("DequantizeLinear", net.constant(np.int8([round(value / 0.05)])), scale, zero)
            return net.node("Mul", net.node("Reshape", row, net.constant(np.int64([]))), net.constant(np.float32(1)))
        if kind == "dq":
            return net.node("DequantizeLinear", net.constant(np.int8(round(value / 0.05))), scale, zero)
        return net.constant(np.float32(value))

    weight = net.dequantized(net.random.integers(-128, 128, (4, 4, 3, 3)).astype(np.int8), 0.01)
    bounds = [bound(low, -0.3), bound(high, 1.3)]
    y = net.node("Clip", net.node("Conv", net.pair("x", 0.03, np.int8(4)), weight), *bounds)
    feed = {"x": net.random.standard_normal((1, 4, 6, 6)).astype(np.float32)}
    graph = check(net.model(feed, net.pair(y, 0.05, np.int8(-50))), feed, 0.05)
    assert "nn.conv2d" not in [call.op for call in graph.calls()]


def test_pad_values_and_shapes_behind_a_dequantization():
    net = Quantized()
    weight = net.dequantized(net.random.integers(-128, 128, (4, 4, 3, 3)).astype(np.int8), 0.01)
    value = net.dequantized(np.int8(26), 0.05)
    y = net.node("Conv", net.pair("x", 0.03, np.int8(4)), weight)
    y = net.node("Pad", y, net.constant(np.int64([0, 0, 1, 1, 0, 0, 1, 1])), value)
    rows = net.node("Cast", net.dequantized(np.int8([1, -1]), 1.0), to=TensorProto.INT64)
    y = net.node("Reshape", net.pair(y, 0.05, np.int8(-128)), rows)
    feed = {"x": net.random.standard_normal((1, 4, 6, 6)).astype(np.float32)}
    assert "nn.conv2d" not in [call.op for call in check(net.model(feed, y), feed, 0.05).calls()]
