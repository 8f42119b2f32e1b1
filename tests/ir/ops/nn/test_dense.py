from __future__ import annotations

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import call, graph_input


def test_dense_int8_is_exact(run):
    rng = np.random.default_rng(0)
    x, w = rng.integers(-128, 128, (3, 4000)).astype(np.int8), rng.integers(-128, 128, (5, 4000)).astype(np.int8)
    y = run("nn.dense", x, w)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, x.astype(np.int64) @ w.astype(np.int64).T)


def test_dense_float(run):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 40)).astype(np.float32), rng.standard_normal((5, 40)).astype(np.float32)
    np.testing.assert_allclose(run("nn.dense", x, w), x.astype(np.float64) @ w.T, rtol=1e-5, atol=1e-5)


def test_dense_wraps(run):
    ones = np.full((1, 140_000), -128, np.int8)
    assert run("nn.dense", ones, ones).item() == 128 * 128 * 140_000 - 2**32


def test_empty_batch(run):
    assert run("nn.dense", np.zeros((0, 4), np.int8), np.ones((2, 4), np.int8)).shape == (0, 2)


def test_matmul_broadcasts(run):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 1, 3, 4)).astype(np.float32), rng.standard_normal((5, 4, 6)).astype(np.float32)
    np.testing.assert_allclose(run("nn.matmul", a, b), np.einsum("bxij,xjk->bxik", a.repeat(5, 1), b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("op", "left", "right", "message"),
    [
        ("nn.dense", (2, 3), (4, 5), "data has 3 features, but weight (4, 5) needs 5"),
        ("nn.dense", (2, 3, 1), (4, 5), "data must have 2 dimensions, got shape (2, 3, 1)"),
        ("nn.matmul", (2, 3), (4, 5), "the last dimension of (2, 3) must equal the last but one of (4, 5)"),
        ("nn.matmul", (2, 2, 3), (3, 3, 5), "leading dimensions of (2, 2, 3) and (3, 3, 5) do not broadcast"),
        ("nn.matmul", (3,), (3, 5), "inputs need 2 dimensions"),
    ],
)
def test_shapes_that_do_not_go_together(op, left, right, message):
    with pytest.raises(GraphError) as error:
        call(op, [graph_input("a", left), graph_input("b", right)])
    assert message in str(error.value)
