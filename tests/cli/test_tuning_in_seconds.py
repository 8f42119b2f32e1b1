"""What is said of a tuning run on a device that counts no cycles: times, and no count."""

import io
from types import SimpleNamespace

import pytest

from tests.autotune._tasks import small_task
from vta.autotune.auto.session import AutoReport
from vta.autotune.session import TaskReport
from vta.cli.commands.tune import _estimated, _estimated_cycles
from vta.cli.tuning.auto_display import AutoDisplay
from vta.cli.tuning.tuning_display import Display
from vta.report.tuning import tuning_table
from vta.schedule.choose import choose_schedule


@pytest.fixture
def report():
    task = small_task()
    best = choose_schedule(task.operator, task.hw)
    return TaskReport(task, 4, 4, best=best, best_cost=2e-3, current_cost=3e-3, default_cost=4e-3, curve=[(1, 2e-3)])


def test_totals(report):
    assert _estimated_cycles([report]) is None
    assert _estimated([report]) == "2.000 ms"
    report.best_cycles = 200_000
    assert _estimated([report]) == "200,000 cycles"


def test_the_table(report):
    (cells,) = tuning_table([report]).rows
    assert cells[3:5] == ("4.000 ms", "2.000 ms")


def test_the_line(report, capsys):
    with Display([report.task], tuning_table) as display:
        display.watch(report)
    assert "current 3.000 ms, best 2.000 ms (" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_the_table_without_what_does_not_fit(report, monkeypatch):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    with Display([report.task], tuning_table) as display:
        display.watch(report)
    assert "best cycles" in terminal.getvalue()
    assert "workload" not in terminal.getvalue()


def test_so_does_a_search_over_all_kernels(monkeypatch):
    task = SimpleNamespace(name="conv", label="layer", weight=1, operations=1e6)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with AutoDisplay() as display:
        display.watch([AutoReport(task, 2e-3, 1e-3)], AutoReport(task))
    assert "faster by" in terminal.getvalue()
