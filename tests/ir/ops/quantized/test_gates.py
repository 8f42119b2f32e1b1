"""Gates of 16 bits against real arithmetic; tests/frontend compares them with LiteRT bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate


def value_of(op, values, *constants, **attributes):
    x = graph_input("x", values.shape, "int16")
    return evaluate(Graph((x,), (call(op, [x, *map(constant, constants)], **attributes),)), {"x": values})[0]


@pytest.mark.parametrize(("op", "real"), [("qnn.sigmoid16", lambda x: 1 / (1 + np.exp(-x))), ("qnn.tanh16", np.tanh)])
def test_functions_of_all_values(op, real):
    values = np.arange(-(2**15), 2**15).astype(np.int16)
    found = value_of(op, values.reshape(256, 256), integer_bits=3)
    assert found.dtype == np.int16
    assert np.abs(found.reshape(-1) / 2.0**15 - real(values / 2.0**12)).max() < 4e-4


@given(st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_rows_are_normalised(seed, log_count):
    """The mean of a row has as many bits as a number of values that is a power of two leaves it."""
    rng, count = np.random.default_rng(seed), 2**log_count
    values = rng.normal(rng.uniform(-2000, 2000), rng.uniform(50, 5000), (3, count))
    values = np.clip(values, -(2**15), 2**15 - 1).astype(np.int16)
    weight, bias, scale = rng.integers(-(2**15), 2**15, count).astype(np.int16), rng.integers(-(2**20), 2**20, count), 2e-5
    found = value_of("qnn.normalize16", values, weight, bias.astype(np.int32), scale=scale)
    deviation = values.std(axis=1, keepdims=True)
    normal = (values - values.mean(axis=1, keepdims=True)) / np.maximum(deviation, 1)
    want = np.clip((normal * weight + bias / 2.0**10) * scale, -8, 8)
    assert np.abs(found / 2.0**12 - want)[deviation[:, 0] > 10].max(initial=0) < 0.02


def test_what_is_refused():
    x = graph_input("x", (2, 4), "int16")
    weight, bias = constant(np.ones(4, np.int16)), constant(np.ones(4, np.int32))
    with pytest.raises(GraphError, match="integer_bits must be an integer of at least 0 and at most 6"):
        call("qnn.tanh16", [x], integer_bits=7)
    with pytest.raises(GraphError, match="must be int16"):
        call("qnn.sigmoid16", [graph_input("x", (2, 4), "int8")])
    with pytest.raises(GraphError, match="scale must be a finite number above 0"):
        call("qnn.normalize16", [x, weight, bias], scale=0.0)
    with pytest.raises(GraphError, match=r"the weight has shape \(3,\) for rows of 4 values"):
        call("qnn.normalize16", [x, constant(np.ones(3, np.int16)), bias], scale=1.0)
    with pytest.raises(GraphError, match=r"data has shape \(4,\); expected \(samples, values\)"):
        call("qnn.normalize16", [graph_input("x", (4,), "int16"), weight, bias], scale=1.0)
