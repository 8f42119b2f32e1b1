"""Operators that ONNX defines by others, against its reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.defs import onnx_opset_version
from onnx.reference import ReferenceEvaluator

from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate

pytestmark = pytest.mark.skipif(onnx_opset_version() < 23, reason="the package onnx has Attention from 1.18 on")

RNG = np.random.default_rng(2)


def values(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def model_of(nodes, inputs, outputs=("y",), constants=None, opset=23):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for name, v in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check(nodes, inputs, outputs=("y",), constants=None, opset=23):
    """Import, and compare with ONNX's own evaluator; returns the graph."""
    model = model_of(nodes, inputs, outputs, constants, opset)
    graph = import_onnx(model)
    for got, want in zip(evaluate(graph, inputs), ReferenceEvaluator(model).run(None, inputs), strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    return graph


MASK = RNG.random((4, 4)) < 0.7
ATTENTION = {
    "plain": (("q", "k", "v"), {}),
    "causal": (("q", "k", "v"), {"is_causal": 1}),
    "scaled, capped": (("q", "k", "v"), {"scale": 0.2, "softcap": 2.0}),
    "masked": (("q", "k", "v", "mask"), {}),
    "masked by numbers": (("q", "k", "v", "bias"), {}),
}


@pytest.mark.parametrize("case", ATTENTION)
@pytest.mark.parametrize("heads", [(2, 2), (4, 2)], ids=["as many", "shared keys"])
def test_attention_of_rows(case, heads):
    names, attributes = ATTENTION[case]
    inputs = {"q": values(2, 4, 8 * heads[0]), "k": values(2, 4, 8 * heads[1]), "v": values(2, 4, 8 * heads[1])}
    node = helper.make_node("Attention", names, ["y"], name="attn", q_num_heads=heads[0], kv_num_heads=heads[1], **attributes)
    constants = {"mask": MASK, "bias": values(4, 4)}
    graph = check([node], inputs, constants={name: constants[name] for name in names if name in constants})
    assert all(call.name.startswith("attn/") for call in graph.calls())


def test_attention_keeps_keys_and_values_of_before():
    inputs = {name: values(1, 2, 3, 8) for name in ("q", "k", "v")} | {"pk": values(1, 2, 5, 8), "pv": values(1, 2, 5, 8)}
    check([helper.make_node("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "nk", "nv"])], inputs, ("y", "nk", "nv"))


@pytest.mark.parametrize("attributes", [{}, {"interleaved": 1}, {"rotary_embedding_dim": 4}], ids=str)
def test_rotary_embedding(attributes):
    half = attributes.get("rotary_embedding_dim", 8) // 2
    node = helper.make_node("RotaryEmbedding", ["x", "cos", "sin", "at"], ["y"], **attributes)
    constants = {"cos": values(50, half), "sin": values(50, half), "at": np.int64([[3, 1, 4, 1], [5, 9, 2, 6]])}
    check([node], {"x": values(2, 3, 4, 8)}, constants=constants)


def test_attributes_reach_the_operators_inside():
    node = helper.make_node("CenterCropPad", ["x", "shape"], ["y"], axes=[1])
    check([node], {"x": values(4, 9)}, constants={"shape": np.int64([5])}, opset=18)
    nodes = [helper.make_node("HannWindow", ["n"], ["w"], periodic=0), helper.make_node("Mul", ["x", "w"], ["y"])]
    check(nodes, {"x": values(3, 7)}, constants={"n": np.int64(7)}, opset=18)


def test_what_cannot_be_imported_inside_is_said():
    node = helper.make_node("CenterCropPad", ["x", "shape"], ["y"], name="cut")
    with pytest.raises(ImportModelError, match=r"CenterCropPad: one of the operators that define it: .* cannot import 1 node"):
        import_onnx(model_of([node], {"x": values(4, 9), "shape": np.int64([2, 5])}, opset=18))
