"""Logs of trials."""

import math

import pytest

from vta.errors import TuningError
from vta.pages.data.tuning_log import load_log
from vta.pages.data.workload_label import distinct_names, workload_label
from vta.records.log import read_log
from vta.sweep.workloads import parse_identity


def test_curves_fall_to_the_best_of_the_log(sources):
    log = load_log(sources["tuning"])
    records = [line.record for line in read_log(sources["tuning"]) if line.record is not None]
    assert sum(workload.count for workload in log.workloads) == len(records)
    for workload in log.workloads:
        own = [record for record in records if record.workload.identity == workload.identity]
        costs = [trial.cost for trial in workload.trials if math.isfinite(trial.cost)]
        assert workload.best == min(costs)
        assert workload.count == len(own)
        assert [cost for _, cost in workload.curve] == sorted({cost for _, cost in workload.curve}, reverse=True)
        assert workload.unit == "cycles"


def test_lines_that_are_no_record_are_counted(tmp_path, sources):
    path = tmp_path / "torn.log"
    path.write_text("# a comment\nnonsense\n" + sources["tuning"].read_text())
    assert load_log(path).problems == 1
    path.write_text("nonsense\n")
    with pytest.raises(TuningError, match=r"torn\.log: has no tuning record"):
        load_log(path)


def test_names_of_workloads_are_what_people_say():
    texts = {
        "conv2d_packed.vta:1x4x56x56x1x16:8x4x3x3x16x16:2x2:1x1x1x1:1x1": "conv2d 64x56x56 to 128, 3x3, stride 2",
        "dense_packed.vta:1x4x1x16:2x4x16x16": "dense 64 to 32",
    }
    assert {text: workload_label(parse_identity(text)) for text in texts} == texts
    assert distinct_names(["a", "b", "a"]) == ["a", "b", "a (2)"]
