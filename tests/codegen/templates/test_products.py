"""Every schedule of an operator, good or bad, gives the same result and stays inside the buffers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import (
    BASELINE,
    CONFIGS,
    conv,
    int8_clip,
    per_channel,
    random_inputs,
    widened,
)
from tests.schedule._schedules import schedules
from vta.compiler.compile import compile_graph
from vta.config.targets import MemoryType
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa.instruction import AluOp, Opcode
from vta.runtime.module import Module
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import broken_limits
from vta.schedule.source import PerOperator


def residual_block(rng, kernel=(3, 3), strides=(2, 1), groups=1, factor=300):
    """Convolution, bias, shift by channel, a residual of two digits, a maximum with a tensor."""
    x = graph_input("x", (1, 36, 9, 8), "int8")
    weights = rng.integers(-128, 128, (36, 36 // groups, *kernel))
    value = conv(x, weights, strides=strides, padding=(1, 1, 1, 1), groups=groups)
    value = call("nn.bias_add", [value, constant(rng.integers(-99999, 99999, 36).astype(np.int32))], "bias")
    r, m = (graph_input(name, value.shape, "int8") for name in "rm")
    value = call("add", [value, call("multiply", [widened(r), per_channel(rng.integers(-factor, factor, 36))], "scale")], "add")
    value = call("right_shift", [value, per_channel(rng.integers(0, 14, 36))], "shift")
    value = call("maximum", [value, widened(m)], "max")
    return Graph((x, r, m), (int8_clip(value, "q"),))


def check(graph, hw, chooser=choose_schedule):
    compiled = compile_graph(graph, hw, schedules=PerOperator(chooser))
    assert compiled.regions
    with Module(compiled, SimDevice(hw, 1 << 24)) as module:
        report = module.check(random_inputs(graph))
        assert report.bit_exact, str(report.mismatch)
    return compiled


@settings(deadline=None, max_examples=40)
@given(
    schedules(),
    st.sampled_from((BASELINE, replace(BASELINE, target="pynq"), replace(BASELINE, log_batch=1))),
    st.sampled_from((1, 36)),
)
def test_any_schedule_that_fits_computes_the_same(schedule, hw, groups):
    graph = residual_block(np.random.default_rng(1), groups=groups)

    def chooser(operator, hw):
        return schedule if not broken_limits(operator, schedule, hw) else choose_schedule(operator, hw)

    check(graph, hw, chooser)


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(CONFIGS), st.integers(0, 100))
def test_programs_stay_inside_the_buffers(hw, seed):
    rng = np.random.default_rng(seed)
    kernel = tuple(int(size) for size in rng.integers(1, 4, 2))
    for region in compile_graph(residual_block(rng, kernel), hw).regions:
        rows = region.program.instructions
        loads = rows[(rows["opcode"] == Opcode.LOAD) & (rows["x_size"] != 0)]
        wide = loads["x_size"] + loads["x_pad_0"] + loads["x_pad_1"]
        ends = loads["sram_base"] + wide * (loads["y_size"] + loads["y_pad_0"] + loads["y_pad_1"])
        for memory in (MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.UOP):
            limit = hw.uop_depth if memory is MemoryType.UOP else hw.depth(memory)
            assert ends[loads["memory_type"] == memory].max(initial=0) <= limit
        stores = rows[rows["opcode"] == Opcode.STORE]
        assert (stores["sram_base"] + stores["x_size"] * stores["y_size"]).max() <= hw.depth(MemoryType.OUT)


@pytest.mark.parametrize("target", ["sim", "pynq", "tsim", "intelfocl"])
def test_outputs_that_meet_nothing_but_padding_are_zero(target):
    """A tile that lies in the padding has no product; its rows must be defined all the same."""
    x = graph_input("x", (1, 3, 2, 2), "int8")
    value = conv(x, np.full((3, 3, 1, 1), 3), padding=(9, 9, 9, 9))
    narrow = call("cast", [conv(x, np.full((3, 3, 1, 1), 3), padding=(9, 9, 9, 9))], "narrow", dtype="int8")

    def chooser(operator, hw):
        return replace(choose_schedule(operator, hw), tile_h=2, tile_w=2, tile_co=1)

    check(Graph((x,), (value, narrow)), replace(BASELINE, target=target), chooser)


@pytest.mark.parametrize("clipped", [True, False])
def test_a_factor_of_zero_gives_zero(clipped):
    x = graph_input("x", (2, 5, 3, 3), "int8")
    value = call("multiply", [widened(x), constant(np.int32(0))], "nothing")
    check(Graph((x,), (int8_clip(value, "q") if clipped else call("cast", [value], "q", dtype="int8"),)), BASELINE)


def test_rows_of_planes_longer_than_a_stride_are_stored_block_by_block():
    x = graph_input("x", (1, 33, 3, 30000), "int8")
    check(Graph((x,), (call("clip", [x], "clip", a_min=-7, a_max=9),)), BASELINE)


def test_products_that_only_move_data_are_counted_apart():
    x, y = (graph_input(name, (1, 16, 4, 4), "int8") for name in "xy")
    graph = Graph((x, y), (int8_clip(call("add", [conv(x, np.ones((16, 16, 1, 1))), widened(y)], "add"), "sum"),))
    compiled = check(graph, BASELINE)
    with Module(compiled, SimDevice(BASELINE, 1 << 24)) as module:
        counters = module.run(random_inputs(graph)).operators
    assert counters["conv"].macs == 16 * 16 * 16 == compiled.regions[0].operators[0].macs
    assert counters["conv (move)"].gemm_uops == 16


def test_weights_and_inputs_that_stay_on_chip_are_loaded_once():
    x = graph_input("x", (1, 32, 8, 8), "int8")
    graph = Graph((x,), (int8_clip(conv(x, np.ones((32, 32, 3, 3)), padding=(1, 1, 1, 1)), "q"),))
    compiled = check(graph, BASELINE)
    with Module(compiled, SimDevice(BASELINE, 1 << 24)) as module:
        counters = module.run(random_inputs(graph)).counters
    assert counters.wgt_bytes == 32 * 32 * 9
    assert counters.out_bytes == 32 * 64


def test_a_large_constant_is_a_row_and_a_small_one_an_immediate():
    x = graph_input("x", (1, 16, 2, 2), "int8")

    def adds(amount):
        value = call("add", [conv(x, np.ones((16, 16, 1, 1))), constant(np.int32(amount))], "add")
        rows = check(Graph((x,), (int8_clip(value, "q"),)), BASELINE).regions[0].program.instructions
        return rows[(rows["opcode"] == Opcode.ALU) & (rows["alu_opcode"] == AluOp.ADD)]["use_imm"].tolist()

    assert adds(126) == [1]
    assert adds(-32769) == [0]
    assert adds(-32768) == [1]
    assert adds(127) == [], "rows start from what is larger than all that they held"


@pytest.mark.parametrize("padding", [(0, 0, 0, 3), (0, 0, 2, 0), (0, 0, 1, 1)])
@pytest.mark.parametrize("depthwise", [False, True])
def test_a_single_position_with_zeros_right_and_below_is_no_flat_axis(padding, depthwise):
    x = graph_input("x", (1, 16, 5, 3), "int8")
    rng = np.random.default_rng(0)
    weight = rng.integers(-9, 9, (16, 1 if depthwise else 16, 1, 1))
    value = conv(x, weight, padding=padding, groups=16 if depthwise else 1)
    check(Graph((x,), (int8_clip(value, "q"),)), BASELINE)
