"""Choosing for a whole region: never worse, kept in the log, and used by compiling."""

import logging
from dataclasses import replace

import pytest

from tests.autotune._tasks import two_layers
from tests.integer_graphs import BASELINE
from vta.autotune.measure.in_process import in_process
from vta.autotune.region.search import SearchLimits
from vta.autotune.region.tune import RegionOptions, tune_region
from vta.autotune.session import TuneOptions, tune
from vta.autotune.task import extract_tasks
from vta.compiler.compile import compile_graph, graph_regions, lower_model
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions
from vta.errors import TuningError
from vta.records import schedules
from vta.records.log import RecordLog, read_log
from vta.records.objective import Objective
from vta.schedule.source import DEFAULT_SCHEDULES


def compiled_cycles(graph, source, hw=BASELINE):
    (region,) = compile_graph(graph, hw, schedules=source).regions
    return CycleDevice(hw, timing_only=True).run(region.program.encoded(), RunOptions()).cycles


def records_of(path):
    return [line.record for line in read_log(path)]


def chosen_for(graph, path, evaluations=300, seed=0):
    """Choose for the only region of a graph, and append to the log."""
    (region,) = graph_regions(graph, BASELINE)
    options = RegionOptions(limits=SearchLimits(evaluations, 60.0, seed))
    report = tune_region(region, BASELINE, extract_tasks(graph, BASELINE), records_of(path), options)
    RecordLog(path).append(report.records)
    return report


@pytest.fixture
def log(tmp_path):
    """A log of a few trials of each task of `two_layers`."""
    path = tmp_path / "net.log"
    tune(extract_tasks(two_layers(), BASELINE), in_process(BASELINE), TuneOptions("random", trials=24), RecordLog(path))
    return path


def test_compiling_takes_what_was_chosen(log):
    graph = two_layers()
    before = compiled_cycles(graph, schedules(log))
    report = chosen_for(graph, log)
    assert report.alone_cycles == before
    assert report.best_cycles < before, "24 random trials leave something to find"
    history = schedules(log)
    assert compiled_cycles(graph, history) == report.best_cycles
    assert history.notes == {}


def test_a_second_run_begins_with_what_the_first_has_found(log):
    first = chosen_for(two_layers(), log, evaluations=60)
    lines = len(records_of(log))
    again = chosen_for(two_layers(), log, evaluations=2)
    assert again.best_cycles == first.best_cycles
    assert again.records == ()
    assert len(records_of(log)) == lines
    more = chosen_for(two_layers(), log, evaluations=200, seed=5)
    assert more.best_cycles <= first.best_cycles
    assert compiled_cycles(two_layers(), schedules(log)) == more.best_cycles


def test_another_region_takes_the_best_of_each_workload_and_says_so(log, tmp_path, caplog):
    other = two_layers(residual=False)
    chosen_for(two_layers(), log)
    plain = tmp_path / "plain.log"
    RecordLog(plain).append(replace(record, place=None) for record in records_of(log))
    expected = compiled_cycles(other, schedules(plain))
    history = schedules(log)
    with caplog.at_level(logging.WARNING):
        assert compiled_cycles(other, history) == expected
    assert caplog.messages == [f"{log}: no choice for region0 as it is here; using the best schedule of each workload"]
    assert list(history.notes.values()) == ["no choice for region0 as it is here"]


def test_the_estimate_knows_nothing_of_a_choice(log):
    graph = two_layers()
    plain = compiled_cycles(graph, DEFAULT_SCHEDULES)
    chosen_for(graph, log)
    assert compiled_cycles(graph, DEFAULT_SCHEDULES) == plain


def test_records_of_a_choice_cost_what_the_operator_takes_alone(log):
    report = chosen_for(two_layers(), log)
    assert [record.place.position for record in report.records] == [0, 1]
    (workload,) = {record.workload for record in report.records}
    best = min(record.cycles for record in records_of(log) if record.workload == workload and record.place is None)
    assert all(best * 0.5 < record.cycles < report.best_cycles for record in report.records)


def test_progress_is_told_and_the_budget_holds(log):
    told = []
    (region,) = graph_regions(two_layers(), BASELINE)
    options = RegionOptions(limits=SearchLimits(10))
    tasks = extract_tasks(two_layers(), BASELINE)
    report = tune_region(region, BASELINE, tasks, records_of(log), options, lambda *progress: told.append(progress))
    assert report.evaluations == 10
    assert [(name, done, total) for name, done, total, _ in told] == [("region0", done, 10) for done in range(2, 11)]
    assert told[-1][3] == report.best_cycles


def test_a_task_is_needed_for_every_operator(log):
    (region,) = graph_regions(two_layers(middle=48), BASELINE)
    with pytest.raises(TuningError, match="no task for the workload conv2d_packed"):
        tune_region(region, BASELINE, extract_tasks(two_layers(), BASELINE), records_of(log))


def test_uses_of_a_workload_may_be_laid_out_in_two_ways(shared, tmp_path):
    # Pointwise convolutions, of which some store a border of zero points, and the others have rows and columns as one axis.
    hw = HardwareConfig.named("cycle")
    graph, _ = lower_model(shared / "models/mlperf_tiny/kws_ref_model.tflite", hw)
    graph = compile_graph(graph, hw).graph
    (region,) = graph_regions(graph, hw)
    report = tune_region(region, hw, extract_tasks(graph, hw), [], RegionOptions(limits=SearchLimits(150, 60.0)))
    RecordLog(tmp_path / "net.log").append(report.records)
    history = schedules(tmp_path / "net.log")
    assert compiled_cycles(graph, history, hw) == report.best_cycles
    assert history.notes == {}


def test_a_choice_may_be_for_energy_or_for_both(log):
    """Records that have no energy count for nothing then; what is chosen is what compiling takes."""
    graph = two_layers()
    (region,) = graph_regions(graph, BASELINE)
    for text in ("energy", "cycles,energy"):
        judged = Objective.parse(text)
        options = RegionOptions(limits=SearchLimits(100, 60.0), objective=judged)
        report = tune_region(region, BASELINE, extract_tasks(graph, BASELINE), records_of(log), options)
        RecordLog(log).append(report.records)
        assert judged.value(report.best_cycles, report.best_energy_pj) < judged.value(report.alone_cycles, report.alone_energy_pj)
        assert compiled_cycles(graph, schedules(log, objective=text)) == report.best_cycles
