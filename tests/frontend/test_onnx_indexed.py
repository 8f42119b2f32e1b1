"""Gathers, scatters, the largest values and kept boxes against ONNX Runtime, on random shapes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from tests.onnx_models import model
from tests.onnx_oracle import onnx_values
from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir import names as ops
from vta.ir.interpreter import evaluate

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)
SEEDS = st.integers(0, 1 << 16)
FEW = settings(max_examples=25, deadline=None)


def node(op, *inputs, outputs=("y",), **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def agree(nodes, inputs, constants=None, outputs=("y",), opset=18, rtol=0.0):
    """Hold a network to ONNX Runtime: to the bit, but for sums of floats."""
    network = model(nodes, inputs, constants or {}, outputs, opset)
    graph = import_onnx(network)
    for got, want in zip(evaluate(graph, inputs), onnx_values(network, inputs), strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
    return graph


def places(rng, shape, size, dtype=np.int64):
    return rng.integers(-size, size, shape).astype(dtype)


@FEW
@given(shape=SHAPES, seed=SEEDS, dtype=st.sampled_from([np.float32, np.int32, np.int64]), data=st.data())
def test_gather_elements(shape, seed, dtype, data):
    rng = np.random.default_rng(seed)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    wanted = tuple(rng.integers(1, 7) if at == axis % len(shape) else rng.integers(1, size + 1) for at, size in enumerate(shape))
    inputs = {"x": rng.integers(-9, 9, shape).astype(dtype), "i": places(rng, wanted, shape[axis])}
    agree([node("GatherElements", "x", "i", axis=axis)], inputs, outputs={"y": dtype})


@FEW
@given(shape=SHAPES, seed=SEEDS, data=st.data())
def test_gather_nd(shape, seed, data):
    rng = np.random.default_rng(seed)
    shared = data.draw(st.integers(0, len(shape) - 1))
    depth = data.draw(st.integers(1, len(shape) - shared))
    lead = (*shape[:shared], *rng.integers(1, 4, data.draw(st.integers(0, 2))))
    indices = np.stack([places(rng, lead, size) for size in shape[shared : shared + depth]], axis=-1)
    inputs = {"x": rng.standard_normal(shape).astype(np.float32), "i": indices}
    agree([node("GatherND", "x", "i", batch_dims=shared)], inputs)


@FEW
@given(shape=SHAPES, seed=SEEDS, reduction=st.sampled_from(["none", "add", "mul", "max", "min"]), data=st.data())
def test_scatter_elements(shape, seed, reduction, data):
    rng = np.random.default_rng(seed)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    wanted = tuple(rng.integers(1, size + 1) for size in shape)
    indices = places(rng, wanted, shape[axis])
    inputs = {
        "x": rng.integers(-9, 9, shape).astype(np.float32),
        "i": indices,
        "u": rng.integers(-9, 9, wanted).astype(np.float32),
    }
    agree([node("ScatterElements", "x", "i", "u", axis=axis, reduction=reduction)], inputs)


@FEW
@given(shape=SHAPES, seed=SEEDS, reduction=st.sampled_from(["none", "add", "mul", "max", "min"]), data=st.data())
def test_scatter_nd(shape, seed, reduction, data):
    rng = np.random.default_rng(seed)
    depth = data.draw(st.integers(1, len(shape)))
    lead = tuple(rng.integers(1, 4, data.draw(st.integers(0, 2))))
    indices = np.stack([places(rng, lead, size) for size in shape[:depth]], axis=-1)
    updates = rng.integers(-9, 9, (*lead, *shape[depth:])).astype(np.float32)
    inputs = {"x": rng.integers(-9, 9, shape).astype(np.float32), "i": indices, "u": updates}
    agree([node("ScatterND", "x", "i", "u", reduction=reduction)], inputs)


@FEW
@given(shape=SHAPES, seed=SEEDS, largest=st.booleans(), dtype=st.sampled_from([np.float32, np.int32, np.int64]), data=st.data())
def test_the_largest_and_the_smallest(shape, seed, largest, dtype, data):
    """Of equal values the first comes first."""
    rng = np.random.default_rng(seed)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    k = data.draw(st.integers(1, shape[axis]))
    inputs = {"x": rng.integers(-3, 3, shape).astype(dtype)}
    found = node("TopK", "x", "k", outputs=("y", "i"), axis=axis, largest=int(largest))
    agree([found], inputs, {"k": np.int64([k])}, {"y": dtype, "i": np.int64})


def test_the_largest_with_an_attribute():
    """Before version 10 of the operator set k was no input; no release of ONNX Runtime orders ties there as we do."""
    x = np.float32([[3, 1, 2]])
    graph = import_onnx(model([node("TopK", "x", outputs=("y", "i"), k=2)], {"x": x}, {}, {"y": np.float32, "i": np.int64}, 9))
    values, at = evaluate(graph, {"x": x})
    assert (values.tolist(), at.tolist()) == ([[3, 2]], [[0, 2]])


@FEW
@given(
    seed=SEEDS, count=st.integers(1, 24), classes=st.integers(1, 3), batch=st.integers(1, 2), center=st.booleans(), data=st.data()
)
def test_boxes_that_are_kept(seed, count, classes, batch, center, data):
    rng = np.random.default_rng(seed)
    corners = rng.random((batch, count, 4)).astype(np.float32)
    scores = rng.integers(0, 12, (batch, classes, count)).astype(np.float32) / 12
    constants = {"most": np.int64([data.draw(st.integers(0, 6))]), "iou": np.float32([data.draw(st.sampled_from([0, 0.3, 0.6]))])}
    names = ["boxes", "scores", "most", "iou"]
    if data.draw(st.booleans()):
        constants["least"] = np.float32([0.25])
        names.append("least")
    inputs = {"boxes": corners, "scores": scores}
    network = model([node("NonMaxSuppression", *names, center_point_box=int(center))], inputs, constants, {"y": np.int64})
    (got,), (want,) = evaluate(import_onnx(network), inputs), onnx_values(network, inputs)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got[: len(want)], want)
    assert (got[len(want) :] == -1).all()


@FEW
@given(shape=st.lists(st.integers(1, 5), min_size=2, max_size=4).map(tuple), seed=SEEDS, time=st.integers(0, 1))
def test_sequences_in_reverse(shape, seed, time):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, shape[time] + 1, shape[1 - time])
    inputs = {"x": rng.standard_normal(shape).astype(np.float32), "n": lengths}
    agree([node("ReverseSequence", "x", "n", time_axis=time, batch_axis=1 - time)], inputs)


@FEW
@given(shape=SHAPES, seed=SEEDS, exclusive=st.integers(0, 1), reverse=st.integers(0, 1), data=st.data())
def test_running_sums(shape, seed, exclusive, reverse, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    inputs = {"x": np.random.default_rng(seed).standard_normal(shape).astype(np.float32)}
    agree([node("CumSum", "x", "a", exclusive=exclusive, reverse=reverse)], inputs, {"a": np.int64(axis)}, rtol=1e-5)


@FEW
@given(shape=SHAPES, seed=SEEDS, depth=st.integers(1, 5), data=st.data())
def test_one_hot(shape, seed, depth, data):
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    inputs = {"x": np.random.default_rng(seed).integers(-depth, depth, shape)}
    constants = {"d": np.int64([depth]), "v": np.float32([-1, 2])}
    agree([node("OneHot", "x", "d", "v", axis=axis)], inputs, constants)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -1, 0, 2])
def test_triangles(upper, k):
    inputs = {"x": np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)}
    names = ("x",) if k is None else ("x", "k")
    agree([node("Trilu", *names, upper=upper)], inputs, {} if k is None else {"k": np.int64(k)})


@pytest.mark.parametrize("op", ["Sin", "Cos"])
def test_sines(op):
    agree([node(op, "x")], {"x": np.linspace(-40, 40, 997, dtype=np.float32)}, rtol=2e-6)


def test_products_along_axes():
    inputs = {"x": np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)}
    agree([node("ReduceProd", "x", "a", keepdims=0)], inputs, {"a": np.int64([1])}, rtol=1e-6)


def test_distribution_focal_loss():
    """The distance of a detector's edge: the mean of a distribution over bins, by a softmax and a convolution or a product."""
    x = np.random.default_rng(0).standard_normal((1, 64, 20)).astype(np.float32)
    bins = np.arange(16, dtype=np.float32)
    nodes = [
        node("Reshape", "x", "s", outputs=("r",)),
        node("Transpose", "r", outputs=("t",), perm=[0, 2, 1, 3]),
        node("Softmax", "t", outputs=("p",), axis=1),
        node("Conv", "p", "w", outputs=("c",)),
        node("Reshape", "c", "o"),
    ]
    constants = {"s": np.int64([1, 4, 16, 20]), "w": bins.reshape(1, 16, 1, 1), "o": np.int64([1, 4, 20])}
    agree(nodes, {"x": x}, constants, rtol=1e-4)
    nodes[3:] = [node("Transpose", "p", outputs=("q",), perm=[0, 2, 3, 1]), node("MatMul", "q", "b")]
    agree(nodes, {"x": x}, {"s": constants["s"], "b": bins}, rtol=1e-4)


def test_the_first_kept_boxes_of_a_head():
    """What exports do: boxes by the positions of the best scores, as ONNX Runtime has them."""
    rng = np.random.default_rng(0)
    inputs = {"boxes": rng.random((1, 50, 4)).astype(np.float32), "scores": rng.random((1, 50)).astype(np.float32)}
    nodes = [
        node("TopK", "scores", "k", outputs=("best", "at"), axis=1),
        node("Unsqueeze", "at", "last", outputs=("wide",)),
        node("Expand", "wide", "shape", outputs=("four",)),
        node("GatherElements", "boxes", "four", axis=1),
    ]
    constants = {"k": np.int64([7]), "last": np.int64([2]), "shape": np.int64([1, 7, 4])}
    agree(nodes, inputs, constants, {"best": np.float32, "y": np.float32})


def refused(nodes, inputs, constants=None, outputs=("y",)):
    with pytest.raises(ImportModelError) as error:
        import_onnx(model(nodes, inputs, constants or {}, outputs))
    return str(error.value)


def test_what_is_refused():
    x = {"x": np.zeros((2, 3), np.float32)}
    k = {"k": np.zeros(1, np.int64)}
    text = refused([node("TopK", "x", "k", outputs=("y", "i"))], x | k, outputs={"y": np.float32, "i": np.int64})
    assert "TopK" in text
    assert "k must be known at import" in text
    text = refused([node("TopK", "x", "k", outputs=("y", "i"))], x, {"k": np.int64([4])}, {"y": np.float32, "i": np.int64})
    assert "k is 4, axis -1 has 3 values" in text
    text = refused([node("GatherND", "x", "i")], x | {"i": np.zeros((1, 3), np.int64)})
    assert "indices of 3 coordinates are too many for shape (2, 3)" in text
    text = refused([node("NonZero", "x")], x, outputs={"y": np.int64})
    assert "NonZero" in text


def test_positions_outside_are_errors_that_name_them():
    from vta.errors import GraphError

    inputs = {"x": np.zeros((2, 3), np.float32), "i": np.int64([[0, 3, 1]])}
    graph = import_onnx(model([node("GatherElements", "x", "i", axis=1)], inputs, {}))
    with pytest.raises(GraphError, match=r"positions must be in -3\.\.2, got 3"):
        evaluate(graph, inputs)
    assert graph.outputs[0].op == ops.GATHER_ELEMENTS
