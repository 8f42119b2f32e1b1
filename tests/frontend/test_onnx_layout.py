"""Operators that move values, and resampling, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

X = {"x": (2, 3, 4, 6)}
I64 = np.int64


def node(op, inputs=("x",), outputs=("y",), **attributes):
    return helper.make_node(op, inputs, outputs, name="layer", **attributes)


@pytest.mark.parametrize("shape", [[2, -1], [0, 0, -1], [6, 24], [-1], [0, 3, 2, 2, 6]])
def test_reshape(same, shape):
    same(node("Reshape", ("x", "s")), X, {"s": I64(shape)})


@pytest.mark.parametrize("axis", [0, 1, 2, 4, -1, -3])
def test_flatten(same, axis):
    same(node("Flatten", axis=axis), X)


@pytest.mark.parametrize("attributes", [{}, {"perm": [0, 2, 3, 1]}])
def test_transpose(same, attributes):
    same(node("Transpose", **attributes), X)


@pytest.mark.parametrize("axes", [[0], [0, 2], [-2], None])
def test_squeeze_both_ways(same, axes):
    shape = {"x": (1, 3, 1, 4)}
    same(node("Squeeze", **({} if axes is None else {"axes": axes})), shape, opset=11)
    if axes is not None:
        same(node("Squeeze", ("x", "a")), shape, {"a": I64(axes)}, opset=13)


@pytest.mark.parametrize("axes", [[0], [1, 3], [3, 1], [-1], [-1, 0]])
def test_unsqueeze_both_ways(same, axes):
    same(node("Unsqueeze", axes=axes), {"x": (3, 4)}, opset=12)
    same(node("Unsqueeze", ("x", "a")), {"x": (3, 4)}, {"a": I64(axes)}, opset=13)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(same, axis):
    same(node("Concat", ("x", "z", "x"), axis=axis), {"x": (2, 3, 4), "z": (2, 3, 4)})


def test_split(same):
    outs = ("y", "z")
    same(node("Split", outputs=outs, axis=1, split=[1, 2]), X, opset=11, outputs=outs)
    same(node("Split", ("x", "s"), outs, axis=-1), X, {"s": I64([2, 4])}, opset=13, outputs=outs)
    same(node("Split", outputs=outs, axis=2), X, opset=13, outputs=outs)
    same(node("Split", outputs=outs, axis=1, num_outputs=2), X, opset=18, outputs=outs)


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ([1], [2], [1], None),
        ([0, -3], [2**31 - 1, -1], [2, 3], None),
        ([0, 1], [4, 6], [2, -1], [2, 3]),
        ([-1], [-(2**31)], [3], [-1]),
        ([4], [0], [3], [-2]),
        ([0, 0, 1, 1], [2, 2, 3, 5], None, None),
    ],
)
def test_slice(same, starts, ends, axes, steps):
    constants = {"s": I64(starts), "e": I64(ends)}
    if axes is not None:
        constants["a"] = I64(axes)
    if steps is not None:
        constants["t"] = I64(steps)
    same(node("Slice", ("x", *constants)), X, constants)
    if steps is None:
        attributes = {"starts": starts, "ends": ends, **({} if axes is None else {"axes": axes})}
        same(node("Slice", **attributes), X, opset=9)


@pytest.mark.parametrize("indices", [I64(1), I64(-1), I64([0, 2]), I64([[0, 1], [2, -3]])])
def test_gather(same, indices):
    same(node("Gather", ("x", "i"), axis=1), X, {"i": indices})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(same, mode):
    pads = [0, 0, 1, 2, 0, 1, 0, 3] if mode == "constant" else [0, 0, 1, 2, 0, 0, 0, 3]
    same(node("Pad", mode=mode, pads=pads, value=0.5), X, opset=10)
    same(node("Pad", ("x", "p", "v"), mode=mode), X, {"p": I64(pads), "v": np.float32(0.5)}, opset=13)


def test_pad_of_chosen_axes(same):
    same(node("Pad", ("x", "p", "", "a")), X, {"p": I64([1, 2, 3, 4]), "a": I64([2, -1])}, opset=18)


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (5, 2, 3, 4, 6), (1, 6)])
def test_expand(same, shape):
    same(node("Expand", ("x", "s")), X, {"s": I64(shape)})


def test_tile(same):
    same(node("Tile", ("x", "r")), X, {"r": I64([1, 2, 1, 3])})


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(same, mode):
    same(node("DepthToSpace", blocksize=2, mode=mode), {"x": (2, 8, 3, 2)})


def test_space_to_depth(same):
    same(node("SpaceToDepth", blocksize=2), X)


@pytest.mark.parametrize("scale", [(1, 1, 2, 2), (1, 1, 3, 2), (1, 1, 1.5, 0.5)])
def test_upsample_and_the_first_resize(same, scale):
    scales = np.float32(scale)
    if min(scale) >= 1:
        same(node("Upsample", mode="nearest", scales=list(map(float, scale))), X, opset=7)
        same(node("Upsample", ("x", "s"), mode="nearest"), X, {"s": scales}, opset=9)
    same(node("Resize", ("x", "s"), mode="nearest"), X, {"s": scales}, opset=10)


@pytest.mark.parametrize("place", ["asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize("rounding", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("scale", [(2, 2), (3, 1), (0.5, 1.5)])
def test_resize_to_the_nearest(same, place, rounding, scale):
    resize = node("Resize", ("x", "", "s"), mode="nearest", coordinate_transformation_mode=place, nearest_mode=rounding)
    same(resize, X, {"s": np.float32([1, 1, *scale])}, opset=13)


def test_resize_to_sizes_is_an_upsampling(same):
    resize = node("Resize", ("x", "", "", "n"), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    graph = same(resize, X, {"n": I64([2, 3, 8, 12])}, opset=13)
    assert [call.op for call in graph.calls()] == ["nn.upsampling"]
