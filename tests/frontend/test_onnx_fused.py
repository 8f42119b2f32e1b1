"""Operators that ONNX Runtime makes of several when it optimises a model, as its tools save it, against that runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate

ROWS = {"x": (2, 3, 8)}
IMAGE = {"x": (1, 4, 6, 6)}


def floats(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def model(nodes, inputs, outputs, constants, opset=17):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    named = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "net", values, named, [numpy_helper.from_array(v, k) for k, v in constants.items()])
    domains = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)


def agree(made):
    """Compare all outputs with ONNX Runtime's."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {value.name: floats(*value.shape) for value in session.get_inputs()}
    graph = import_onnx(made)
    for got, want in zip(evaluate(graph, feeds), session.run(None, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    return graph


def fused(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, inputs, outputs, name="layer", domain="com.microsoft", **attributes)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("Gelu", ["x"], {}),
        ("BiasGelu", ["x", "b"], {}),
        ("FastGelu", ["x"], {}),
        ("FastGelu", ["x", "b"], {}),
        ("QuickGelu", ["x"], {}),
        ("QuickGelu", ["x"], {"alpha": 1.0}),
    ],
)
def test_gaussian_units(op, inputs, attributes):
    agree(model([fused(op, inputs, **attributes)], ROWS, ["y"], {"b": floats(8)} if "b" in inputs else {}))


@pytest.mark.parametrize("transposed", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("constant", [False, True])
def test_products_with_transpositions_and_a_factor(transposed, constant):
    left, right = ((2, 4, 3) if transposed[0] else (2, 3, 4)), ((2, 5, 4) if transposed[1] else (2, 4, 5))
    inputs = {"x": left} if constant else {"x": left, "z": right}
    node = fused("FusedMatMul", ["x", "z"], transA=transposed[0], transB=transposed[1], alpha=0.25)
    agree(model([node], inputs, ["y"], {"z": floats(*right)} if constant else {}))


ACTIVATIONS = [
    ("Relu", []),
    ("Tanh", []),
    ("Sigmoid", []),
    ("LeakyRelu", [0.1]),
    ("Clip", [-0.5, 0.7]),
    ("HardSigmoid", [0.3, 0.4]),
]


@pytest.mark.parametrize(("activation", "parameters"), ACTIVATIONS)
@pytest.mark.parametrize("summed", [False, True])
def test_convolutions_with_an_activation(activation, parameters, summed):
    attributes = {"activation": activation, "pads": [1, 1, 1, 1], **({"activation_params": parameters} if parameters else {})}
    node = fused("FusedConv", ["x", "w", "b", *(["z"] if summed else [])], **attributes)
    inputs = {**IMAGE, **({"z": (1, 5, 6, 6)} if summed else {})}
    agree(model([node], inputs, ["y"], {"w": floats(5, 4, 3, 3), "b": floats(5)}))


@pytest.mark.parametrize("activation", ["Relu", "LeakyRelu"])
def test_dense_layers_with_an_activation(activation):
    node = fused("FusedGemm", ["x", "w", "b"], activation=activation, activation_alpha=0.2, transB=1, alpha=0.5)
    agree(model([node], {"x": (3, 8)}, ["y"], {"w": floats(5, 8), "b": floats(5)}))


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("SkipLayerNormalization", ["x", "z", "g"]),
        ("SkipLayerNormalization", ["x", "z", "g", "b"]),
        ("SkipLayerNormalization", ["x", "z", "g", "b", "more"]),
        ("SkipSimplifiedLayerNormalization", ["x", "z", "g"]),
        ("SkipSimplifiedLayerNormalization", ["x", "z", "g", "more"]),
    ],
)
def test_norms_of_sums(op, inputs):
    constants = {name: floats(8) + index for index, name in enumerate(("g", "b", "more")) if name in inputs}
    node = fused(op, inputs, ["y", "", "", "sum"], epsilon=1e-5)
    agree(model([node], {**ROWS, "z": (2, 3, 8)}, ["y", "sum"], constants))


def test_a_model_that_the_runtime_optimised(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    make = helper.make_node
    nodes = [
        make("MatMul", ["x", "w"], ["a"]),
        make("Add", ["a", "x"], ["s"]),
        make("LayerNormalization", ["s", "g", "b"], ["n"], axis=-1),
        make("MatMul", ["n", "w"], ["h"]),
        make("Add", ["h", "b"], ["hb"]),
        make("Gelu", ["hb"], ["y"]),
    ]
    made = model(nodes, ROWS, ["y"], {"w": floats(8, 8), "g": floats(8), "b": floats(8) + 1}, opset=20)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    runtime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    agree(onnx.load(tmp_path / "optimised.onnx"))


def test_what_is_left_out_is_said():
    with pytest.raises(ImportModelError, match=r"activation 'Swish'; known: Clip, HardSigmoid, LeakyRelu, Relu, Sigmoid, Tanh"):
        import_onnx(model([fused("FusedConv", ["x", "w"], activation="Swish")], IMAGE, ["y"], {"w": floats(5, 4, 3, 3)}))
    with pytest.raises(ImportModelError, match="transBatchA=1"):
        import_onnx(model([fused("FusedMatMul", ["x", "x"], transBatchA=1)], {"x": (2, 3, 3)}, ["y"], {}))
