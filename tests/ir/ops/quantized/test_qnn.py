from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def run(op: str, *arrays: np.ndarray, **attributes) -> np.ndarray:
    inputs = [graph_input(f"x{i}", a.shape, a.dtype.name) for i, a in enumerate(arrays)]
    graph = Graph(tuple(inputs), (call(op, inputs, **attributes),))
    return evaluate(graph, {node.name: array for node, array in zip(inputs, arrays, strict=True)}, numbers=False)[0]


def integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-128, 128, shape, dtype=np.int8)


def test_quantize_rounds_halves_up_and_saturates():
    data = np.array([-1e9, -1.5, -0.5, 0.5, 0.74, 1e9, np.nan], np.float32)
    assert run("qnn.quantize", data, scale=1.0).tolist() == [-128, -1, 0, 1, 1, 127, 0]
    assert run("qnn.quantize", data, scale=0.5, zero_point=3).tolist() == [-128, 0, 2, 4, 4, 127, 3]
    assert run("qnn.quantize", data, scale=1.0, zero_point=128, out_dtype="uint8").tolist() == [0, 127, 128, 129, 129, 255, 128]


def test_dequantize_takes_a_scale_for_each_channel():
    data = np.array([[1, 2], [-3, 4]], np.int32)
    assert run("qnn.dequantize", data, scale=(0.5, 2.0), zero_point=1).tolist() == [[0.0, 2.0], [-2.0, 6.0]]


def test_conv2d_subtracts_the_zero_point_and_pads_with_it(rng: np.random.Generator):
    data, weight = integers(rng, 1, 3, 5, 6), integers(rng, 4, 3, 3, 3)
    found = run("qnn.conv2d", data, weight, input_scale=1.0, kernel_scale=1.0, input_zero_point=7, padding=(1, 0, 2, 1))
    shifted = (data.astype(np.float32) - 7).astype(np.float32)
    expected = run("nn.conv2d", shifted, weight.astype(np.float32), padding=(1, 0, 2, 1))
    assert (found == expected).all()
    assert found.dtype == np.int32


def test_dense_subtracts_the_zero_point(rng: np.random.Generator):
    data, weight = integers(rng, 2, 9), integers(rng, 4, 9)
    found = run("qnn.dense", data, weight, input_scale=1.0, kernel_scale=1.0, input_zero_point=-5)
    assert (found == (data.astype(np.int64) + 5) @ weight.T.astype(np.int64)).all()


@given(st.integers(0, 12), st.integers(-100, 100), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_requantize_by_a_power_of_two_is_a_rounding_shift(shift: int, zero_point: int, seed: int):
    data = np.random.default_rng(seed).integers(-(2**20), 2**20, (1, 2, 3), dtype=np.int32)
    scales = {"input_scale": 0.3 * 2.0**-shift, "output_scale": 0.3, "output_zero_point": zero_point}
    expected = np.clip(((data + (1 << shift >> 1)) >> shift) + zero_point, -128, 127)
    assert (run("qnn.requantize", data, bound=2**20, **scales) == expected).all()
    assert (run("qnn.requantize", data, **scales) == expected).all()


def test_add_of_an_accumulator_brings_the_tensor_to_its_scale():
    lhs = np.array([[[[100]], [[100]]]], np.int32)
    rhs = np.array([[[[3]], [[3]]]], np.int8)
    found = run("qnn.add", lhs, rhs, lhs_scale=(0.01, 0.02), rhs_scale=0.16, output_scale=0.16, rhs_zero_point=1, bound=10000)
    assert found.reshape(-1).tolist() == [8, 15]


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0.01, 1), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=50)
def test_add_is_within_one_of_the_real_sum(lhs_scale: float, rhs_scale: float, output_scale: float, seed: int):
    rng = np.random.default_rng(seed)
    lhs, rhs = integers(rng, 40), integers(rng, 40)
    found = run("qnn.add", lhs, rhs, lhs_scale=lhs_scale, rhs_scale=rhs_scale, output_scale=output_scale, rhs_zero_point=9)
    real = (lhs * lhs_scale + (rhs.astype(int) - 9) * rhs_scale) / output_scale
    assert (abs(found - np.clip(real, -128, 127)) <= 1).all()


@pytest.mark.parametrize("count_include_pad", [False, True])
def test_avg_pool2d_is_within_one_of_the_real_mean(rng: np.random.Generator, count_include_pad: bool):
    data = integers(rng, 1, 2, 7, 7)
    window = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1), "count_include_pad": count_include_pad}
    for zero_point in (0, 5):
        found = run("qnn.avg_pool2d", data, input_scale=0.1, output_scale=0.07, input_zero_point=zero_point, **window)
        real = run("nn.avg_pool2d", (data.astype(np.float32) - zero_point) * np.float32(0.1), **window) / 0.07
        assert (abs(found - np.clip(real, -128, 127)) <= 0.51).all()


def test_global_avg_pool2d_divides_exactly(rng: np.random.Generator):
    data = integers(rng, 2, 3, 7, 5)
    found = run("qnn.global_avg_pool2d", data, input_scale=0.5, output_scale=0.5, input_zero_point=-4, output_zero_point=-4)
    mean = data.astype(np.int64).mean(axis=(2, 3), keepdims=True)
    assert (abs(found - mean) <= 0.501).all()


def conv(**attributes) -> Node:
    data = graph_input("x", (1, 2, 4, 4), "int8")
    return call("qnn.conv2d", [data, constant(np.ones((3, 2, 1, 1), np.int8))], "layer", **attributes)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"input_scale": 0.0, "kernel_scale": 1.0}, "layer: .*input_scale = 0.0; scales are positive and finite"),
        ({"input_scale": 1.0, "kernel_scale": (1.0, 1.0)}, "kernel_scale has 2 values for 3 channels"),
        ({"input_scale": float("nan"), "kernel_scale": 1.0}, "positive and finite"),
    ],
)
def test_wrong_scales_are_refused(attributes: dict, message: str):
    with pytest.raises(GraphError, match=message):
        conv(**attributes)


def test_wrong_types_are_refused():
    data = graph_input("x", (1, 2), "float32")
    with pytest.raises(GraphError, match="data is float32; allowed: int8, uint8, int32"):
        call("qnn.requantize", [data], "layer", input_scale=1.0, output_scale=1.0)
