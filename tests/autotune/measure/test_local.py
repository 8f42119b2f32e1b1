"""Measuring in worker processes."""

import time
from contextlib import closing

import numpy as np
import pytest

from tests.autotune._tasks import small_task
from vta.autotune.measure.local import LocalBuilder, LocalRunner, build_module, open_cycle, open_sim
from vta.autotune.measure.measure import Candidate, MeasureOption, measure
from vta.devices.cycle import CycleDevice
from vta.records.measurement import ErrorKind


def candidates(count):
    task = small_task()
    numbers = task.space.random(np.random.default_rng(0), count)
    return [Candidate(task, task.space.schedule(int(number)), int(number)) for number in numbers]


def run(builder, runner, count=1):
    with closing(builder), closing(runner):
        return measure(candidates(count), MeasureOption(builder, runner))


def build_hanging(job):
    """A build that never ends for one schedule in two."""
    while job.schedule.weights_outer:
        time.sleep(0.01)
    return build_module(job)


class Lying(CycleDevice):
    """A device that stores a wrong byte."""

    def read(self, address, nbytes):
        data = super().read(address, nbytes).copy()
        data[0] ^= 1
        return data


def open_lying(hw):
    return Lying(hw)


def test_correct_results_and_cycles():
    results = run(LocalBuilder(timeout=60), LocalRunner(repeat=3, timeout=60, check_correctness=True), 2)
    for result in results:
        assert (result.error, result.message) == (ErrorKind.NONE, "")
        assert len(result.costs) == 3
        assert len(set(result.costs)) == 1
        assert result.cycles > small_task().roofline.cycles


def test_a_wrong_answer_is_an_error_of_its_own():
    (result,) = run(LocalBuilder(timeout=60), LocalRunner(open_lying, timeout=60, check_correctness=True))
    assert result.error is ErrorKind.WRONG_ANSWER
    assert result.costs == ()
    (unchecked,) = run(LocalBuilder(timeout=60), LocalRunner(open_lying, timeout=60))
    assert unchecked.error is ErrorKind.NONE


def test_a_build_that_hangs_costs_one_trial():
    hangs, passes = (next(one for one in candidates(20) if one.schedule.weights_outer == outer) for outer in (True, False))
    with closing(LocalBuilder(timeout=2, build_func=build_hanging)) as builder, closing(LocalRunner(timeout=60)) as runner:
        (first,) = measure([hangs], MeasureOption(builder, runner))
        # A good build gets all the time that a busy machine may take.
        builder._timeout = 60
        (second,) = measure([passes], MeasureOption(builder, runner))
    assert (first.error, first.message) == (ErrorKind.BUILD_TIMEOUT, "took longer than 2 s")
    assert second.error is ErrorKind.NONE


def test_devices_that_count_no_cycles_are_timed_by_the_clock():
    (result,) = run(LocalBuilder(timeout=60), LocalRunner(open_sim, number=2, repeat=2, timeout=60, min_repeat_ms=1))
    assert result.cycles is None
    assert len(result.costs) == 2
    assert min(result.costs) > 0


@pytest.mark.parametrize("device", [open_cycle, open_sim])
def test_devices_open(device):
    assert device(small_task().hw).hw == small_task().hw
