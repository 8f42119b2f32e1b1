"""Element-wise operators, activations and reductions against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate

X = {"x": (2, 3, 4, 5)}


def node(op, inputs=("x",), outputs=("y",), **attributes):
    return helper.make_node(op, inputs, outputs, name="layer", **attributes)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("Abs", {}),
        ("Dropout", {}),
        ("Elu", {"alpha": 0.7}),
        ("Erf", {}),
        ("Exp", {}),
        ("HardSigmoid", {}),
        ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
        ("HardSwish", {}),
        ("Identity", {}),
        ("LeakyRelu", {}),
        ("LeakyRelu", {"alpha": 0.2}),
        ("Neg", {}),
        ("Relu", {}),
        ("Selu", {}),
        ("Selu", {"alpha": 2.0, "gamma": 0.5}),
        ("Sigmoid", {}),
        ("Softplus", {}),
        ("Softsign", {}),
        ("Tanh", {}),
    ],
)
def test_unary(same, op, attributes):
    graph = same(node(op, **attributes), X)
    assert all(call.name == "layer" for call in graph.calls())


@pytest.mark.parametrize("op", ["Log", "Sqrt", "Reciprocal"])
def test_unary_of_positive_values(same, op):
    same(node(op), X, positive=True)


@pytest.mark.parametrize(("op", "opset"), [("Gelu", 20), ("Mish", 18)])
def test_newer_activations(same, op, opset):
    same(node(op), X, opset=opset)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (3, 1, 1), (5,), (1, 3, 1, 1)])
def test_binary_broadcasts(same, op, shape):
    same(node(op, ("x", "z")), {**X, "z": shape}, positive=True)


@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_a_constant_comes_second_where_order_does_not_matter(same, op):
    graph = same(node(op, ("k", "x")), X, {"k": np.float32([[[2]], [[3]], [[4]]])})
    assert [source.value is None for source in graph.outputs[0].inputs] == [True, False]


@pytest.mark.parametrize("op", ["Sum", "Max", "Min", "Mean"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_variadic(same, op, count):
    names = [f"x{i}" for i in range(count)]
    same(node(op, names), dict.fromkeys(names, (2, 3)))


@pytest.mark.parametrize("exponent", [np.float32(2), np.float32(0.5), np.int64(3), np.float32([1, 2, 3, 1, 2])])
def test_power_of_a_constant(same, exponent):
    same(node("Pow", ("x", "k")), X, {"k": exponent}, positive=True)


@pytest.mark.parametrize(
    ("constants", "inputs"),
    [
        ({"low": np.float32(-0.5), "high": np.float32(0.7)}, ("x", "low", "high")),
        ({"low": np.float32(-0.5)}, ("x", "low")),
        ({"high": np.float32(0.5)}, ("x", "", "high")),
        ({}, ("x",)),
    ],
)
def test_clip_bounds_are_inputs_from_version_11(same, constants, inputs):
    same(node("Clip", inputs), X, constants, opset=13)


@pytest.mark.parametrize("attributes", [{"min": -0.5, "max": 0.5}, {"max": 0.1}, {}])
def test_clip_bounds_are_attributes_before(same, attributes):
    same(node("Clip", **attributes), X, opset=7)


@pytest.mark.parametrize("shape", [(3, 1, 1), (1,), (1, 3, 1, 1), (3, 4, 5)])
def test_prelu(same, shape):
    slope = np.random.default_rng(1).uniform(0, 1, shape).astype(np.float32)
    same(node("PRelu", ("x", "slope")), X, {"slope": slope})


@pytest.mark.parametrize("axes", [None, [1], [2, 3], [-1], [0, 1, 2, 3]])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"])
def test_reductions_by_attribute(same, op, axes, keepdims):
    attributes = {} if axes is None else {"axes": axes}
    same(node(op, keepdims=keepdims, **attributes), X, opset=11)


@pytest.mark.parametrize(("op", "opset"), [("ReduceSum", 13), ("ReduceMean", 18), ("ReduceMax", 18), ("ReduceL2", 18)])
@pytest.mark.parametrize("noop", [0, 1])
def test_reductions_by_input(same, op, opset, noop):
    same(node(op, ("x", "axes"), keepdims=0), X, {"axes": np.int64([2, 3])}, opset=opset)
    same(node(op, noop_with_empty_axes=noop), X, opset=opset) if op != "ReduceL2" or not noop else None


def test_mean_over_the_image_is_a_global_average_pool(same):
    graph = same(node("ReduceMean", axes=[-2, -1], keepdims=1), X, opset=13)
    assert [call.op for call in graph.calls()] == ["nn.global_avg_pool2d"]


@pytest.mark.parametrize("opset", [7, 10, 12, 13])
def test_the_mask_of_a_dropout(make, expected, opset):
    model = make(helper.make_node("Dropout", ["x"], ["y", "m"]), {"x": (2, 3)}, opset=opset)
    model.graph.output.append(helper.make_tensor_value_info("m", TensorProto.BOOL if opset >= 10 else TensorProto.FLOAT, (2, 3)))
    feed = {"x": np.ones((2, 3), np.float32)}
    for got, want in zip(evaluate(import_onnx(model), feed), expected(model, feed), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("order", [1, 2])
def test_a_vector_whose_norm_vanishes_becomes_zeros(make, expected, order):
    model = make(helper.make_node("LpNormalization", ["x"], ["y"], axis=1, p=order), {"x": (3, 2)})
    feed = {"x": np.array([[0, 0], [1e-30, 1e-30], [3, 4]], np.float32)}
    got, want = evaluate(import_onnx(model), feed)[0], expected(model, feed)[0]
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("bounds", [("low", "high"), ("low", ""), ("", "high"), ("low", "k"), ("k", "high")])
def test_clip_with_bounds_that_are_computed(same, bounds):
    inputs = {**X, **{name: () for name in bounds if name not in ("", "k")}}
    same(node("Clip", ("x", *bounds)), inputs, {"k": np.float32(0.1)} if "k" in bounds else {})


WHOLE = {"x": (4, 6), "z": (6,)}


def whole_model(op, dtype, **attributes):
    kind = getattr(TensorProto, dtype.upper())
    values = [helper.make_tensor_value_info(name, kind, shape) for name, shape in (*WHOLE.items(), ("y", (4, 6)))]
    graph = helper.make_graph([node(op, ("x", "z"), **attributes)], "net", values[:2], values[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize(("op", "attributes"), [("Div", {}), ("Mod", {}), ("Mod", {"fmod": 1})], ids=["Div", "Mod", "fmod"])
def test_integers_are_divided(expected, op, attributes, dtype):
    """Of both signs, by constants too, as positions are taken apart: ``place / width`` and ``place % width``."""
    model = whole_model(op, dtype, **attributes)
    rng = np.random.default_rng(3)
    feed = {"x": rng.integers(-99, 99, (4, 6)).astype(dtype), "z": np.array([1, -1, 7, -7, 13, -100], dtype)}
    (want,) = expected(model, feed)
    (got,) = evaluate(import_onnx(model), feed)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_a_remainder_of_floats_that_depend_on_data_is_refused():
    with pytest.raises(ImportModelError, match="Mod: of float32, where its inputs depend on an input of the network"):
        import_onnx(whole_model("Mod", "float", fmod=1))


@pytest.mark.parametrize(
    ("op", "attributes", "expected"),
    [
        ("IsNaN", {}, [True, False, False, False, False]),
        ("IsInf", {}, [False, True, True, False, False]),
        ("IsInf", {"detect_negative": 0}, [False, True, False, False, False]),
        ("IsInf", {"detect_positive": 0}, [False, False, True, False, False]),
        ("IsInf", {"detect_positive": 0, "detect_negative": 0}, [False] * 5),
    ],
)
def test_what_is_no_finite_number(op, attributes, expected):
    values = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [5]),
        helper.make_tensor_value_info("y", TensorProto.BOOL, [5]),
    ]
    graph = helper.make_graph([node(op, **attributes)], "graph", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    result = evaluate(import_onnx(model), {"x": np.float32([np.nan, np.inf, -np.inf, 0, 1e38])})[0]
    np.testing.assert_array_equal(result, expected)
