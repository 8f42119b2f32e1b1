"""Tuning with nothing valid, and honest fall-back."""

import json
import logging
import time
from dataclasses import replace

import numpy as np
import pytest

from tests.cases._nets import config, int8_data, run_verified
from tests.integer_graphs import TINY, conv, int8_clip, per_channel
from tests.tile_operators import alu_step
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.local import LocalBuilder, LocalRunner, build_module
from vta.autotune.measure.measure import Candidate, MeasureOption, measure
from vta.autotune.session import TuneOptions, tune
from vta.autotune.space import Space
from vta.autotune.task import task_of_graph
from vta.compiler.compile import compile_graph
from vta.errors import TuningError
from vta.ir.graph import Graph, call, graph_input
from vta.ir.interpreter import evaluate
from vta.isa.instruction import AluOp
from vta.records import schedules
from vta.records.log import RecordLog, read_log
from vta.records.measurement import ErrorKind, failed
from vta.schedule.choose import choose_schedule

K0 = config("sim")
K2 = replace(K0, log_block=5)
K9 = TINY


def wide_kernel():
    """1x16x56x56 to 16 channels, 5x5, padding 2."""
    data = graph_input("x", (1, 16, 56, 56), "int8")
    value = conv(data, int8_data((16, 16, 5, 5), seed=2), "c", padding=(2, 2, 2, 2))
    return Graph((data,), (int8_clip(value, "c"),), "c")


def biased():
    data = graph_input("x", (1, 32, 8, 8), "int8")
    value = conv(data, int8_data((32, 32, 3, 3), seed=2), "c", padding=(1, 1, 1, 1))
    value = call("add", [value, per_channel(np.arange(32))], "c")
    return Graph((data,), (int8_clip(value, "c"),), "c")


@pytest.mark.parametrize("tuner", ["random", "ga"])
def test_a_small_buffer_is_served_by_splitting_the_kernel(tuner, tmp_path):
    task = task_of_graph(wide_kernel(), K9)
    assert (5, 5) in task.space.kernels
    log = RecordLog(tmp_path / "log")
    (report,) = tune([task], in_process(K9), TuneOptions(tuner, 24), log)
    assert report.errors == {}
    assert (report.best.tile_kh, report.best.tile_kw) != (5, 5), "25 weight rows do not fit 16"
    assert report.gops > 0
    history = schedules(log.path)
    compiled = compile_graph(task.graph, K9, schedules=history)
    assert history.notes == {}
    x = int8_data((1, 16, 56, 56), seed=1)
    for run in run_verified(compiled, {task.graph.inputs[0].name: x}):
        np.testing.assert_array_equal(run.outputs[0], evaluate(task.graph, {task.graph.inputs[0].name: x})[0])


def test_a_space_without_a_valid_point_ends_the_tuner_with_counts_per_reason():
    operator = task_of_graph(biased(), K0).operator
    crowded = replace(operator, epilogue=(*operator.epilogue, *[alu_step(AluOp.ADD, np.zeros(32, np.int64))] * 80))
    with pytest.raises(TuningError, match=r"no valid candidate on sim_.*: [\d,]+ points: .*accumulator buffer"):
        Space([crowded], K9)


def test_when_every_trial_fails_nothing_is_recorded_as_best(tmp_path):
    class Broken:
        def run(self, candidates, builds):
            return [failed(ErrorKind.RUNTIME_DEVICE, "no device") for _ in candidates]

    log = RecordLog(tmp_path / "log")
    option = MeasureOption(in_process(K0).builder, Broken())
    with pytest.raises(TuningError, match=r"no valid candidate: .*9 trials: runtime_device: no device"):
        tune([task_of_graph(biased(), K0)], option, TuneOptions("random", 8), log)
    assert all(line.record.cost == float("inf") for line in read_log(log.path))


def test_a_log_of_another_config_falls_back_naming_the_field(tmp_path, caplog):
    log = RecordLog(tmp_path / "k0.log")
    tune([task_of_graph(biased(), K0)], in_process(K0), TuneOptions("random", 8), log)
    graph = biased()
    with caplog.at_level(logging.WARNING):
        compiled = compile_graph(graph, K2, schedules=schedules(log.path))
    (message,) = caplog.messages
    assert "LOG_BLOCK = 4 there and 5 here" in message
    assert "using the default schedule" in message
    x = int8_data((1, 32, 8, 8), seed=1)
    for run in run_verified(compiled, {"x": x}):
        np.testing.assert_array_equal(run.outputs[0], evaluate(graph, {"x": x})[0])


def build_for_ever(job):
    while job.schedule.acc_slots == 2:
        time.sleep(0.01)
    return build_module(job)


def test_a_candidate_that_runs_for_ever_costs_its_timeout():
    task = task_of_graph(biased(), K0)
    schedule = choose_schedule(task.operator, K0)
    candidates = [Candidate(task, replace(schedule, acc_slots=slots)) for slots in (2, 1)]
    builder, runner = LocalBuilder(timeout=5, build_func=build_for_ever), LocalRunner(timeout=60, check_correctness=True)
    try:
        hanging, good = measure(candidates, MeasureOption(builder, runner))
    finally:
        builder.close()
        runner.close()
    assert hanging.error is ErrorKind.BUILD_TIMEOUT
    assert hanging.seconds >= 5
    assert good.error is ErrorKind.NONE


def test_records_are_json_lines(tmp_path):
    log = RecordLog(tmp_path / "log")
    tune([task_of_graph(biased(), K0)], in_process(K0), TuneOptions("random", 4), log)
    for line in log.path.read_text().splitlines():
        assert json.loads(line)["input"][1] == "conv2d_packed.vta"
