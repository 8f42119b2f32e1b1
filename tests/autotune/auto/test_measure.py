"""Schedules are timed in processes of their own: one that hangs or is wrong costs one trial."""

from contextlib import closing
from dataclasses import replace

import numpy as np

from tests.autotune.auto.examples import convolutions
from vta.autotune.auto.cpu.engine import CpuEngine
from vta.autotune.auto.cpu.limits import limits_of, with_caches
from vta.autotune.auto.measure import LocalMeasure, Timing
from vta.autotune.auto.timing import cache_sizes
from vta.host.llvm.target import host_target
from vta.host.loop.nest import Loop
from vta.records.measurement import ErrorKind


def hanging(program):
    """A program that computes the same, again and again, for hours."""
    *before, last = program.functions
    return replace(program, functions=(*before, replace(last, body=Loop("again", 1 << 50, "serial", last.body))))


def without_last(program):
    """A program one of whose functions does nothing."""
    *before, last = program.functions
    return replace(program, functions=(*before, replace(last, body=Loop("never", 0, "serial", last.body))))


def test_what_hangs_or_is_wrong_costs_one_trial():
    task = convolutions()[0]
    made = task.space.make(task.space.random(np.random.default_rng(0)))
    with closing(LocalMeasure(CpuEngine(host_target()), Timing(number=1, min_repeat_ms=1), timeout=8.0)) as measurer:
        schedules = [replace(made, program=hanging(made.program)), replace(made, program=without_last(made.program)), made]
        hung, wrong, good = measurer.measure(task, schedules)
        default = measurer.default(task)
    assert hung.error is ErrorKind.RUN_TIMEOUT
    assert wrong.error is ErrorKind.WRONG_ANSWER
    assert (good.error, good.cost > 0) == (ErrorKind.NONE, True)
    assert 0 < default.cost < 1


def test_caches_are_those_that_the_system_describes(tmp_path):
    for number, (level, kind, size) in enumerate(
        [(1, "Data", "48K"), (1, "Instruction", "64K"), (2, "Unified", "2M"), (3, "Unified", "?")]
    ):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, value in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{value}\n")
    assert cache_sizes(str(tmp_path)) == (48 << 10, 2 << 20)
    assert cache_sizes(str(tmp_path / "nothing")) == (0, 0)
    limits = limits_of(host_target())
    assert with_caches(limits, 48 << 10, 0) == replace(limits, near_bytes=48 << 10)
