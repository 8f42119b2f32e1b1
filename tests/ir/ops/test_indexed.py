"""Values picked, put and ordered by positions."""

from __future__ import annotations

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import call, graph_input

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_gathers(run):
    np.testing.assert_array_equal(run("gather_elements", X, np.int64([[1, -1], [0, 2]]), axis=1), [[1, 3], [4, 6]])
    np.testing.assert_array_equal(run("gather_nd", X, np.int32([[2, -1], [0, 0]])), [11, 0])
    np.testing.assert_array_equal(run("gather_nd", X, np.int32([[1]])), X[1:2])
    np.testing.assert_array_equal(run("gather_nd", X, np.int32([[3], [0], [1]]), batch_dims=1), [3, 4, 9])


def test_the_last_of_several_counts(run):
    places, values = np.int64([[0], [2], [0]]), np.float32([5, 6, 7])
    np.testing.assert_array_equal(run("scatter_nd", np.zeros(4, np.float32), places, values), [7, 0, 6, 0])
    total = run("scatter_nd", np.ones(4, np.float32), places, values, reduction="add")
    np.testing.assert_array_equal(total, [13, 1, 7, 1])
    put = run("scatter_elements", X, np.int64([[3, 3]]), np.float32([[-1, -2]]), axis=1)
    np.testing.assert_array_equal(put[0], [0, 1, 2, -2])


def test_order(run):
    x = np.float32([3, np.nan, 3, -1, np.inf])
    assert run("top_k", x, k=5).tolist() == [4, 0, 2, 3, 1]
    assert run("top_k", x, k=2, largest=False).tolist() == [3, 0]
    least = np.iinfo(np.int8).min
    assert run("top_k", np.int8([least, 127, 0]), k=3).tolist() == [1, 2, 0]
    assert run("top_k", np.uint8([0, 255, 7]), k=2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("op", "shapes", "attributes", "said"),
    [
        ("gather_elements", [(2, 3), (3, 3)], {"axis": 1}, r"indices of shape \(3, 3\) are more than data of shape \(2, 3\)"),
        ("gather_nd", [(2, 3), (1, 3)], {}, r"indices of 3 coordinates are too many for shape \(2, 3\)"),
        ("gather_nd", [(2, 3), (3, 1)], {"batch_dims": 1}, "differ in the first 1 dimensions"),
        ("scatter_nd", [(2, 3), (4, 1), (4, 2)], {}, r"updates must have shape \(4, 3\), got \(4, 2\)"),
        ("scatter_nd", [(2,), (4, 1), (4,)], {"reduction": "mean"}, "reduction must be one of none, add, mul, max, min"),
        ("scatter_elements", [(2, 3), (2, 2), (2, 1)], {}, r"updates of shape \(2, 1\) must have the shape of indices"),
        ("top_k", [(2, 3)], {"k": 4}, "k is 4, axis -1 has 3 values"),
    ],
)
def test_errors(op, shapes, attributes, said):
    names = "xiu"
    inputs = [graph_input(names[at], shape, "int64" if at == 1 else "float32") for at, shape in enumerate(shapes)]
    with pytest.raises(GraphError, match=said):
        call(op, inputs, **attributes)


def test_positions_outside(run):
    with pytest.raises(GraphError, match=r"gather_elements: positions must be in -4\.\.3, got 4"):
        run("gather_elements", X, np.int64([[4]]), axis=1)
    with pytest.raises(GraphError, match=r"scatter_nd: positions must be in -3\.\.2, got -4"):
        run("scatter_nd", X, np.int64([[-4]]), np.zeros((1, 4), np.float32))
