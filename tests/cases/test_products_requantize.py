"""Convolutions on a config with the requantize unit: products requantize, and a result is stored inside its padding."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import open_engine
from tests.integer_graphs import BASELINE, random_inputs
from vta.compiler.compile import compile_graph
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.isa import AluOp, Opcode
from vta.isa.instruction import GEMM_REQUANTIZES, REQUANTIZE_KEEP
from vta.runtime.module import Module

RQ = replace(BASELINE, requantize_unit=1, table_unit=1, depthwise_unit=1)
SMALL = replace(RQ, log_block=3, log_acc_buff_size=13, log_inp_buff_size=12, log_wgt_buff_size=13)


def rescaled(value, name, table=False):
    """A value of int32, requantized with parameters of its own for each channel."""
    rng, channels = np.random.default_rng(1), value.shape[1]
    bias = rng.integers(-5000, 5000, channels).astype(np.int32)
    multiplier = rng.integers(1 << 30, (1 << 31) - 1, channels).astype(np.int32)
    shift = rng.integers(5, 9, channels).astype(np.int32)
    tables = [constant(rng.integers(-128, 128, 256).astype(np.int8))] if table else []
    parameters = (constant(bias), constant(multiplier), constant(shift), *tables)
    return call("cast", [call("rescale", [value, *parameters], name, zero_point=3)], name, dtype="int8")


def convolution(x, channels, kernel, name, groups=1, **attributes):
    """A convolution with random weights."""
    weights = np.random.default_rng(0).integers(-127, 128, (channels, x.shape[1] // groups, *kernel)).astype(np.int8)
    return call("nn.conv2d", [x, constant(weights)], name, groups=groups, **attributes)


def run(graph, hw, engine="sim"):
    """Run a graph and compare; returns the instructions of all regions."""
    compiled = compile_graph(graph, hw)
    inputs = random_inputs(graph)
    with Module(compiled, open_engine(engine, hw)) as module:
        np.testing.assert_array_equal(module.run(inputs).outputs[0], evaluate(graph, inputs)[0])
    return np.concatenate([region.program.instructions for region in compiled.regions])


def passes(instructions):
    """Rows that REQUANTIZE goes over, and products that requantize."""
    alu = (instructions["opcode"] == Opcode.ALU) & (instructions["alu_opcode"] == AluOp.REQUANTIZE)
    alu &= (instructions["imm"] & REQUANTIZE_KEEP) == 0
    products = np.isin(instructions["opcode"], (Opcode.GEMM, Opcode.DEPTHWISE)) & (instructions["imm"] == GEMM_REQUANTIZES)
    return int((instructions["iter_out"] * instructions["iter_in"])[alu].sum()), int(products.sum())


@given(
    st.sampled_from([RQ, SMALL]),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.integers(0, 2),
    st.sampled_from([(20, 40, 1), (40, 20, 1), (24, 24, 24)]),
    st.booleans(),
)
@settings(deadline=None, max_examples=8)
def test_results_are_those_of_the_graph(hw, kernel, strides, pad, shape, table):
    channels, outputs, groups = shape
    x = graph_input("x", (1, channels, 9, 11), "int8")
    attributes = {"strides": strides, "padding": (pad, pad, pad, pad), "groups": groups}
    value = convolution(x, outputs, kernel, "conv", **attributes)
    run(Graph((x,), (rescaled(value, "conv", table),)), hw)


@pytest.mark.parametrize("engine", ["sim", "cycle"])
def test_many_places_take_no_pass(engine):
    x = graph_input("x", (1, 24, 9, 11), "int8")
    value = convolution(x, 24, (3, 3), "conv", strides=(2, 1), padding=(1, 1, 1, 1), groups=24)
    rows, products = passes(run(Graph((x,), (rescaled(value, "conv", table=True),)), RQ, engine))
    assert (rows, products > 0) == (0, True)


@pytest.mark.parametrize("engine", ["sim", "cycle"])
def test_few_places_take_a_pass(engine):
    x = graph_input("x", (1, 32, 2, 2), "int8")
    assert passes(run(Graph((x,), (rescaled(convolution(x, 32, (1, 1), "conv"), "conv"),)), RQ, engine)) == (8, 0)


def test_a_result_is_stored_inside_its_padding():
    x = graph_input("x", (1, 16, 8, 8), "int8")
    first = rescaled(convolution(x, 16, (1, 1), "first"), "first")
    padded = call("nn.pad", [first], "padded", pad_width=((0, 0), (0, 0), (1, 1), (1, 1)), pad_value=-7.0)
    second = rescaled(convolution(padded, 16, (3, 3), "second"), "second")
    third = rescaled(convolution(first, 16, (1, 1), "third", strides=(2, 2)), "third")
    fourth = rescaled(convolution(second, 16, (2, 2), "fourth", strides=(2, 2)), "fourth")
    total = call("add", [call("cast", [third], "sum", dtype="int32"), call("cast", [fourth], "sum", dtype="int32")], "sum")
    graph = Graph((x,), (rescaled(total, "sum"),))
    compiled = compile_graph(graph, RQ)
    assert [record.name for region in compiled.regions for record in region.operators].count("padded") == 0
    run(graph, RQ)
