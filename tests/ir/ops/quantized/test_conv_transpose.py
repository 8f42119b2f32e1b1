"""The quantised transposed convolution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ir.ops.quantized.test_qnn import run
from vta.errors import GraphError
from vta.ir.graph import call, graph_input
from vta.ir.ops.nn.conv import Conv2DAttributes, Conv2DTransposeAttributes
from vta.ir.ops.quantized.conv_transpose import QnnConv2DTransposeAttributes
from vta.ir.ops.quantized.qnn import QnnConv2DAttributes


@given(st.integers(-128, 127), st.integers(1, 3), st.integers(0, 2), st.integers(0, 99))
def test_it_takes_the_zero_point_off_each_value_that_is_there(zero_point, stride, cut, seed):
    rng = np.random.default_rng(seed)
    data, weight = rng.integers(-128, 128, (2, 4, 3, 2), np.int8), rng.integers(-128, 128, (4, 3, 3, 4), np.int8)
    geometry = {"strides": (stride, 2), "padding": (cut, 1, 0, 2), "output_padding": (stride - 1, 1), "groups": 2}
    found = run("qnn.conv2d_transpose", data, weight, input_scale=1.0, kernel_scale=1.0, input_zero_point=zero_point, **geometry)
    shifted = data.astype(np.float32) - np.float32(zero_point)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, run("nn.conv2d_transpose", shifted, weight.astype(np.float32), **geometry))


def test_a_scale_for_each_output_channel_of_all_groups():
    inputs = [graph_input("x", (1, 4, 3, 3), "int8"), graph_input("w", (4, 3, 2, 2), "int8")]
    scales = {"input_scale": 1.0, "groups": 2}
    assert call("qnn.conv2d_transpose", inputs, kernel_scale=(0.5,) * 6, **scales).shape == (1, 6, 4, 4)
    with pytest.raises(GraphError, match="kernel_scale has 3 values for 6 channels"):
        call("qnn.conv2d_transpose", inputs, kernel_scale=(0.5,) * 3, **scales)


def test_data_is_int8():
    inputs = [graph_input("x", (1, 4, 3, 3)), graph_input("w", (4, 3, 2, 2), "int8")]
    with pytest.raises(GraphError, match="data must be int8, got float32"):
        call("qnn.conv2d_transpose", inputs, input_scale=1.0, kernel_scale=1.0)


@pytest.mark.parametrize(
    ("base", "quantised"),
    [(Conv2DAttributes, QnnConv2DAttributes), (Conv2DTransposeAttributes, QnnConv2DTransposeAttributes)],
)
def test_quantised_convolutions_have_all_that_float_ones_have(base, quantised):
    assert vars(base()).items() <= vars(quantised(input_scale=1.0, kernel_scale=1.0)).items()
