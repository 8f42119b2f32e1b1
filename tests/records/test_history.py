"""Compiling with records: the recorded schedule, or the default one and why."""

import logging
from dataclasses import replace

import pytest

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE, conv, int8_clip
from tests.records.test_check import with_knob
from tests.records.test_log import record
from vta.compiler.compile import compile_graph
from vta.ir.graph import Graph, graph_input
from vta.records import schedules
from vta.records.history import History, load_history
from vta.records.log import RecordLog
from vta.schedule.choose import choose_schedule


def other_schedule():
    """A point that is not the default schedule."""
    task = small_task()
    default = choose_schedule(task.operator, BASELINE)
    return next(number for number in range(task.space.size) if task.space.schedule(number) != default)


def test_the_record_is_used():
    number = other_schedule()
    history = History([record(number=number)])
    assert history.choose(small_task().operator, BASELINE) == small_task().space.schedule(number)
    assert history.notes == {}


def test_the_best_record_is_used():
    number = other_schedule()
    history = History([record(2e-3, 0), record(1e-3, number), record(3e-3, 1)])
    assert history.choose(small_task().operator, BASELINE) == small_task().space.schedule(number)


def test_a_record_of_the_same_geometry_serves_another_target():
    hw = replace(BASELINE, target="pynq")
    number = other_schedule()
    assert History([record(number=number)]).choose(small_task().operator, hw) == small_task().space.schedule(number)


def noted(records, operator, hw):
    history = History(records, "net.log")
    assert history.choose(operator, hw) == choose_schedule(operator, hw)
    (note,) = history.notes.values()
    return note


def test_another_config_is_named_by_field():
    hw = replace(BASELINE, log_block=5)
    task = small_task(hw)
    note = noted([record()], task.operator, hw)
    assert note == f"no record for {hw.model}; those for {BASELINE.model} have another config: LOG_BLOCK = 4 there and 5 here"


def test_another_workload_is_named_by_argument():
    data = graph_input("x", (1, 32, 6, 6), "int8")
    graph = Graph((data,), (int8_clip(conv(data, small_weights(), "c", strides=(2, 2), padding=(1, 1, 1, 1)), "c"),))
    from vta.autotune.task import task_of_graph

    note = noted([record()], task_of_graph(graph, BASELINE).operator, BASELINE)
    assert note == "no record matches: in the nearest strides = 1x1 there and 2x2 here"


def small_weights():
    import numpy as np

    return np.ones((32, 32, 3, 3))


def test_another_task_is_named():
    from vta.autotune.task import task_of_graph

    operator = task_of_graph(layer(groups=32), BASELINE).operator
    assert noted([record()], operator, BASELINE) == "no record for the task group_conv2d_packed.vta"
    assert noted([], operator, BASELINE) == "it has no usable record"


def test_a_schedule_that_does_not_fit_is_named_by_limit():
    large = with_knob("inp_slots", "ot", 100)
    assert "input buffer" in noted([large], small_task().operator, BASELINE)


def test_a_mismatch_is_said_once(caplog):
    history = History([], "net.log")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            history.choose(small_task().operator, BASELINE)
    assert len(caplog.records) == 1
    assert caplog.messages[0].endswith("it has no usable record; using the default schedule")


def test_logs_apply_where_they_are_handed_over(tmp_path):
    path = tmp_path / "net.log"
    RecordLog(path).append([record(number=other_schedule())])
    graph = layer()
    plain = compile_graph(graph, BASELINE).regions[0].program
    history = schedules(path)
    tuned = compile_graph(graph, BASELINE, schedules=history).regions[0].program
    assert history.notes == {}
    assert compile_graph(graph, BASELINE).regions[0].program.instructions.tobytes() == plain.instructions.tobytes()
    assert plain.instructions.tobytes() != tuned.instructions.tobytes()


def test_lines_that_cannot_be_used_are_said(tmp_path, caplog):
    path = tmp_path / "net.log"
    path.write_text("# head\nnonsense\n")
    RecordLog(path).append([record(1e-9)])
    with caplog.at_level(logging.WARNING):
        load_history(path)
    first, second = caplog.messages
    assert f"{path}:2: skipped: not JSON" in first
    assert "not believed" in second


@pytest.mark.parametrize("name", ["vta_v0.10.log"])
def test_published_schedules_compile(shared, name):
    from benchmarks.simulator import RESNET18, graph_of

    hw = replace(BASELINE, target="pynq")
    history = schedules(shared / "tophub" / name)
    compile_graph(graph_of(RESNET18[9], 1), hw, schedules=history)
    assert history.notes == {}
