"""Records: read, written, and never half there."""

import json
import multiprocessing
import re
from dataclasses import replace

import pytest

from tests.autotune._tasks import small_task
from tests.integer_graphs import BASELINE
from vta.errors import TuningError
from vta.records.knobs import entity_of
from vta.records.log import Record, RecordLog, parse_line, pick_best, read_log, record_of, to_line, with_scalar_operands
from vta.records.measurement import ErrorKind, Measurement, failed
from vta.records.workload import Workload

PUBLISHED = {
    "input": [
        "ext_dev -device=vta -keys=cpu -model=pynq_1x16_i8w8a32_15_15_18_17",
        "dense_packed.vta",
        [["TENSOR", [1, 16, 1, 16], "int8"], ["TENSOR", [8, 16, 16, 16], "int8"], None, "int32"],
        {},
    ],
    "config": {"index": 5, "code_hash": None, "entity": [["tile_ci", "sp", [1, 16]], ["oc_nthread", "ot", 1]]},
    "result": [[0.00014], 0, 7.5, 1562808175.5],
    "version": 0.2,
    "tvm_version": "0.7.dev0",
}


def record(cost=1e-3, number=0, workload=None):
    task = small_task()
    entity = entity_of(task.space.schedule(number), task.operator)
    result = Measurement((cost,), round(cost * 1e8), seconds=0.1, timestamp=2.0)
    return record_of(workload or task.workload, BASELINE, entity, number, result, "cycle")


def test_ours_survives_the_file():
    line = parse_line(to_line(record()))
    assert line.record == record()
    assert line.record.model == BASELINE.model


def test_ours_has_the_published_fields():
    values = json.loads(to_line(record()))
    assert list(values) == [*PUBLISHED, "vta"]
    assert values["config"].keys() == PUBLISHED["config"].keys()
    assert len(values["result"]) == 4


def test_a_published_record():
    found = parse_line(json.dumps(PUBLISHED)).record
    assert (found.model, found.workload.name, found.index, found.cost) == (
        "pynq_1x16_i8w8a32_15_15_18_17",
        "dense_packed.vta",
        5,
        0.00014,
    )
    assert found.entity == (("tile_ci", "sp", (1, 16)), ("oc_nthread", "ot", 1))
    assert found.device == ""


@pytest.mark.parametrize("name", ["vta_v0.06.log", "vta_v0.10.log"])
def test_the_published_logs_load(shared, name):
    lines = read_log(shared / "tophub" / name)
    assert not [line for line in lines if line.problem]
    assert {"conv2d_packed.vta", "dense_packed.vta"} <= {line.record.workload.name for line in lines if line.record}


def test_the_resnet18_rows_of_the_published_log_are_our_tasks(shared):
    from benchmarks.simulator import RESNET18, graph_of
    from vta.autotune.task import task_of_graph

    records = [line.record for line in read_log(shared / "tophub" / "vta_v0.10.log") if line.record]
    known = {found.workload for found in records if found.model == "pynq_1x16_i8w8a32_15_15_18_17"}
    for layer in RESNET18:
        assert task_of_graph(graph_of(layer, 1), replace(BASELINE, target="pynq")).workload in known


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"input": [1', "not JSON: .*; the line may have been cut off"),
        ("[]\n", "a record is a JSON object, got list"),
        ("{}\n", "neither 'input' nor 'i' among the keys"),
        (json.dumps({**PUBLISHED, "version": 0.7}) + "\n", "version 0.7 is unknown; allowed: 0.2, 0.3"),
        (json.dumps({**PUBLISHED, "config": {}}) + "\n", "config: entity is missing"),
        (json.dumps({**PUBLISHED, "result": [["x"], 0, 0, 0]}) + "\n", "a cost is 'x'; allowed: a number"),
    ],
)
def test_lines_that_are_no_records_say_why(text, problem):
    line = parse_line(text, 7)
    assert line.record is None
    assert line.number == 7
    assert re.search(problem, line.problem)


def test_comments_and_blank_lines_are_neither():
    for text in ("# head\n", "\n", "  # more"):
        line = parse_line(text)
        assert line.comment
        assert (line.record, line.problem) == (None, "")


def test_the_best_of_each_workload_and_config():
    other = replace(record(5e-3), target=record().target.replace("sim_", "pynq_"))
    broken = replace(record(1e-9), error=int(ErrorKind.RUNTIME_DEVICE))
    assert pick_best([record(3e-3), record(2e-3, 1), broken, other]) == [record(2e-3, 1), other]


def test_a_failed_trial_has_no_cost():
    task = small_task()
    found = record_of(task.workload, BASELINE, (), 3, failed(ErrorKind.RUN_TIMEOUT, "late"), "cycle")
    again = parse_line(to_line(found)).record
    assert again.error == ErrorKind.RUN_TIMEOUT
    assert again.cost == float("inf")


def test_equal_operands_get_a_second_record_with_a_scalar():
    tensor = ("TENSOR", (1, 2, 5, 5, 1, 16), "int32")
    pair = record(workload=Workload("add.vta", (tensor, tensor)))
    scalar = replace(pair, workload=Workload("add.vta", (tensor, ("TENSOR", (), "int32"))))
    assert list(with_scalar_operands([pair, scalar, record()])) == [pair, scalar, scalar, record()]


def test_appending_closes_a_line_that_was_cut_off(tmp_path):
    path = tmp_path / "log"
    path.write_text('{"input": [1')
    RecordLog(path).append([record()])
    cut, whole = read_log(path)
    assert cut.record is None
    assert whole.record == record()


def _write(path, first):
    log = RecordLog(path)
    for number in range(first, first + 40):
        log.append([record(1e-3 + number * 1e-6, number)])


def test_two_writers_at_once(tmp_path):
    path = tmp_path / "log"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, first)) for first in (0, 100)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = read_log(path)
    assert sorted(line.record.index for line in lines) == [*range(40), *range(100, 140)]


def test_files_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(TuningError, match="none/log: cannot be written"):
        RecordLog(tmp_path / "none" / "log").append([record()])
    with pytest.raises(TuningError, match="none: cannot be read"):
        read_log(tmp_path / "none")
    RecordLog(tmp_path / "none" / "log").append([])


def test_targets_other_than_vta_have_no_model():
    assert Record("llvm -model=x", Workload("dense", ()), (), 0, (1.0,)).model == ""


def test_a_line_of_a_known_workload_is_the_same_record():
    text = to_line(record())
    assert parse_line(text, workload=record().workload) == parse_line(text)


@pytest.mark.parametrize("content", [b"PK\x03\x04\n123\n", b"\x08\x08\x12\x03vta:\xb6\xfc\n"])
def test_a_file_of_another_kind_is_neither_read_nor_written(tmp_path, content):
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    for use in (lambda: read_log(path), lambda: RecordLog(path).append([record()])):
        with pytest.raises(TuningError, match=r"net\.onnx: it is no log of records: what it holds is not text"):
            use()
    assert path.read_bytes() == content


@pytest.mark.parametrize("damage", [b"\0" * 512, b"\x01\x02\n", b"\xff\xfe\n"])
def test_a_log_whose_start_is_damaged_is_used(tmp_path, damage):
    path = tmp_path / "log"
    path.write_bytes(damage + b"\n" + to_line(record()).encode())
    RecordLog(path).append([record()])
    assert len([line for line in read_log(path) if line.record]) == 2
