"""Weights with 9 bits are two sums of products; only blocks with something in them take part in the second."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import CONFIGS, int8_clip, random_inputs
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.devices.device import RunOptions
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.runtime import Module
from vta.tile.gemm_term import kept_blocks


def network(shape, outputs, kernel, wide, seed, groups=1, **geometry):
    """A convolution with `wide` weights beyond int8."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(-128, 128, (outputs, shape[1] // groups, *kernel)).astype(np.int16)
    places = rng.choice(weight.size, min(wide, weight.size), replace=False)
    weight.reshape(-1)[places] = rng.choice([-250, -129, 128, 200], len(places))
    x = graph_input("x", shape, "int8")
    value = call("nn.conv2d", [x, constant(weight)], "conv", groups=groups, **geometry)
    value = call("right_shift", [value, constant(np.int32(9))], "conv")
    return Graph((x,), (int8_clip(value, "conv"),))


def check(graph, hw, seed=0):
    with Module(compile_graph(graph, hw), SimDevice(hw), RunOptions(seed=seed)) as module:
        checked = module.check(random_inputs(graph, seed))
    assert checked.bit_exact
    return checked.run


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.integers(0, 1),
    st.sampled_from([1, 4, 1000]),
    st.sampled_from(CONFIGS),
    st.integers(0, 1 << 16),
)
def test_convolutions_are_exact(blocks_in, blocks_out, kernel, strides, pad, wide, hw, seed):
    shape = (1, blocks_in * hw.block - 1, 7, 9)
    outputs = blocks_out * hw.block
    padding = (pad, 0, pad, pad)
    check(network(shape, outputs, kernel, wide, seed, strides=strides, padding=padding), hw, seed)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 3),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.sampled_from([1, 4, 1000]),
    st.sampled_from(CONFIGS),
    st.integers(0, 1 << 16),
)
def test_convolutions_of_single_channels_are_exact(blocks, kernel, wide, hw, seed):
    channels = blocks * hw.block
    check(network((1, channels, 6, 7), channels, kernel, wide, seed, groups=channels), hw, seed)


def test_a_single_wide_weight_takes_one_block():
    hw = HardwareConfig.named("sim")
    run = [check(network((1, 64, 8, 8), 64, (3, 3), wide, 0), hw).counters for wide in (0, 1)]
    assert run[1].gemm_uops - run[0].gemm_uops == 6 * 6, "one for each position"
    assert run[1].wgt_bytes - run[0].wgt_bytes == 256


def test_kept_blocks_are_those_with_something_in_them():
    weights = np.zeros((2, 1, 3, 1, 4, 4), np.int8)
    weights[1, 0, 2, 0, 3, 3] = -1
    weights[0, 0, 0, 0, 0, 1] = 1
    assert kept_blocks(weights).tolist() == [[0, 0, 0, 0], [1, 0, 2, 0]]
