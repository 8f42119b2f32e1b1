"""Tuning runs: what is measured, recorded and reported."""

from dataclasses import replace

import pytest

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.measure import MeasureOption
from vta.autotune.session import TuneOptions, tune
from vta.autotune.task import task_of_graph
from vta.compiler.compile import compile_graph
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions
from vta.errors import TuningError
from vta.records.history import load_history
from vta.records.log import RecordLog, read_log
from vta.records.measurement import ErrorKind, Measurement, failed
from vta.records.objective import Objective
from vta.schedule.choose import choose_schedule
from vta.schedule.energy import energy_of


class Costs:
    """A builder and runner of made-up costs: `cost(candidate)` cycles, or a message."""

    def __init__(self, cost):
        self.cost = cost
        self.seen = []

    @property
    def option(self):
        return MeasureOption(self, self)

    def build(self, candidates):
        return list(candidates)

    def run(self, candidates, builds):
        self.seen += [candidate.number for candidate in candidates]
        return [self.result(self.cost(candidate)) for candidate in candidates]

    def result(self, cost):
        if isinstance(cost, str):
            return failed(ErrorKind.RUNTIME_DEVICE, cost)
        return Measurement((cost / 1e8,), cost)


def run(costs, log=None, known=(), tasks=None, **options):
    settings = TuneOptions(**{"tuner": "random", "trials": 20, **options})
    return tune(tasks or [small_task()], costs.option, settings, log, known)


def by_number(candidate):
    return 10_000 + candidate.number


def test_the_default_is_measured_first_and_not_counted():
    costs = Costs(by_number)
    (report,) = run(costs)
    assert len(costs.seen) == 21
    assert costs.seen[0] == small_task().space.find(choose_schedule(small_task().operator, BASELINE))
    assert report.trials == report.planned == 20
    assert report.default_cycles == 10_000 + costs.seen[0]
    assert report.best_cycles == 10_000 + min(costs.seen)
    assert report.share == small_task().roofline.cycles / report.best_cycles
    assert report.gops == pytest.approx(2 * small_task().operator.macs / report.best_cycles / 10)


def test_no_point_is_measured_twice():
    costs = Costs(by_number)
    run(costs, trials=100)
    assert len(set(costs.seen[1:])) == 100


def test_trials_are_no_more_than_the_space_has():
    task = task_of_graph(layer(16, 16, 1, 1, 0), BASELINE)
    (report,) = run(Costs(by_number), tasks=[task], trials=10**6)
    assert report.trials == report.planned == task.space.size


def test_the_same_seed_gives_the_same_trials():
    first, second, other = Costs(by_number), Costs(by_number), Costs(by_number)
    run(first, seed=3)
    run(second, seed=3)
    run(other, seed=4)
    assert first.seen == second.seen != other.seen


def test_early_stopping():
    (report,) = run(Costs(lambda candidate: 10_000), trials=1000, early_stopping=100)
    assert report.trials < 300


def test_every_trial_is_recorded(tmp_path):
    log = RecordLog(tmp_path / "log")
    costs = Costs(lambda candidate: by_number(candidate) if candidate.number % 3 else "odd")
    run(costs, log)
    records = [line.record for line in read_log(log.path)]
    assert [record.index for record in records] == costs.seen
    assert all((record.error == 0) == (record.index % 3 != 0) for record in records)
    assert {record.device for record in records} == {"cycle"}


def test_a_run_goes_on_from_its_log(tmp_path):
    log, costs = RecordLog(tmp_path / "log"), Costs(by_number)
    run(costs, log)
    known = [line.record for line in read_log(log.path)]
    again = Costs(by_number)
    (report,) = run(again, log, known, trials=30)
    assert report.trials == 30
    assert not set(again.seen[1:]) & set(costs.seen)
    assert len(again.seen) == 1 + 30 - len(set(costs.seen))
    assert report.best_cycles == 10_000 + min(costs.seen + again.seen)


def test_records_of_other_devices_and_configs_are_not_taken_over(tmp_path):
    log = RecordLog(tmp_path / "log")
    run(Costs(by_number), log)
    known = [line.record for line in read_log(log.path)]
    strange = [replace(known[0], device="rtl"), replace(known[1], target="ext_dev -device=vta -model=other")]
    costs = Costs(by_number)
    run(costs, known=strange)
    assert len(costs.seen) == 21


def test_failures_are_counted_by_message():
    first = []

    def cost(candidate):
        first.append(candidate)
        return 20_000 if len(first) == 1 else "no such row"

    (report,) = run(Costs(cost))
    assert report.errors == {"runtime_device: no such row": 20}
    assert report.best_cycles == 20_000


def test_all_failed_is_an_error_with_the_reasons():
    with pytest.raises(TuningError, match=r"no valid candidate: .*; 21 trials: runtime_device: broken"):
        run(Costs(lambda candidate: "broken"))


def test_tasks_go_in_reverse_order_and_reports_in_theirs():
    tasks = [small_task(), task_of_graph(layer(kernel=1, pad=0), BASELINE)]
    order = []
    reports = tune(tasks, Costs(by_number).option, TuneOptions("random", 4), watch=lambda report: order.append(report.task))
    assert order == tasks[::-1]
    assert [report.task for report in reports] == tasks


def test_a_real_run_ends_near_the_roofline():
    (report,) = tune([small_task()], in_process(BASELINE), TuneOptions("ga", 64))
    assert report.best_cycles <= report.default_cycles
    assert 0.5 < report.share <= 1
    assert report.errors == {}


def test_costs_of_another_kind_are_failures(tmp_path):
    """Cycles are in the log; a device that only takes time says nothing that could be compared."""
    log = RecordLog(tmp_path / "log")
    run(Costs(by_number), log, trials=5)
    known = [line.record for line in read_log(log.path)]
    timed = Costs(by_number)
    timed.result = lambda cost: Measurement((cost / 1e12,))
    (report,) = run(timed, log, known, trials=10)
    assert report.best_cycles in {record.cycles for record in known}
    (message,) = report.errors
    assert message == "unknown: its cost is simulation seconds, that of the others cycles: they cannot be compared"
    assert report.errors[message] == 1 + 10 - len({record.index for record in known})


def test_records_that_are_no_schedule_are_said_and_left_out(tmp_path, caplog):
    log = RecordLog(tmp_path / "log")
    run(Costs(by_number), log, trials=5)
    known = [line.record for line in read_log(log.path)]
    bad = replace(known[0], entity=known[0].entity[1:], costs=(1e-9,), cycles=1)
    costs = Costs(by_number)
    (report,) = run(costs, None, [bad, *known], trials=5)
    assert report.best_cycles == min(record.cycles for record in known)
    assert [
        message for message in caplog.messages if "not used: knobs are missing: tile_b" in message and f"{log.path}:1" in message
    ]


def test_energy_is_judged_where_it_is_asked_for(tmp_path):
    """What is recorded is what the compiled program takes, and what is best differs."""
    task, log, judged = small_task(), RecordLog(tmp_path / "log"), Objective.parse("energy")
    measuring = in_process(BASELINE, technology=judged.technology)
    (report,) = tune([task], measuring, TuneOptions("ga", 64, objective=judged), log)
    (fastest,) = tune([task], measuring, TuneOptions("ga", 64))
    assert report.best_energy_pj < fastest.best_energy_pj
    assert report.best_cycles > fastest.best_cycles
    assert 0.5 < report.share <= 1
    history = load_history(log.path, objective=judged)
    assert history.choose(task.operator, BASELINE) == report.best
    (region,) = compile_graph(task.graph, BASELINE, schedules=history).regions
    ran = CycleDevice(BASELINE, timing_only=True).run(region.program.encoded(), RunOptions())
    assert ran.cycles == report.best_cycles
    assert energy_of(ran.counters, BASELINE, judged.technology)["total"] == report.best_energy_pj

    known = [line.record for line in read_log(log.path)]
    costs = Costs(by_number)
    again = tune([task], costs.option, TuneOptions("ga", 64, objective=judged), None, known)[0]
    assert again.best_energy_pj == report.best_energy_pj
    assert again.errors == {"unknown: what it was measured on does not count what energy is made of": 1}
