"""Sanity of cycle counts, traffic, energy and area."""

from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest

from tests.cases._nets import WEIGHT_SEED, assert_all_on_vta, config, int8_data, narrowed
from tests.engines import MEMORY_BYTES, open_engine
from vta.compiler.compile import compile_graph
from vta.config.technology import Technology
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa import encode
from vta.isa.assembly import assemble_instructions
from vta.runtime import Module
from vta.runtime.operator_cycles import operator_cycles
from vta.schedule.choose import choose_schedule
from vta.schedule.energy import area_of, energy_of
from vta.schedule.resources import broken_limits
from vta.schedule.source import PerOperator

HW = config("sim")
TIMED = ("cycle", "rtl")
MACS_PER_CYCLE = HW.batch * HW.block * HW.block
BUS_BYTES = 8
ONES, NONE = (1, 1, 1, 1), (0, 0, 0, 0)


def convolution(data, weights, name="conv", strides=(1, 1), padding=ONES):
    product = call("nn.conv2d", [data, constant(int8_data(weights, WEIGHT_SEED))], name, strides=strides, padding=padding)
    return narrowed(product, 10, name)


def network_of(shape, *weights, **attributes):
    """A chain of convolutions."""
    data = node = graph_input("x", shape, "int8")
    for index, size in enumerate(weights):
        node = convolution(node, size, f"conv{index}", **attributes)
    return Graph((data,), (node,))


LARGE = network_of((1, 64, 56, 56), (64, 64, 3, 3))
SMALL = network_of((1, 16, 14, 14), (16, 16, 3, 3))
LARGE_MACS, SMALL_MACS = 115605504, 451584


def run(graph, engine, hw=HW, chooser=choose_schedule):
    """Region and result of the one device run that all of `graph` takes."""
    compiled = compile_graph(graph, hw, schedules=PerOperator(chooser))
    assert_all_on_vta(compiled)
    inputs = {node.name: int8_data(node.shape, seed=1) for node in graph.inputs}
    with Module(compiled, open_engine(engine, hw)) as module:
        ((region, result),) = module.run(inputs).results
    return region, result


@cache
def result_of(graph, engine, hw=HW):
    return run(graph, engine, hw)[1]


def data_bytes(result):
    """Bytes of inputs, weights and outputs."""
    return {name: result.counters.dram_bytes[name] for name in ("inp", "wgt", "out")}


@pytest.mark.parametrize("engine", TIMED)
@pytest.mark.parametrize(("graph", "macs"), [(LARGE, LARGE_MACS), (SMALL, SMALL_MACS)], ids=["large", "small"])
def test_every_cycle_is_one_of_four_kinds(graph, macs, engine):
    result = result_of(graph, engine)
    for unit in result.units.values():
        assert min(unit.busy, unit.token, unit.memory, unit.idle) >= 0
        assert unit.total == result.cycles
    assert result.counters.macs == macs
    assert macs // MACS_PER_CYCLE <= result.counters.gemm_uops <= result.units["compute"].busy <= result.cycles


@pytest.mark.parametrize("engine", TIMED)
def test_everything_is_moved_at_least_once(engine):
    result = result_of(LARGE, engine)
    moved = data_bytes(result)
    assert moved["inp"] >= 200704
    assert moved["wgt"] >= 36864
    assert moved["out"] == 200704
    assert sum(moved.values()) >= 438272
    loaded = sum(result.counters.dram_bytes.values()) - moved["out"]
    assert result.read_beats * BUS_BYTES >= loaded
    assert result.write_beats * BUS_BYTES == moved["out"]


GROWING = {"LOG_INP_BUFF_SIZE": range(10, 16), "LOG_WGT_BUFF_SIZE": range(12, 19), "LOG_ACC_BUFF_SIZE": range(11, 18)}


@cache
def timing_of(hw, chooser):
    """Cycles and bytes of the large convolution."""
    with Module(
        compile_graph(LARGE, hw, schedules=PerOperator(chooser)), CycleDevice(hw, memory_bytes=MEMORY_BYTES, timing_only=True)
    ) as module:
        report = module.run({"x": np.zeros(LARGE.inputs[0].shape, np.int8)})
    return report.cycles, sum(report.counters.dram_bytes.values())


def choice_for(smaller, operator, hw):
    """The schedule chosen for the config `smaller`, which must fit `hw` as well."""
    schedule = choose_schedule(operator, smaller)
    assert broken_limits(operator, schedule, hw) == []
    return schedule


@pytest.mark.parametrize("buffer", GROWING)
def test_a_larger_buffer_costs_nothing(buffer):
    """What fits a buffer moves the same bytes in the same cycles in a larger one; what is chosen for the larger one no more."""
    configs = [config("sim", **{buffer: size}) for size in GROWING[buffer]]
    for smaller, larger in pairwise(configs):
        before, after = timing_of(smaller, choose_schedule), timing_of(larger, choose_schedule)
        assert timing_of(larger, partial(choice_for, smaller)) == before
        assert after[1] <= before[1]
        assert after[0] <= 1.01 * before[0]


SCARCE = config("sim", LOG_INP_BUFF_SIZE=10)
"""64 rows of input."""


@pytest.mark.parametrize("engine", ["cycle", pytest.param("rtl", marks=pytest.mark.slow)])
def test_a_buffer_that_binds_shows(engine):
    ample, scarce = (result_of(SMALL, engine, hw) for hw in (HW, SCARCE))
    assert scarce.cycles > ample.cycles
    assert data_bytes(scarce)["inp"] > data_bytes(ample)["inp"]


@pytest.mark.parametrize("engine", TIMED)
def test_energy_and_area_move_with_mac_energy_width_and_size(engine):
    counters, plain = result_of(SMALL, engine).counters, Technology()
    energy, area = energy_of(counters, HW, plain), area_of(HW, plain)
    assert min(energy.values()) > 0
    assert min(area.values()) > 0
    assert energy["mac"] < energy_of(counters, HW, Technology(multiply_8_pj=0.4))["mac"]
    narrow = config("sim", LOG_ACC_WIDTH=4, LOG_ACC_BUFF_SIZE=16)
    assert energy_of(counters, narrow, plain)["mac"] < energy["mac"]
    smaller = config("sim", LOG_WGT_BUFF_SIZE=16)
    assert energy_of(counters, smaller, plain)["wgt"] < energy["wgt"]
    assert area_of(smaller, plain)["total"] < area["total"]
    assert energy["total"] < energy_of(result_of(LARGE, engine).counters, HW, plain)["total"]


SHAPES = [(1, 16, 28, 20), (1, 32, 28, 20), (1, 32, 28, 20)]
WEIGHTS = [(32, 16, 3, 3), (32, 32, 3, 3), (16, 32, 3, 3)]


@pytest.mark.parametrize("engine", TIMED)
def test_a_network_costs_what_its_layers_cost(engine):
    """Work and bytes add up. Layers overlap where one ends and the next begins, so that cycles come out slightly less."""
    _, whole = run(network_of(SHAPES[0], *WEIGHTS), engine)
    layers = [run(network_of(shape, size), engine)[1] for shape, size in zip(SHAPES, WEIGHTS, strict=True)]
    for name in ("macs", "gemm_uops", "reset_uops", "alu_uops", "inp_bytes", "wgt_bytes", "out_bytes"):
        assert getattr(whole.counters, name) == sum(getattr(layer.counters, name) for layer in layers), name
    least = sum(layer.counters.gemm_uops + layer.counters.reset_uops + layer.counters.alu_uops for layer in layers)
    assert least < whole.cycles < sum(layer.cycles for layer in layers)


def test_the_layers_of_the_report_add_up():
    region, whole = run(network_of(SHAPES[0], *WEIGHTS), "cycle")
    busy = [row.total.busy for row in operator_cycles(region, whole)]
    for unit in ("load", "store"):
        assert sum(cycles[unit] for cycles in busy) == whole.units[unit].busy
    # Micro-ops that are loaded ahead, and FINISH, belong to no operator.
    shared = whole.times.busy[region.program.operator_index < 0].sum()
    assert sum(cycles["compute"] for cycles in busy) + shared == whole.units["compute"].busy


@pytest.mark.parametrize("engine", TIMED)
def test_strides_down_and_across_differ(engine):
    down, across = (
        result_of(network_of((1, 64, 56, 28), (64, 64, 3, 3), strides=strides), engine) for strides in ((2, 1), (1, 2))
    )
    assert down.counters.macs == across.counters.macs
    assert down.counters.dram_bytes != across.counters.dram_bytes
    assert (down.cycles, down.read_beats) != (across.cycles, across.read_beats)


@pytest.mark.parametrize("engine", TIMED)
def test_a_worked_example_is_as_written(engine):
    """Four rows of input and four products: native/TIMING.md says what happens in which cycle, fill and drain included."""
    text = """
        load inp sram=0 dram=256 y=1 x=4 stride=4 push=next
        gemm uop=0:1 loop=1,4 dst=0,1 src=0,1 wgt=0,0 pop=prev
        finish
    """
    device = open_engine(engine, HW, memory_bytes=1 << 20)
    assert device.allocate(4096) == 256 * 16
    result = device.run(encode(assemble_instructions(text, HW), HW), RunOptions(checks=False))
    assert result.cycles == 58
    units = {name: (unit.busy, unit.memory, unit.token, unit.idle) for name, unit in result.units.items()}
    assert units["fetch"] == (3, 21, 0, 34)
    assert units["load"] == (8, 17, 0, 33)
    assert units["compute"] == (5, 0, 24, 29)
    assert units["store"] == (0, 0, 0, 58)


@pytest.mark.parametrize("engine", TIMED)
def test_a_dense_layer_costs_what_a_1x1_convolution_costs(engine):
    data = graph_input("x", (1, 512), "int8")
    weights = constant(int8_data((512, 512), WEIGHT_SEED))
    dense = Graph((data,), (narrowed(call("nn.dense", [data, weights], "dense"), 10, "dense"),))
    pointwise = network_of((1, 512, 1, 1), (512, 512, 1, 1), padding=NONE)
    assert result_of(dense, engine).cycles == pytest.approx(result_of(pointwise, engine).cycles, rel=0.1)
