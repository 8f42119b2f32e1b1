"""What the products of an operator are spent on."""

import pytest

from tests.integer_graphs import BASELINE
from vta.compiler.compile import graph_regions
from vta.explanation.bounds import split_products
from vta.explanation.causes import Cause
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input

PEAK = BASELINE.batch * BASELINE.block**2


def operator_of(channels, outputs, groups=1, size=4, kernel=3):
    import numpy as np

    image = graph_input("x", (1, channels, size, size), "int8")
    weights = constant(np.ones((outputs, channels // groups, kernel, kernel), np.int8))
    pad = kernel // 2
    sums = call(ops.CONV2D, [image, weights], "conv", strides=(1, 1), padding=(pad,) * 4, dilation=(1, 1), groups=groups)
    clipped = call(ops.CLIP, [sums], "conv", a_min=-128.0, a_max=127.0)
    (region,) = graph_regions(Graph((image,), (call(ops.CAST, [clipped], "conv", dtype="int8"),), "net"), BASELINE)
    (operator,) = region.operators
    return operator


def test_channels_that_do_not_fill_blocks():
    operator = operator_of(8, 24, kernel=1)
    split = split_products(32, operator.macs, operator, PEAK)
    assert (split.bound, split.lost[Cause.CHANNEL_PADDING]) == (12, 20), "8 * 24 of 16 * 32 values are there"


def test_zeros_around_an_image():
    operator = operator_of(16, 16)
    split = split_products(9 * 16, operator.macs, operator, PEAK)
    assert (split.bound, split.lost[Cause.ZERO_PADDING]) == (100, 44), "10 of 12 rows and columns are inside, kernel by kernel"


def test_depthwise_convolutions_fill_a_sixteenth_of_a_block():
    operator = operator_of(16, 16, groups=16, kernel=1)
    split = split_products(16, operator.macs, operator, PEAK)
    assert (split.bound, split.lost[Cause.DEPTHWISE]) == (1, 15)


@pytest.mark.parametrize(("products", "macs", "bound"), [(10, 0, 0), (10, 256, 1), (10, 1 << 20, 10)])
def test_an_operator_that_is_not_known(products, macs, bound):
    split = split_products(products, macs, None, PEAK)
    assert (split.bound, sum(split.lost.values())) == (bound, products - bound)
