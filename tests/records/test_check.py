"""Whether records can be used and believed."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vta
from tests.integer_graphs import BASELINE
from tests.records.test_log import record
from vta.autotune.usable import task_of_workload, use_problem
from vta.config.files import shipped_configs
from vta.config.hardware import load_config
from vta.errors import TuningError
from vta.records.check import config_of_model, cost_problem
from vta.records.host.timed_again import AUTO_WORKLOAD
from vta.records.log import read_log
from vta.records.workload import Workload

HOST_TILES, GPU_TILES = (Path(vta.__file__).parent / "records" / kind / "tiles.log" for kind in ("host", "gpu"))


@pytest.mark.parametrize("name", shipped_configs())
def test_models_name_configs(name):
    hw = load_config(shipped_configs()[name])
    assert config_of_model(hw.model).model == hw.model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("pynq", "is not of the form"),
        ("pynq_3x16_i8w8a32_15_15_18_17", "must be powers of two"),
        ("moon_1x16_i8w8a32_15_15_18_17", "TARGET = 'moon' is unknown"),
    ],
)
def test_models_that_name_none(model, message):
    with pytest.raises(TuningError, match=message):
        config_of_model(model)


def test_a_good_record():
    assert use_problem(record()) == ""
    assert cost_problem(record()) == ""


def with_knob(name, kind, value):
    others = (knob for knob in record().entity if knob[0] != name)
    return replace(record(), entity=(*others, (name, kind, value)))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (with_knob("inp_slots", "ot", 100), r"input buffer: \d+ rows needed, 2048 there"),
        (with_knob("wgt_slots", "ot", 200), "knob wgt_slots = 200; allowed: integers 1 to 127"),
        (with_knob("magic", "ot", 1), "knob 'magic' is unknown"),
        (replace(record(), target="llvm"), "target 'llvm' is not VTA"),
        (replace(record(), error=4), "the trial failed with error 4"),
        (replace(record(), workload=Workload("conv3d_packed.vta", ())), "no template for conv3d_packed.vta"),
        (replace(record(), workload=replace(record().workload, args=())), "its arguments do not go together"),
        (replace(record(), target=record().target.replace("1x16", "1x32")), "packed for 1x16 .* has 1x32"),
    ],
)
def test_records_that_cannot_be_used_say_why(changed, reason):
    assert re.search(reason, use_problem(changed))


def test_records_of_kernels_are_judged_by_what_they_are_for():
    lines = [line for path in (HOST_TILES, GPU_TILES) for line in read_log(path) if line.record is not None]
    assert {use_problem(line.record) for line in lines} == {""}
    host, gpu = (next(line.record for line in read_log(path) if line.record is not None) for path in (HOST_TILES, GPU_TILES))
    for found, reason in (
        (replace(host, entity=host.entity[1:]), "knob .* is"),
        (replace(host, workload=replace(host.workload, args=())), "these are not the arguments of a convolution"),
        (replace(host, error=4), "the trial failed with error 4"),
        (replace(host, target="metal -model=x"), "target 'metal -model=x' is not VTA"),
        (replace(gpu, entity=(("magic", "ot", 1),)), "knob 'magic' is unknown"),
        (replace(host, workload=Workload(AUTO_WORKLOAD, ()), entity=()), "knob steps is missing"),
        (replace(host, target="llvm -mcpu=none -mtriple=pdp11-unknown"), "pdp11"),
    ):
        assert re.search(reason, use_problem(found)), use_problem(found)
    unknown_here = "llvm -keys=cpu -mcpu=a-processor-of-next-year -mtriple=x86_64-unknown-linux-gnu"
    assert use_problem(replace(host, target=unknown_here)) == ""


def test_a_cost_below_the_bound_is_not_believed():
    assert "10 cycles at 100 MHz, below the bound of 1,152: it is not believed" in cost_problem(record(1e-7))


def test_of_the_published_log_only_costs_of_yolo_are_not_believed(shared):
    lines = [line for line in read_log(shared / "tophub" / "vta_v0.10.log") if line.record]
    doubted = [line.number for line in lines if cost_problem(line.record)]
    assert doubted
    assert max(doubted) < 13, "the rows of Yolo are the first 11"


def test_published_schedules_fit_or_name_the_limit(shared):
    reasons = {}
    for line in read_log(shared / "tophub" / "vta_v0.10.log"):
        if line.record is not None and line.record.model:
            reasons.setdefault(use_problem(line.record), []).append(line.number)
    assert len(reasons.pop("")) == 99
    assert len(reasons) == 1
    assert sum("accumulator buffer: 2052 rows needed, 2048 there" in reason for reason in reasons) == 1


def test_tasks_of_workloads():
    assert task_of_workload(record().workload, BASELINE).workload == record().workload


def test_cycles_of_a_pruned_layer_are_believed():
    """Below what all products would take, but its streams leave most of them out."""
    from tests.integer_graphs import conv, int8_clip
    from vta.autotune.measure.in_process import in_process
    from vta.autotune.measure.measure import Candidate, measure
    from vta.autotune.task import task_of_graph
    from vta.ir.graph import Graph, graph_input
    from vta.records.least_cycles import least_workload_cycles
    from vta.schedule.choose import choose_schedule

    weights = np.zeros((64, 64, 3, 3), np.int8)
    weights[0, 0, 1, 1] = 1
    data = graph_input("x", (1, 64, 8, 8), "int8")
    task = task_of_graph(Graph((data,), (int8_clip(conv(data, weights, padding=(1,) * 4), "c"),), "c"), BASELINE)
    (result,) = measure([Candidate(task, choose_schedule(task.operator, BASELINE))], in_process(BASELINE))
    assert result.cycles < least_workload_cycles(task.workload, BASELINE)
    assert cost_problem(replace(record(workload=task.workload), costs=result.costs, cycles=result.cycles)) == ""
