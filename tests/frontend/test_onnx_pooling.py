"""Pooling against ONNX Runtime."""

from __future__ import annotations

import pytest
from onnx import helper

from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx


def node(op, **attributes):
    return helper.make_node(op, ["x"], ["y"], name="layer", **attributes)


GEOMETRIES = [
    {},
    {"strides": [2, 2]},
    {"strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"strides": [2, 1], "pads": [0, 1, 2, 0]},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
    {"auto_pad": "VALID", "strides": [3, 3]},
]


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("size", [(7, 8), (10, 9)])
def test_max_pool(same, geometry, size):
    same(node("MaxPool", kernel_shape=[3, 3], **geometry), {"x": (2, 3, *size)})


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("include", [0, 1])
def test_average_pool(same, geometry, include):
    same(node("AveragePool", kernel_shape=[3, 3], count_include_pad=include, **geometry), {"x": (2, 3, 7, 8)})


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1]])
@pytest.mark.parametrize("size", [(6, 8), (7, 9)])
def test_ceil_mode(same, op, pads, size):
    same(node(op, kernel_shape=[3, 3], strides=[2, 2], pads=pads, ceil_mode=1), {"x": (1, 2, *size)}, opset=19)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_pool(same, op):
    same(node(op), {"x": (2, 3, 4, 5)})


def test_dilated_pooling_is_refused(make):
    model = make(node("MaxPool", kernel_shape=[2, 2], dilations=[2, 2]), {"x": (1, 1, 8, 8)})
    with pytest.raises(ImportModelError, match=r"MaxPool: dilations \(2, 2\)"):
        import_onnx(model)


def test_the_indices_of_max_pool_are_refused(make):
    pool = helper.make_node("MaxPool", ["x"], ["y", "where"], name="pool", kernel_shape=[2, 2])
    use = helper.make_node("Cast", ["where"], ["z"], to=1)
    with pytest.raises(ImportModelError, match="MaxPool: output 1 is used"):
        import_onnx(make([pool, use], {"x": (1, 1, 8, 8)}, outputs=("y", "z")))
