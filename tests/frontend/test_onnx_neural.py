"""Layers with weights, normalisation and softmax against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate

RNG = np.random.default_rng(3)


def node(op, inputs=("x",), outputs=("y",), **attributes):
    return helper.make_node(op, inputs, outputs, name="layer", **attributes)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"pads": [1, 1, 1, 1]},
        {"pads": [0, 1, 2, 3], "strides": [2, 1]},
        {"dilations": [2, 2], "pads": [2, 2, 2, 2], "kernel_shape": [3, 2]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
        {"auto_pad": "VALID", "strides": [2, 2]},
    ],
)
@pytest.mark.parametrize("bias", [True, False])
def test_conv(same, attributes, bias):
    constants = {"w": normal(6, 4, 3, 2), **({"b": normal(6)} if bias else {})}
    same(node("Conv", ("x", *constants), **attributes), {"x": (2, 4, 9, 8)}, constants)


@pytest.mark.parametrize(("groups", "out"), [(2, 6), (4, 4), (4, 8)])
def test_grouped_conv(same, groups, out):
    graph = same(node("Conv", ("x", "w"), group=groups), {"x": (1, 4, 6, 6)}, {"w": normal(out, 4 // groups, 3, 3)})
    assert graph.outputs[0].attrs.groups == groups


def test_conv_with_a_computed_weight(same):
    scaled = helper.make_node("Mul", ["w", "k"], ["ww"])
    graph = same([scaled, node("Conv", ("x", "ww"))], {"x": (1, 2, 4, 4)}, {"w": normal(3, 2, 1, 1), "k": np.float32(2)})
    assert [call.op for call in graph.calls()] == ["nn.conv2d"]


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [2, 2], "pads": [1, 1, 1, 1]},
        {"strides": [3, 2], "pads": [0, 1, 2, 1], "output_padding": [1, 1]},
        {"dilations": [2, 1], "group": 2},
        {"strides": [2, 2], "output_shape": [10, 9]},
        {"strides": [2, 2], "output_shape": [10, 9], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
        {"strides": [3, 2], "auto_pad": "VALID", "output_padding": [2, 0]},
        {"strides": [3, 2], "dilations": [2, 3], "pads": [2, 0, 1, 3], "group": 4},
        {"strides": [1, 1], "output_shape": [6, 6]},
    ],
)
def test_conv_transpose(same, attributes):
    same(
        node("ConvTranspose", ("x", "w", "b"), **attributes),
        {"x": (2, 4, 5, 4)},
        {"w": normal(4, 3, 3, 3), "b": normal(3 * attributes.get("group", 1))},
    )


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"output_shape": [11, 9]}, "an output of 11 along axis 2, more than the 7 that the kernel reaches"),
        ({"output_shape": [6]}, r"output_shape \(6,\) does not have 2 or 4 numbers"),
        ({"output_padding": [1]}, r"output_padding \(1,\) does not have 2 or 4 numbers"),
        ({"dilations": [0, 1]}, r"strides \(1, 1\), dilations \(0, 1\) or pads .* do not fit a 2-D window"),
        ({"pads": [9, 9, 9, 9]}, r"padding \(9, 9, 9, 9\) leaves nothing of the 7x6 output"),
    ],
)
def test_what_is_wrong_with_a_conv_transpose(make, attributes, message):
    model = make(node("ConvTranspose", ("x", "w"), **attributes), {"x": (2, 4, 5, 4)}, {"w": normal(4, 3, 3, 3)})
    with pytest.raises(ImportModelError, match=message) as error:
        import_onnx(model)
    assert "layer" in str(error.value)


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (4, 3)])
def test_batch_normalization(same, opset, shape):
    constants = {"g": normal(3), "b": normal(3), "m": normal(3), "v": np.abs(normal(3)) + 0.1}
    same(node("BatchNormalization", ("x", *constants), epsilon=1e-3), {"x": shape}, constants, opset=opset)


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("bias", [None, (5,), (1, 5), (), (3, 5), (3, 1)])
def test_gemm(same, trans_a, trans_b, bias):
    constants = {"w": normal(5, 4) if trans_b else normal(4, 5)}
    if bias is not None:
        constants["b"] = normal(*bias)
    attributes = {"transA": trans_a, "transB": trans_b, "alpha": 0.5, "beta": 2.0}
    same(node("Gemm", ("x", *constants), **attributes), {"x": (4, 3) if trans_a else (3, 4)}, constants)


def test_a_gemm_with_constant_weight_is_a_dense_layer_with_bias(same):
    graph = same(node("Gemm", ("x", "w", "b"), transB=1), {"x": (1, 4)}, {"w": normal(5, 4), "b": normal(5)})
    assert [call.op for call in graph.calls()] == ["nn.dense", "nn.bias_add"]


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 3, 5, 4)])
def test_matmul_with_constant_matrix_is_dense(same, shape):
    graph = same(node("MatMul", ("x", "w")), {"x": shape}, {"w": normal(4, 6)})
    assert any(call.op == "nn.dense" for call in graph.calls())


@pytest.mark.parametrize(("left", "right"), [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5))])
def test_matmul_of_two_inputs(same, left, right):
    same(node("MatMul", ("x", "z")), {"x": left, "z": right})


@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn(same, size):
    same(node("LRN", size=size, alpha=0.1, beta=0.6, bias=1.5), {"x": (2, 6, 3, 3)})


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("opset", [7, 11, 13])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3])
def test_softmax_flattens_before_version_13(same, op, opset, axis):
    same(node(op, **({} if axis is None else {"axis": axis})), {"x": (2, 3, 4, 5)}, opset=opset)


def test_softmax_over_channels_of_one_pixel_needs_no_reshape(same):
    graph = same(node("Softmax"), {"x": (2, 7, 1, 1)}, opset=9)
    assert [call.op for call in graph.calls()] == ["nn.softmax"]


def test_instance_normalization(same):
    same(node("InstanceNormalization", ("x", "g", "b")), {"x": (2, 3, 4, 5)}, {"g": normal(3), "b": normal(3)})


@pytest.mark.parametrize(
    "attributes", [{}, {"pads": [1, 2], "strides": [2]}, {"dilations": [2]}, {"auto_pad": "SAME_LOWER", "strides": [3]}]
)
def test_one_dimensional_convolution(same, attributes):
    graph = same(node("Conv", ("x", "w", "b"), **attributes), {"x": (2, 2, 9)}, {"w": normal(3, 2, 3), "b": normal(3)})
    assert "nn.conv2d" in [call.op for call in graph.calls()]


def test_three_dimensional_convolution_is_refused_by_name(make):
    model = make(node("Conv", ("x", "w")), {"x": (1, 2, 9, 9, 9)}, {"w": normal(3, 2, 3, 3, 3)})
    with pytest.raises(ImportModelError, match=r"Conv: 3-D .*1 node: layer \(node 0\)"):
        import_onnx(model)


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((2, 3, 4), (2, 4, 5))])
def test_matrix_products_of_vectors_and_stacks(same, shapes):
    same(node("MatMul", ("x", "z")), dict(zip("xz", shapes, strict=True)))


@pytest.mark.parametrize("opset", [18, 21])
def test_group_normalization(make, opset):
    count = 2 if opset == 18 else 6
    constants = {"g": normal(count), "b": normal(count)}
    model = make(node("GroupNormalization", ("x", "g", "b"), num_groups=2, epsilon=0.1), {"x": (2, 6, 3)}, constants, opset=opset)
    x = normal(2, 6, 3)
    grouped = x.reshape(2, 2, 9)
    normal_ = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 0.1)
    gamma, beta = (np.repeat(value, 6 // count).reshape(1, 6, 1) for value in constants.values())
    np.testing.assert_allclose(evaluate(import_onnx(model), {"x": x})[0], normal_.reshape(x.shape) * gamma + beta, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bhid,bhjd->bhij", [(1, 2, 3, 4), (1, 2, 5, 4)]),
        ("ibj,kj->kib", [(3, 2, 4), (5, 4)]),
        ("ij->ji", [(3, 4)]),
        ("ijk->j", [(2, 3, 4)]),
        ("ij,kl->il", [(3, 4), (2, 5)]),
        ("ij,jk", [(3, 4), (4, 5)]),
    ],
)
def test_einsum(same, equation, shapes):
    inputs = {f"x{number}": shape for number, shape in enumerate(shapes)}
    same(node("Einsum", tuple(inputs), equation=equation), inputs)


def test_einsum_with_constant_weights_is_a_layer(same):
    graph = same(node("Einsum", ("x", "w"), equation="btk,kh->bth"), {"x": (1, 5, 4)}, {"w": normal(4, 6)})
    assert "nn.dense" in [call.op for call in graph.calls()]
    graph = same(node("Einsum", ("x", "w"), equation="btgi,gih->btgh"), {"x": (1, 5, 2, 4)}, {"w": normal(2, 4, 3)})
    assert [call.attrs.groups for call in graph.calls() if call.op == "nn.conv2d"] == [2]


@pytest.mark.parametrize(("equation", "reason"), [("ii->i", "diagonal"), ("...i->i", "without letters")])
def test_einsum_that_is_not_imported(make, equation, reason):
    model = make(node("Einsum", ("x",), equation=equation), {"x": (3, 3) if "ii" in equation else (3,)})
    with pytest.raises(ImportModelError, match=reason):
        import_onnx(model)


@pytest.mark.parametrize(
    ("sizes", "window", "places", "attributes"),
    [
        ((6, 8), (2, 2), 12, {"strides": [2, 2]}),
        ((5, 5), (3, 3), 9, {}),
        ((6, 7), (3, 2), 16, {"strides": [2, 3], "pads": [1, 2, 2, 3], "dilations": [1, 2]}),
        ((8, 7), (2, 3), 12, {"strides": [3, 2], "pads": [1, 1, 1, 1]}),
        ((7,), (3,), 5, {}),
        ((8,), (2,), 4, {"strides": [3], "pads": [1, 2], "dilations": [1]}),
    ],
)
def test_windows_back_to_an_image(make, sizes, window, places, attributes):
    """ONNX Runtime before 1.24 gives what was in memory for images of one dimension."""
    shape = {"x": (2, 3 * int(np.prod(window)), places)}
    model = make(node("Col2Im", ("x", "s", "w"), **attributes), shape, {"s": np.int64(sizes), "w": np.int64(window)}, opset=18)
    x = normal(*shape["x"])
    (got,) = evaluate(import_onnx(model), {"x": x})
    np.testing.assert_allclose(got, _folded(x, sizes, window, **attributes), rtol=1e-5, atol=1e-6)


def _folded(x, sizes, window, strides=None, pads=None, dilations=None):
    """Windows added up where they lie, the plain way."""
    axes = len(sizes)
    strides, dilations, pads = strides or [1] * axes, dilations or [1] * axes, pads or [0] * 2 * axes
    padded = [sizes[axis] + pads[axis] + pads[axis + axes] for axis in range(axes)]
    counts = [(padded[axis] - dilations[axis] * (window[axis] - 1) - 1) // strides[axis] + 1 for axis in range(axes)]
    out = np.zeros((x.shape[0], x.shape[1] // int(np.prod(window)), *padded), np.float32)
    values = x.reshape(*out.shape[:2], *window, *counts)
    for under in np.ndindex(*window):
        for place in np.ndindex(*counts):
            at = tuple(place[axis] * strides[axis] + under[axis] * dilations[axis] for axis in range(axes))
            out[(slice(None), slice(None), *at)] += values[(slice(None), slice(None), *under, *place)]
    return out[(slice(None), slice(None), *(slice(pads[axis], pads[axis] + sizes[axis]) for axis in range(axes)))]


@pytest.mark.parametrize(
    ("shape", "sizes", "window", "attributes", "message"),
    [
        ((1, 8, 9), (4, 4), (2, 2), {"strides": [2, 2]}, r"does not fit windows of \(2, 2\) at \[2, 2\] places"),
        ((1, 7, 4), (4, 4), (2, 2), {"strides": [2, 2]}, "does not fit windows"),
        ((1, 16, 1), (2, 2), (4, 4), {}, "does not fit windows"),
        ((1, 8, 1), (2, 2, 2), (2, 2, 2), {}, "3-D images"),
        ((1, 8, 9), (4, 4), (2, 2), {"strides": [0, 1]}, "do not fit"),
        ((1, 8, 9), (4, 4), (2, 2), {"pads": [0, 1]}, "do not fit"),
    ],
)
def test_windows_that_do_not_fit_an_image(make, shape, sizes, window, attributes, message):
    model = make(
        node("Col2Im", ("x", "s", "w"), **attributes), {"x": shape}, {"s": np.int64(sizes), "w": np.int64(window)}, opset=18
    )
    with pytest.raises(ImportModelError, match=message):
        import_onnx(model)
