"""Streams of whole regions joined from those of operators: the same to the bit as what is compiled."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.test_region import chain
from tests.integer_graphs import BASELINE, CONFIGS, FEW_UOPS, TINY, integer_graphs
from vta.codegen.region import compile_operators
from vta.codegen.region_timing import RegionTimer
from vta.compiler.compile import compile_graph, graph_regions
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions
from vta.errors import CompileError
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import broken_limits
from vta.schedule.source import EstimatedSchedules
from vta.tile.operator import RegionOperators


def varied(operator, hw, rng):
    """The default schedule of an operator, with fewer slots or smaller tiles now and then."""
    schedule = choose_schedule(operator, hw)
    changes = [{"acc_slots": 1}, {"weights_outer": not schedule.weights_outer}, {"tile_co": 1}, {"inp_slots": 1}, {}]
    other = replace(schedule, **changes[rng.integers(len(changes))])
    return schedule if broken_limits(operator.laid_out(other), other, hw) else other


def compiled_and_timed(graph, hw, seed):
    """For each region: its compiled program, its timer, and the schedules of both."""
    rng = np.random.default_rng(seed)
    choices = {}

    class Varied(EstimatedSchedules):
        def choose_region(self, region, hw):
            choices[region.name] = tuple(
                operator.scheduled and varied(operator.scheduled, hw, rng) for operator in region.operators
            )
            return choices[region.name]

    module = compile_graph(graph, hw, schedules=Varied())
    regions = graph_regions(graph, hw)
    assert [region.name for region in regions] == [program.name for program in module.regions]
    return [
        (compiled.program, RegionTimer(region, hw), choices[region.name])
        for compiled, region in zip(module.regions, regions, strict=True)
    ]


@given(integer_graphs(), st.sampled_from([*CONFIGS, FEW_UOPS, TINY]), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_streams_are_those_of_the_compiled_program(graph, hw, seed):
    for program, timer, choice in compiled_and_timed(graph, hw, seed):
        np.testing.assert_array_equal(timer.stream(choice), program.encoded())


@pytest.mark.parametrize("depth", [6, 7, 8, 12], ids=lambda depth: f"2^{depth - 2} micro-ops")
def test_micro_ops_together_by_operator_or_one_by_one(depth):
    hw = replace(BASELINE, log_uop_buff_size=depth)
    operators, tensors = chain()
    region = RegionOperators("region", tuple(operators), tuple(tensors[:1]), tuple(tensors[-1:]))
    for tile_w in (1, 5, 36):
        choice = [replace(choose_schedule(operator, hw), tile_w=tile_w) for operator in operators]
        program = compile_operators(operators, region.inputs, region.outputs, hw, choice).program
        np.testing.assert_array_equal(RegionTimer(region, hw).stream(choice), program.encoded())


def test_cycles_are_those_of_the_compiled_program():
    operators, tensors = chain()
    program = compile_operators(operators, tensors[:1], tensors[-1:], BASELINE).program
    expected = CycleDevice(BASELINE, timing_only=True).run(program.encoded(), RunOptions()).cycles
    timer = RegionTimer(RegionOperators("region", tuple(operators), tuple(tensors[:1]), tuple(tensors[-1:])), BASELINE)
    assert timer.cycles([choose_schedule(operator, BASELINE) for operator in operators]) == expected


def test_what_does_not_fit_is_said():
    operators, tensors = chain(1)
    timer = RegionTimer(RegionOperators("region", tuple(operators), tuple(tensors[:1]), tuple(tensors[-1:])), TINY)
    schedule = replace(choose_schedule(operators[0], BASELINE), tile_co=2, tile_w=36)
    with pytest.raises(CompileError, match="leaves a memory of 64 rows"):
        timer.cycles([schedule])
