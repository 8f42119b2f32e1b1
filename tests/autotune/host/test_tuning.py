"""Tuning of kernels: what is measured, recorded and used, and that a bad one costs one trial."""

import os
from contextlib import closing

from tests.autotune.host.test_space import TARGET, task
from vta.autotune.host.measure import HostBuilder, HostRunner, RunSettings, build_kernel_object
from vta.autotune.host.task import HOST_DEVICE, data_layout, model_tiles
from vta.autotune.measure.measure import Candidate, MeasureOption, measure
from vta.autotune.session import TuneOptions, tune
from vta.records.host.tiles import RecordedTiles, keep_tuned, recorded_tiles
from vta.records.log import RecordLog, read_log
from vta.records.measurement import ErrorKind, Measurement


def build_crashing(job):
    """A build that takes its process down for one tile in two."""
    if job.tile.columns % 2:
        os._exit(3)
    return build_kernel_object(job)


def options(**builder):
    return HostBuilder(**builder), HostRunner(RunSettings(number=1, check_correctness=True))


def test_a_task_is_tuned_and_its_records_choose_tiles(tmp_path):
    found, log = task(), tmp_path / "host.log"
    builder, runner = options()
    with closing(builder), closing(runner):
        settings = TuneOptions("xgb", 3, device=HOST_DEVICE)
        (report,) = tune(
            [found], MeasureOption(builder, runner), settings, RecordLog(log), hints=lambda task: model_tiles(task, 2)
        )
    assert report.trials == 3
    assert not report.errors
    records = [line.record for line in read_log(log)]
    best = min(records, key=lambda record: record.cost)
    assert best.cost == report.best_cost <= report.default_cost
    assert (best.workload, best.device) == (found.workload, "llvm")
    layout = data_layout(found.node, TARGET)
    assert RecordedTiles(records)(found.node, layout, TARGET) == found.schedule_of(best) == report.best
    assert recorded_tiles([log])(found.node, layout, TARGET) == report.best


def test_a_kernel_that_crashes_costs_one_trial():
    found = task()
    tiles = [found.space.schedule(number) for number in range(found.space.size)]
    chosen = [next(tile for tile in tiles if tile.columns == width) for width in (3, 4)]
    builder, runner = options(timeout=60.0, build_func=build_crashing)
    with closing(builder), closing(runner):
        bad, good = measure([Candidate(found, tile) for tile in chosen], MeasureOption(builder, runner))
    assert bad.error is ErrorKind.COMPILE_HOST
    assert good.error is ErrorKind.NONE
    assert good.cost > 0


def test_what_was_tuned_here_is_kept_and_used(tmp_path, monkeypatch):
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path / "cache"))
    found = task()
    tile = found.space.schedule(found.space.size // 2)
    for seconds, kept in ((2e-3, found.default()), (1e-3, tile), (3e-3, found.default())):
        assert keep_tuned([found.record(kept, 0, Measurement((seconds,)), HOST_DEVICE)]) is not None
    assert recorded_tiles()(found.node, data_layout(found.node, TARGET), TARGET) == tile
