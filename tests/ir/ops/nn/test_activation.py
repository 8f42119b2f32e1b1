from __future__ import annotations

import math

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import call, graph_input


@pytest.fixture
def x() -> np.ndarray:
    return (4 * np.random.default_rng(0).standard_normal((2, 3, 4, 4))).astype(np.float32)


@pytest.mark.parametrize(
    ("op", "onnx_op", "attributes"),
    [
        ("nn.relu", "Relu", {}),
        ("nn.leaky_relu", "LeakyRelu", {"alpha": 0.1}),
        ("nn.elu", "Elu", {"alpha": 0.7}),
        ("nn.hard_sigmoid", "HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
        ("nn.hard_swish", "HardSwish", {}),
        ("sigmoid", "Sigmoid", {}),
        ("tanh", "Tanh", {}),
        ("erf", "Erf", {}),
    ],
)
def test_against_onnxruntime(run, onnx_run, x, op, onnx_op, attributes):
    y = run(op, x, **attributes)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, onnx_run(onnx_op, x, **attributes), rtol=1e-5, atol=1e-6)


def test_prelu(run, onnx_run, x):
    slope = np.float32([0.1, 0.5, -1])
    np.testing.assert_array_equal(run("nn.prelu", x, slope), onnx_run("PRelu", x, slope.reshape(3, 1, 1)))


def test_sigmoid_and_elu_of_large_values_do_not_overflow(run):
    x = np.float32([-1e4, 1e4])
    np.testing.assert_array_equal(run("sigmoid", x), [0, 1])
    np.testing.assert_array_equal(run("nn.elu", x), [-1, 1e4])


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_integers_keep_their_type(run, dtype):
    x = np.array([-100, -3, 0, 5, 100], dtype)
    for y, expected in [
        (run("nn.relu", x), [0, 0, 0, 5, 100]),
        (run("clip", x, a_min=-3.5, a_max=6.9), [-3, -3, 0, 5, 6]),
        (run("clip", x, a_min=-1e20, a_max=math.inf), [-100, -3, 0, 5, 100]),
    ]:
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, expected)


def test_clip_of_floats(run):
    np.testing.assert_array_equal(run("clip", np.float32([-1, 0.5, 9]), a_min=0, a_max=6), np.float32([0, 0.5, 6]))
    assert np.isnan(run("clip", np.float32([np.nan]), a_min=0, a_max=6)).all()


@pytest.mark.parametrize(
    ("op", "types", "attributes", "message"),
    [
        ("clip", ["int8"], {"a_min": 3, "a_max": 2}, "a_min must not exceed a_max, got 3 and 2"),
        ("clip", ["int8"], {"a_min": math.nan, "a_max": 2}, "a_min must be a number, got nan"),
        ("clip", ["int8"], {"a_min": 200, "a_max": 300}, "no int8 lies in 200..300"),
        ("clip", ["int8"], {"a_min": 0.2, "a_max": 0.8}, "no int8 lies in 0.2..0.8"),
        ("clip", ["bool"], {"a_min": 0, "a_max": 1}, "the input must be a number, got bool"),
        ("tanh", ["int8"], {}, "the input must be float32 or float64, got int8"),
        ("nn.leaky_relu", ["float32"], {"alpha": math.inf}, "alpha must be a finite number, got inf"),
        ("nn.prelu", ["float32", "float32"], {}, "slope must have shape (4,), got (2, 4)"),
    ],
)
def test_errors(op, types, attributes, message):
    with pytest.raises(GraphError) as error:
        call(op, [graph_input(f"x{i}", (2, 4), t) for i, t in enumerate(types)], **attributes)
    assert message in str(error.value)
