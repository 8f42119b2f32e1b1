"""Depthwise convolutions on a config that has DEPTHWISE: the same results, in a third of the products."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import open_engine
from tests.integer_graphs import BASELINE, int8_clip, random_inputs
from vta.compiler.compile import compile_graph
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.isa import Opcode
from vta.runtime.module import Module

DW = replace(BASELINE, depthwise_unit=1)
CONFIGS = [
    DW,
    replace(DW, log_block=3, log_acc_buff_size=16, log_inp_buff_size=14, log_wgt_buff_size=16),
    replace(DW, log_batch=1),
]


def depthwise(kernel=(3, 3), channels=20, size=(9, 11), dtype=np.int8, **attributes):
    """A depthwise convolution, shifted back to int8; with weights of int16, some have 9 bits."""
    rng = np.random.default_rng(0)
    low, high = (-127, 128) if dtype == np.int8 else (-255, 256)
    weights = rng.integers(low, high, (channels, 1, *kernel)).astype(dtype)
    x = graph_input("x", (1, channels, *size), "int8")
    value = call("nn.conv2d", [x, constant(weights)], "conv", groups=channels, **attributes)
    shifted = call("right_shift", [value, constant(np.int32(8))], "conv")
    return Graph((x,), (int8_clip(shifted, "conv"),))


def run(graph, hw, engine="sim"):
    """Run a graph and compare; returns how many products of each kind there were."""
    compiled = compile_graph(graph, hw)
    inputs = random_inputs(graph)
    with Module(compiled, open_engine(engine, hw)) as module:
        np.testing.assert_array_equal(module.run(inputs).outputs[0], evaluate(graph, inputs)[0])
    opcodes = np.concatenate([region.program.instructions["opcode"] for region in compiled.regions])
    return int((opcodes == Opcode.DEPTHWISE).sum()), sum(region.program.instructions.size for region in compiled.regions)


@given(
    st.sampled_from(CONFIGS),
    st.integers(1, 3),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    st.integers(1, 2),
    st.sampled_from([np.int8, np.int16]),
)
@settings(deadline=None, max_examples=25)
def test_results_are_those_of_the_graph(hw, rows, strides, padding, dilation, dtype):
    graph = depthwise((rows, 3), dtype=dtype, strides=strides, padding=padding, dilation=(dilation, 1))
    assert run(graph, hw)[0] > 0


@pytest.mark.parametrize(
    ("kernel", "attributes"), [((3, 5), {}), ((3, 1), {}), ((3, 3), {"dilation": (1, 2)})], ids=["five", "one", "dilated"]
)
def test_other_kernels_are_products_as_before(kernel, attributes):
    assert run(depthwise(kernel, **attributes), DW)[0] == 0


def test_it_takes_a_third_of_the_products():
    graph = depthwise(channels=32, size=(24, 24), padding=(1, 1, 1, 1))
    products = {}
    for hw in (BASELINE, DW):
        with Module(compile_graph(graph, hw), open_engine("sim", hw)) as module:
            products[hw] = module.run(random_inputs(graph)).counters.gemm_uops
    assert 3 * products[DW] == products[BASELINE]
