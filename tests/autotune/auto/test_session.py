"""A search finds what the model calls good, shares its trials, goes on from records, and never gives worse than the default."""

from dataclasses import replace

import numpy as np
import pytest

from tests.autotune.auto.examples import MACHINE, ModelMeasure, convolutions, small_kernel
from vta.autotune.auto.search import STRATEGIES, Experience, KernelSearch
from vta.autotune.auto.session import AutoOptions, auto_tune, estimated_seconds
from vta.autotune.auto.space import ScheduleSpace
from vta.host.llvm.target import host_target
from vta.host.loop.steps import Unroll
from vta.records.host.schedules import RecordedSchedules, recorded_schedules
from vta.records.host.timed_again import last_timed
from vta.records.log import RecordLog, pick_best, read_log
from vta.records.measurement import Measurement

pytest.importorskip("xgboost")


def records_of(path):
    return [line.record for line in read_log(path)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_seed_proposes_the_same(strategy):
    def proposals(seed):
        space = ScheduleSpace(small_kernel(), MACHINE)
        search = KernelSearch("kernel", space, Experience(seed), seed, strategy, 8)
        found = []
        for _ in range(2):
            batch = search.propose(9)
            found += [made.genome for made in batch]
            for made in batch:
                search.update(made, made.figures.cycles * 1e-9)
        return found

    first = proposals(3)
    assert first == proposals(3) != proposals(4)
    assert len(set(first)) == len(first) == 18


def test_a_search_is_no_worse_than_the_default_and_its_records_are_used(tmp_path):
    log = tmp_path / "auto.log"
    tasks = convolutions()
    reports = auto_tune(tasks, ModelMeasure(4), AutoOptions(trials=20, batch=5, population=8), RecordLog(log))
    assert sum(report.trials for report in reports) == 20
    assert all(report.best_seconds <= report.default_seconds for report in reports)
    assert sum(len(report.errors) for report in reports) == 1
    assert estimated_seconds(reports) == sum(report.task.weight * report.best_seconds for report in reports)
    picked = pick_best(last_timed(records_of(log)))
    assert len(picked) == len(tasks)
    schedules = RecordedSchedules(picked)
    for report in reports:
        steps = schedules(report.task.kernel, host_target())
        assert steps == (report.best.steps if report.best is not None else None)


def test_the_heaviest_task_has_the_first_round_and_the_most_trials():
    tasks = convolutions()
    measure = ModelMeasure()
    reports = auto_tune(tasks, measure, AutoOptions(trials=30, batch=5, population=8))
    heaviest = max(reports, key=lambda report: report.task.weight * report.default_seconds)
    assert measure.batches[0] == heaviest.task.name
    assert heaviest.trials == max(report.trials for report in reports)


def test_a_search_goes_on_from_its_records(tmp_path):
    log = tmp_path / "auto.log"
    tasks = convolutions()[:1]
    (first,) = auto_tune(tasks, ModelMeasure(), AutoOptions(trials=10, batch=5, population=8), RecordLog(log))
    text = log.read_text()
    log.write_text(text[: len(text) * 2 // 3])  # as if it had been killed while it wrote
    known = [record for record in records_of(log) if record is not None]
    measure = ModelMeasure()
    (second,) = auto_tune(tasks, measure, AutoOptions(trials=12, batch=5, population=8), RecordLog(log), known)
    assert second.trials == 12
    assert measure.timed < 12
    assert second.best_seconds <= min(record.cost for record in known)
    assert [line.problem for line in read_log(log) if line.record is None and line.text.strip() not in text] == []
    assert first.trials == 10


def test_records_of_other_kernels_and_damaged_ones_are_not_used(tmp_path, caplog):
    log = tmp_path / "auto.log"
    one, *_, other = convolutions()
    made = one.space.make(one.space.random(np.random.default_rng(0)))
    RecordLog(log).append([one.record(made, Measurement((1e-3,)), "llvm")])
    assert recorded_schedules([log])(one.kernel, host_target()) == made.steps
    assert recorded_schedules([log])(other.kernel, host_target()) is None
    log.write_text(log.read_text().replace('["Vectorize"', '["Bind"'))
    assert recorded_schedules([log])(one.kernel, host_target()) is None
    assert "is no Bind; that is: stage: str, loop: str, thread: str" in caplog.text


def test_schedules_that_no_compiler_can_take_are_not_used(tmp_path, caplog):
    log = tmp_path / "auto.log"
    task = next(task for task in convolutions() if task.weight == 2)
    steps = [Unroll("sums", axis) for axis in ("y", "x", "ib", "ic", "kh", "kw")]
    made = replace(task.space.make(task.space.random(np.random.default_rng(0))), steps=tuple(steps))
    RecordLog(log).append([task.record(made, Measurement((1e-3,)), "llvm")])
    assert recorded_schedules([log])(task.kernel, host_target()) is None
    assert "statements that are written out; allowed: 4,096" in caplog.text


class LuckyMeasure(ModelMeasure):
    """Times of one trial in three are half of what they are, but for those that are taken with care."""

    def measure(self, task, made, thorough=False):
        results = super().measure(task, made, thorough)
        if thorough:
            return results
        return [
            Measurement(tuple(cost / 2 for cost in result.costs)) if at % 3 == 0 else result for at, result in enumerate(results)
        ]


def test_luck_makes_no_schedule_the_best(tmp_path):
    log = tmp_path / "auto.log"
    tasks = convolutions()[:2]
    reports = auto_tune(tasks, LuckyMeasure(), AutoOptions(trials=16, batch=8, population=8), RecordLog(log))
    schedules = RecordedSchedules(records_of(log))
    for report in reports:
        cycles = report.task.default if report.best is None else report.best.program
        assert report.best_seconds == pytest.approx(report.task.machine.figures(cycles).cycles / 1e9)
        assert schedules(report.task.kernel, host_target()) == (None if report.best is None else report.best.steps)
