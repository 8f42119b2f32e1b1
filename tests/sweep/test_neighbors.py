"""Points that lead and points that follow, and what these begin with."""

from dataclasses import replace

import pytest

from vta.config.hardware import HardwareConfig
from vta.records.log import read_log
from vta.sweep.neighbors import best_lines, led_by
from vta.sweep.points import expand, points_of
from vta.sweep.session import run_sweep
from vta.sweep.spec import Spec

WORKLOAD = "conv2d_packed.vta:1x1x6x6x1x16:2x1x3x3x16x16:1x1:1x1x1x1:1x1"
SPEC = Spec(
    HardwareConfig.named("sim").to_json(), {"LOG_BLOCK": (4, 5), "LOG_INP_BUFF_SIZE": (13, 15)}, {"bus_bits": (64, 128)}, (),
    (WORKLOAD,), "ga", 8, hints=2,
)  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run_sweep(SPEC, tmp_path_factory.mktemp("sweep") / "whole", jobs=1)


def test_points_follow_the_nearest_of_their_geometry():
    points = points_of(expand(replace(SPEC, config={**SPEC.config, "LOG_INP_BUFF_SIZE": tuple(range(9, 15))}))[0], SPEC.works)
    led = led_by(points, 2)
    assert sorted({*range(24)} - led.keys()) == [0, 6, 12, 18]
    assert led[7] == (6, 0)
    assert led[2] == (0, 6)
    assert led[11] == (6, 0)
    assert led[13] == (12, 18)
    assert led_by(points, 0) == {}


def test_the_best_of_each_log_is_given_once(finished):
    logs = [finished.table.parent / "records" / f"{number}.log" for number in (0, 0, 1)]
    first, *rest = best_lines(logs)
    costs = [line.record.cost for line in read_log(logs[0])]
    assert min(costs) == pytest.approx(finished.rows[0].cycles / 1e8, rel=0.3)
    assert len(rest) <= 1
    assert first != rest


def test_who_follows_is_as_good_as_whom_it_follows(finished, tmp_path):
    """What fits there is measured beside its own trials; the number of trials stays."""
    alone = run_sweep(replace(SPEC, hints=0), tmp_path, jobs=1)
    assert [row.trials for row in finished.rows] == [8] * 8
    assert [row.cycles for row in finished.rows][::4] == [row.cycles for row in alone.rows][::4], "those that lead are as before"
    assert sum(row.cycles for row in finished.rows) <= sum(row.cycles for row in alone.rows)


def test_stopped_anywhere_and_without_logs_it_ends_the_same(finished, tmp_path):
    """A log that was taken away is made again before those that need it."""

    def stop(row, done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(SPEC, tmp_path, jobs=1, watch=stop)
    (tmp_path / "records" / "0.log").unlink()
    again = run_sweep(SPEC, tmp_path, jobs=1, resume=True)
    assert again.table.read_text() == finished.table.read_text()
