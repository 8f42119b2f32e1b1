"""Stages of a command: each timed, progress passed on."""

import subprocess
import sys

from vta.cli.running import stage_clock
from vta.cli.running.stage_clock import StageClock


def test_stages_take_what_passes_until_the_next(monkeypatch):
    wall, processor = iter([0.0, 1.0, 3.0, 6.0, 10.0]), iter([0.0, 0.5, 1.0, 3.0, 4.0])
    monkeypatch.setattr(stage_clock.time, "perf_counter", lambda: next(wall))
    monkeypatch.setattr(stage_clock, "_processor_seconds", lambda: next(processor))
    seen = []
    clock = StageClock(lambda *told: seen.append(told))
    clock("importing")
    clock("device", 1, 9)
    clock("device", 2, 9)
    clock("importing")
    clock.end()
    assert clock.seconds == {"importing": 6.0, "device": 3.0}
    assert clock.cpu_seconds == {"importing": 1.5, "device": 2.0}
    assert seen == [("importing", 0, 0), ("device", 1, 9), ("device", 2, 9), ("importing", 0, 0)]


def test_other_processes_count_when_they_have_ended():
    before = stage_clock._processor_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert stage_clock._processor_seconds() > before
