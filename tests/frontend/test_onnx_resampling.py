"""Resize and Upsample against ONNX Runtime: families of scales, sizes, places and modes."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import helper

from tests.onnx_models import check, model
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


ROUNDING = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")

scales = st.one_of(st.sampled_from([0.5, 0.7, 1.0, 1.1, 1.4, 1.5, 2.0, 2.3, 3.0]), st.floats(0.25, 4, width=32))


def rows_of(size, scale, opset):
    """Whether a scale leaves rows, and the operator takes it."""
    return np.float32(scale) * np.float32(size) >= 1 and (opset > 9 or scale >= 1)


@settings(max_examples=200)
@given(
    opset=st.sampled_from([9, 10, 11, 13, 18, 19]),
    mode=st.sampled_from(["nearest", "linear"]),
    place=st.sampled_from(["asymmetric", "half_pixel", "pytorch_half_pixel"]),
    rounding=st.sampled_from(ROUNDING),
    size=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    scale=st.tuples(scales, scales),
)
def test_any_scale_gives_the_rows_and_places_of_onnx_runtime(opset, mode, place, rounding, size, scale):
    pytest.importorskip("onnxruntime")
    assume(all(rows_of(*pair, opset) for pair in zip(size, scale, strict=True)))
    attributes = {"mode": mode}
    if opset > 10:
        attributes |= {"coordinate_transformation_mode": place}
        attributes |= {"nearest_mode": rounding} if mode == "nearest" else {}
    names = ["x", "roi", "scales"] if opset > 10 else ["x", "scales"]
    node = helper.make_node("Upsample" if opset == 9 else "Resize", names, ["y"], "layer", **attributes)
    feed = {"x": np.random.default_rng(3).standard_normal((1, 2, *size)).astype(np.float32)}
    constants = {"scales": np.float32([1, 1, *scale])} | ({"roi": np.float32([])} if opset > 10 else {})
    check(model([node], feed, constants, opset=opset), feed)


@settings(max_examples=100)
@given(
    policy=st.sampled_from(["stretch", "not_larger", "not_smaller"]),
    size=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    out=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    turned=st.booleans(),
    mode=st.sampled_from(["nearest", "linear"]),
)
def test_sizes_of_some_axes_that_keep_proportions(policy, size, out, turned, mode):
    pytest.importorskip("onnxruntime")
    axes, wanted = ([3, 2], out[::-1]) if turned else ([2, 3], out)
    ratios = [new / old for new, old in zip(out, size, strict=True)]
    least = {"stretch": 1, "not_larger": min(ratios) * min(size), "not_smaller": max(ratios) * min(size)}[policy]
    assume(least >= 0.6)
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode, axes=axes, keep_aspect_ratio_policy=policy)
    feed = {"x": np.random.default_rng(3).standard_normal((1, 2, *size)).astype(np.float32)}
    check(model([node], feed, {"sizes": np.int64(wanted)}, opset=19), feed)


@pytest.mark.parametrize(("declared", "rows"), [(None, 23), (22, 22), (23, 23), (24, 23), ("open", 23)])
def test_a_declared_shape_decides_what_precision_would(declared, rows):
    """10 times 2.3 in single precision, which rounds it up to 23, or in double precision."""
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="nearest")
    network = model([node], {"x": np.zeros((1, 1, 10, 10), np.float32)}, {"scales": np.float32([1, 1, 2.3, 2.3])})
    if declared:
        network.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, [1, 1, declared, declared]))
    assert import_onnx(network).outputs[0].shape == (1, 1, rows, rows)
    assert import_onnx(network, {"x": (1, 1, 10, 10)}).outputs[0].shape == (1, 1, 23, 23)


def test_half_pixels_as_old_exporters_placed_them():
    node = helper.make_node("Resize", ["x", "roi", "s"], ["y"], coordinate_transformation_mode="tf_half_pixel_for_nn")
    feed = {"x": np.random.default_rng(3).standard_normal((1, 2, 5, 6)).astype(np.float32)}
    check(model([node], feed, {"roi": np.float32([]), "s": np.float32([1, 1, 1.7, 0.6])}, opset=11), feed)


@pytest.mark.parametrize("place", ["tf_crop_and_resize", "elsewhere"])
def test_places_that_are_not_known_are_refused(place):
    node = helper.make_node("Resize", ["x", "r", "s"], ["y"], coordinate_transformation_mode=place)
    constants = {"r": np.float32([0, 0, 0, 0, 1, 1, 1, 1]), "s": np.float32([1, 1, 2, 2])}
    with pytest.raises(ImportModelError, match=f"coordinate_transformation_mode {place}"):
        import_onnx(model([node], {"x": np.zeros((1, 1, 4, 4), np.float32)}, constants))
