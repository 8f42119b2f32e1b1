"""Measuring on the cycle engine in this process."""

from dataclasses import replace

import numpy as np
import pytest

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE, CONFIGS, TINY
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.measure import Candidate, measure
from vta.autotune.task import task_of_graph
from vta.compiler.compile import compile_graph
from vta.config.timing import TimingParameters
from vta.devices.cycle import CycleDevice
from vta.records.measurement import ErrorKind
from vta.schedule.source import PerOperator


def candidates(task, count, seed=0):
    numbers = task.space.random(np.random.default_rng(seed), count)
    return [Candidate(task, task.space.schedule(int(number)), int(number)) for number in numbers]


def test_cycles_are_those_of_the_compiled_program_but_for_where_constants_lie():
    task = small_task()
    (candidate,) = candidates(task, 1)
    (result,) = measure([candidate], in_process(BASELINE))
    program = (
        compile_graph(task.graph, BASELINE, schedules=PerOperator(lambda operator, hw: candidate.schedule)).regions[0].program
    )
    whole = CycleDevice(BASELINE, timing_only=True).run(program.encoded(4096))
    assert result.cycles == pytest.approx(whole.cycles, rel=0.02)
    assert result.costs == (result.cycles / BASELINE.platform.clock_hz,)
    assert result.error is ErrorKind.NONE


@pytest.mark.parametrize("hw", CONFIGS[:6], ids=lambda hw: hw.model)
def test_no_point_of_the_space_fails(hw):
    task = task_of_graph(layer(batch=hw.batch, size=14, channels=64, outputs=64), hw)
    assert {result.message for result in measure(candidates(task, 30), in_process(hw))} == {""}


def test_a_candidate_that_does_not_fit_costs_one_trial():
    task = task_of_graph(layer(), TINY)
    good = candidates(task, 1)[0]
    bad = replace(good, schedule=replace(good.schedule, tile_co=2, tile_h=6, tile_w=6))
    first, second, third = measure([good, bad, good], in_process(TINY))
    assert second.error is ErrorKind.COMPILE_DEVICE
    assert "leaves a memory of 64 rows" in second.message
    assert second.cost == float("inf")
    assert first.cycles == third.cycles is not None


def test_memory_that_is_slower_costs_cycles():
    option = in_process(BASELINE, TimingParameters(read_latency=500))
    fast, slow = (measure(candidates(small_task(), 1), chosen)[0] for chosen in (in_process(BASELINE), option))
    assert slow.cycles > fast.cycles
