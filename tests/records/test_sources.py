"""Where schedules come from, as users name it."""

import pytest

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE
from tests.records.test_history import other_schedule
from tests.records.test_log import record
from vta.compiler.compile import compile_graph
from vta.errors import TuningError
from vta.records import schedules
from vta.records.log import RecordLog
from vta.records.shipped import SHIPPED, ShippedSchedules
from vta.schedule.choose import choose_schedule
from vta.schedule.source import DEFAULT_SCHEDULES, PerOperator


def test_without_logs_it_is_what_comes_with_the_package_or_the_estimate():
    assert schedules() == SHIPPED
    assert schedules(fastest=True) == ShippedSchedules(fastest=True)
    assert schedules(shipped=False) is DEFAULT_SCHEDULES


def test_logs_go_before_what_comes_with_the_package(tmp_path):
    number = other_schedule()
    RecordLog(tmp_path / "net.log").append([record(number=number)])
    for shipped in (True, False):
        source = schedules(tmp_path / "net.log", shipped=shipped)
        assert source.choose(small_task().operator, BASELINE) == small_task().space.schedule(number)


def test_a_log_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(TuningError, match=r"missing\.log"):
        schedules(tmp_path / "missing.log")


def test_nothing_is_kept_from_one_compilation_to_the_next():
    def program(source):
        return compile_graph(layer(), BASELINE, schedules=source).regions[0].program.instructions.tobytes()

    chosen = small_task().space.schedule(other_schedule())
    before = program(DEFAULT_SCHEDULES)
    assert program(PerOperator(lambda operator, hw: chosen)) != before
    assert program(DEFAULT_SCHEDULES) == before == program(PerOperator(choose_schedule))
