"""Resize and Upsample against ONNX Runtime: families of scales, sizes, places and modes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate

PLACES = ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners", "half_pixel_symmetric")


def resize(make, expected, shape, constants, opset=19, **attributes):
    names = ["x", "", "scales" if "scales" in constants else "", "sizes" if "sizes" in constants else ""]
    model = make(helper.make_node("Resize", names, ["y"], "layer", **attributes), {"x": shape}, constants, opset=opset)
    feed = {"x": np.random.default_rng(3).standard_normal(shape).astype(np.float32)}
    np.testing.assert_allclose(evaluate(import_onnx(model), feed)[0], expected(model, feed)[0], rtol=1e-4, atol=1e-5)


@given(
    mode=st.sampled_from(["linear", "cubic"]),
    place=st.sampled_from(PLACES),
    size=st.tuples(st.integers(2, 7), st.integers(2, 7)),
    out=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    antialias=st.booleans(),
)
def test_interpolation_to_a_size(make, expected, mode, place, size, out, antialias):
    if antialias and place == "align_corners":
        antialias = False
    attributes = {"antialias": 1} if antialias else {}
    sizes = {"sizes": np.int64([1, 2, *out])}
    resize(make, expected, (1, 2, *size), sizes, mode=mode, coordinate_transformation_mode=place, **attributes)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 2), (1, 1, 0.6, 1.7), (1, 1, 3, 0.5)])
def test_interpolation_by_a_scale(make, expected, mode, scales):
    resize(make, expected, (1, 2, 5, 6), {"scales": np.float32(scales)}, mode=mode)


def test_cubic_with_what_is_outside_left_out(make, expected):
    scales = {"scales": np.float32([1, 1, 1.5, 0.8])}
    resize(make, expected, (1, 1, 5, 6), scales, mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5)


def test_other_axes_than_the_last(make, expected):
    resize(make, expected, (3, 4), {"sizes": np.int64([5, 9])}, mode="linear")


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_proportions_are_kept(make, expected, policy):
    sizes = {"sizes": np.int64([7, 8])}
    attributes = {"keep_aspect_ratio_policy": policy, "axes": [2, 3], "mode": "nearest"}
    resize(make, expected, (1, 1, 2, 4), sizes, opset=18, **attributes)


@pytest.mark.parametrize("opset", [7, 9])
def test_upsample_linear(make, expected, opset):
    scales = [1.0, 1.0, 2.0, 3.0]
    given = {"scales": scales} if opset < 9 else {}
    constants = {} if opset < 9 else {"scales": np.float32(scales)}
    node = helper.make_node("Upsample", ["x", *constants], ["y"], mode="linear", **given)
    model = make(node, {"x": (1, 2, 3, 4)}, constants, opset=opset)
    feed = {"x": np.random.default_rng(3).standard_normal((1, 2, 3, 4)).astype(np.float32)}
    np.testing.assert_allclose(evaluate(import_onnx(model), feed)[0], expected(model, feed)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("constants", "attributes", "message"),
    [
        ({"scales": [1, 1, 0.6, 1]}, {"coordinate_transformation_mode": "align_corners"}, "align_corners with scale 0.6"),
        ({"scales": [1, 1, 2, 1]}, {"coordinate_transformation_mode": "tf_crop_and_resize"}, "tf_crop_and_resize"),
        ({"scales": [1, 1, 2, 1]}, {"mode": "odd"}, "mode 'odd' is not one of nearest, linear, cubic"),
        ({"scales": [1, 1, -2, 1]}, {}, "must be positive"),
        ({"scales": [1, 1, 2, 1]}, {"nearest_mode": "odd"}, "nearest_mode 'odd'"),
    ],
)
def test_what_cannot_be_resized_is_said(make, constants, attributes, message):
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], "layer", **attributes)
    model = make(node, {"x": (1, 1, 3, 3)}, {name: np.float32(value) for name, value in constants.items()}, opset=19)
    with pytest.raises(ImportModelError, match=message):
        import_onnx(model)
