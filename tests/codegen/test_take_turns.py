"""Operators on a config with the requantize unit: tiles of two take turns, classifiers load early, resets are left out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases.test_products_requantize import RQ, convolution, rescaled
from tests.engines import open_engine
from tests.integer_graphs import integer_graphs, random_inputs
from vta.codegen.interleave import pairs_of
from vta.codegen.region_timing import RegionTimer
from vta.codegen.take_turns import taking_turns
from vta.compiler.compile import compile_graph, graph_regions
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.ir.graph import Graph, call, graph_input
from vta.ir.interpreter import evaluate
from vta.isa import Opcode
from vta.runtime.module import Module
from vta.schedule.choose import choose_schedule
from vta.schedule.schedule import Schedule
from vta.schedule.source import EstimatedSchedules
from vta.schedule.strips import row_strips
from vta.support.dataclass import dataclass

QUARTER = replace(RQ, log_inp_buff_size=13, log_wgt_buff_size=16, log_acc_buff_size=15)


@dataclass(frozen=True)
class Turns(EstimatedSchedules):
    """Small schedules that all ask to take turns with the next."""

    lag: int

    def choose_region(self, region, hw):
        return tuple(operator.scheduled and self._schedule(operator.scheduled, hw) for operator in region.operators)

    def _schedule(self, operator, hw):
        try:
            schedule = row_strips(operator, 2, QUARTER) or choose_schedule(operator, QUARTER)
        except CompileError:
            schedule = choose_schedule(operator, hw)
        return replace(schedule, turns=self.lag)


def network(size=24, channels=40):
    """Two convolutions around a depthwise one, and a classifier."""
    x = graph_input("x", (1, 16, size, size), "int8")
    y = rescaled(convolution(x, channels, (1, 1), "a"), "a")
    y = rescaled(convolution(y, channels, (3, 3), "b", groups=channels, strides=(2, 2), padding=(1, 1, 1, 1)), "b")
    y = rescaled(convolution(y, channels, (1, 1), "c"), "c")
    y = rescaled(call("nn.sum_pool2d", [y], "e", pool_size=(size // 2, size // 2)), "e")
    y = rescaled(convolution(y, 300, (1, 1), "d"), "d")
    return Graph((x,), (y,))


def equal(graph, hw, source):
    """Run a graph with schedules of a source; returns the compiled module, whose results are right."""
    compiled = compile_graph(graph, hw, schedules=source)
    inputs = random_inputs(graph)
    with Module(compiled, open_engine("sim", hw)) as module:
        for found, wanted in zip(module.run(inputs).outputs, evaluate(graph, inputs), strict=True):
            np.testing.assert_array_equal(found, wanted)
    return compiled


@given(integer_graphs(6), st.integers(1, 5))
@settings(deadline=None, max_examples=25)
def test_results_are_right_whoever_takes_turns(graph, lag):
    equal(graph, RQ, Turns(lag))


@pytest.mark.parametrize("lag", [1, 3])
def test_tiles_of_two_operators_take_turns(lag):
    compiled = equal(network(), RQ, Turns(lag))
    (region,) = graph_regions(network(), RQ)
    assert pairs_of(region.operators, Turns(lag).choose_region(region, RQ), RQ)
    program = compiled.regions[0].program
    owners = program.operator_index[program.operator_index >= 0] // 2
    assert (np.diff(owners) < 0).any(), "one comes after the one behind it"


def test_the_timer_counts_what_is_compiled():
    graph = network()
    (region,) = graph_regions(graph, RQ)
    chosen = Turns(2).choose_region(region, RQ)
    compiled = compile_graph(graph, RQ, schedules=Turns(2))
    np.testing.assert_array_equal(RegionTimer(region, RQ).stream(chosen), compiled.regions[0].program.encoded())


def test_without_the_unit_schedules_stay():
    hw = replace(RQ, requantize_unit=0, table_unit=0, depthwise_unit=0)
    region = graph_regions(network(), hw)[0]
    schedules = tuple(operator.scheduled and choose_schedule(operator.scheduled, hw) for operator in region.operators)
    assert taking_turns(region, schedules, hw) == schedules
    asked = tuple(schedule and replace(schedule, turns=2) for schedule in schedules)
    assert pairs_of(region.operators, asked, hw) == ()


def test_what_takes_turns_is_chosen_where_it_saves_cycles():
    (region,) = graph_regions(network(56, 32), RQ)
    before = tuple(choose_schedule(operator, RQ) for operator in region.operators)
    after = taking_turns(region, before, RQ)
    timer = RegionTimer(region, RQ)
    assert timer.cycles(after) <= timer.cycles(before)


def test_weights_of_a_classifier_load_before_it_begins():
    compiled = equal(network(24, 96), RQ, EstimatedSchedules())
    program = compiled.regions[0].program
    loads = (program.instructions["opcode"] == Opcode.LOAD) & (program.instructions["memory_type"] == MemoryType.WGT)
    last = program.operator_index // 2 == program.operator_index.max() // 2
    computes = program.instructions["opcode"] == Opcode.GEMM
    assert np.flatnonzero(loads & last)[0] < np.flatnonzero(computes & ~last)[-1]


def test_rows_that_are_zero_are_not_reset_again():
    compiled = equal(network(), RQ, EstimatedSchedules())
    instructions = compiled.regions[0].program.instructions
    resets = instructions[(instructions["opcode"] == Opcode.GEMM) & (instructions["reset"] == 1)]
    assert (resets["iter_out"] * resets["iter_in"]).sum() <= 2 * RQ.depth(MemoryType.ACC)


def test_strips_are_whole_rows():
    (region,) = graph_regions(network(), RQ)
    for operator in region.operators[:3]:
        strips = row_strips(operator, 2, RQ)
        assert isinstance(strips, Schedule)
        assert strips.tile_h * strips.tile_w == 2 * operator.output.width
        assert row_strips(operator, operator.output.height + 1, RQ) is None
