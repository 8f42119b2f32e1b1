from __future__ import annotations

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import call, graph_input


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((2, 5, 3, 4)).astype(np.float32)


def test_bias_add(run, x):
    bias = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(run("nn.bias_add", x, bias), x + bias[:, None, None])
    np.testing.assert_array_equal(run("nn.bias_add", x, bias[:4], axis=-1), x + bias[:4])


def test_integer_bias_wraps(run):
    y = run("nn.bias_add", np.full((1, 1), 2**31 - 1, np.int32), np.ones(1, np.int32))
    assert y.item() == -(2**31)


def test_batch_norm_against_onnxruntime(run, onnx_run, x):
    rng = np.random.default_rng(1)
    gamma, beta, mean = (rng.standard_normal(5).astype(np.float32) for _ in range(3))
    var = rng.uniform(0.1, 2, 5).astype(np.float32)
    expected = onnx_run("BatchNormalization", x, gamma, beta, mean, var, epsilon=1e-3)
    np.testing.assert_allclose(run("nn.batch_norm", x, gamma, beta, mean, var, epsilon=1e-3), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("op", "onnx_op"), [("nn.softmax", "Softmax"), ("nn.log_softmax", "LogSoftmax")])
@pytest.mark.parametrize("axis", [1, -1])
def test_softmax_against_onnxruntime(run, onnx_run, x, op, onnx_op, axis):
    np.testing.assert_allclose(run(op, 50 * x, axis=axis), onnx_run(onnx_op, 50 * x, axis=axis), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn_against_onnxruntime(run, onnx_run, x, size):
    attributes = {"size": size, "alpha": 0.3, "beta": 0.6, "bias": 2.0}
    np.testing.assert_allclose(run("nn.lrn", x, **attributes), onnx_run("LRN", x, **attributes), rtol=1e-5)


@pytest.mark.parametrize(
    ("op", "shapes", "attributes", "message"),
    [
        ("nn.bias_add", [(1, 4, 2, 2), (3,)], {}, "bias must have shape (4,) for axis 1, got (3,)"),
        ("nn.bias_add", [(4,), (4,)], {}, "axis must be in -1..0 for 1 dimensions, got 1"),
        ("nn.batch_norm", [(1, 4), (4,), (4,), (4,), (3,)], {}, "var must have shape (4,)"),
        ("nn.batch_norm", [(1, 4), (4,), (4,), (4,), (4,)], {"epsilon": -1}, "epsilon must not be negative, got -1.0"),
        ("nn.batch_norm", [(1, 4)], {}, "takes 5 inputs, got 1"),
        ("nn.softmax", [(1, 4)], {"axis": 2}, "axis must be in -2..1 for 2 dimensions, got 2"),
        ("nn.lrn", [(1, 4, 2, 2)], {"size": 0}, "size must be an integer of at least 1, got 0"),
    ],
)
def test_errors(op, shapes, attributes, message):
    with pytest.raises(GraphError) as error:
        call(op, [graph_input(f"x{i}", s) for i, s in enumerate(shapes)], **attributes)
    assert message in str(error.value)
