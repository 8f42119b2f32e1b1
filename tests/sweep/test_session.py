"""Whole sweeps: kill and resume, failures, time limits."""

import os
from dataclasses import replace

import onnx
import pytest

from tests.tflite_models import small_net
from vta.config.hardware import HardwareConfig
from vta.config.technology import Technology
from vta.demo import model_path
from vta.errors import SweepError
from vta.sweep.session import begin, run_sweep, working_in
from vta.sweep.spec import Net, Spec
from vta.sweep.table import Status, Table

WORKLOAD = "conv2d_packed.vta:1x1x6x6x1x16:2x1x3x3x16x16:1x1:1x1x1x1:1x1"
SPEC = Spec(
    HardwareConfig.named("sim").to_json(), {"LOG_INP_BUFF_SIZE": (13, 15)}, {"bus_bits": (64, 128)}, (), (WORKLOAD,), "ga", 4
)

ONE = replace(SPEC, config={}, timing={}, trials=0)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A sweep that was not disturbed."""
    return run_sweep(SPEC, tmp_path_factory.mktemp("sweep") / "whole")


def stop_after_first(row, done, total):
    raise KeyboardInterrupt


def test_every_point_has_a_row(finished):
    assert [(row.point, row.status, row.bus_bits) for row in finished.rows] == [
        (number, Status.OK, (64, 128)[number % 2]) for number in range(4)
    ]
    for row in finished.rows:
        assert 0 < row.roofline_cycles <= row.cycles
        assert row.macs == 36 * 9 * 16 * 32
        assert row.trials == 4
    assert finished.rows[0].cycles > finished.rows[1].cycles, "a wider bus is faster here"
    assert Table(finished.table).read() == list(finished.rows)


def test_tuning_is_no_worse_than_the_default(finished, tmp_path):
    default = run_sweep(replace(SPEC, trials=0), tmp_path / "default")
    assert sum(row.cycles for row in finished.rows) <= sum(row.cycles for row in default.rows)
    assert [row.trials for row in default.rows] == [0] * 4


@pytest.mark.parametrize("cut", [0, 7])
def test_killed_and_resumed_it_ends_the_same(cut, finished, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_sweep(SPEC, tmp_path, jobs=1, watch=stop_after_first)
    table = Table(tmp_path / "sweep.csv")
    assert [row.point for row in table.read()] == [0], "the table can be read after the kill"
    text = table.path.read_text()
    table.path.write_text(text + text.splitlines()[1][:cut])
    (tmp_path / "records" / "1.log").write_text('{"input": [')
    ran = []
    resumed = run_sweep(SPEC, tmp_path, resume=True, watch=lambda row, done, total: ran.append((row.point, done, total)))
    assert sorted(point for point, _, _ in ran) == [1, 2, 3]
    assert ran[-1][1:] == (4, 4)
    assert resumed.rows == finished.rows
    assert table.path.read_bytes() == finished.table.read_bytes()


def test_one_process_at_a_time_runs_a_sweep(finished):
    folder = finished.table.parent
    before = finished.table.read_bytes()
    with working_in(folder), pytest.raises(SweepError, match="another process runs this sweep; wait for it"):
        run_sweep(SPEC, folder, resume=True)
    assert run_sweep(SPEC, folder, resume=True).ran == 0
    assert finished.table.read_bytes() == before


def test_a_directory_is_not_overwritten(finished):
    with pytest.raises(SweepError, match="has a sweep already; resume it"):
        run_sweep(SPEC, finished.table.parent)


def test_another_sweep_does_not_go_on_with_the_table(finished):
    with pytest.raises(SweepError, match=r"begun with trials = 4, now 8; go on with the sweep as it was"):
        run_sweep(replace(SPEC, trials=8), finished.table.parent, resume=True)


@pytest.mark.parametrize(
    "begun", [{"hints": 2}, {"technology": replace(Technology(), dram_byte_pj=1.0)}, {"requantize": ("close",)}]
)
def test_what_decided_the_results_stays_though_it_is_left_out(begun, tmp_path):
    spec = replace(ONE, **begun)
    begin(spec, spec.identity(), tmp_path, resume=False)
    with pytest.raises(SweepError, match=r"begun with \w+ = .*, now null; go on with the sweep as it was"):
        begin(ONE, ONE.identity(), tmp_path, resume=True)
    begin(spec, spec.identity(), tmp_path, resume=True)


def test_weights_in_files_of_their_own_decide_the_results(tmp_path):
    model = onnx.load(model_path())
    path = tmp_path / "net.onnx"
    onnx.save(model, path, save_as_external_data=True, location="net.data", size_threshold=0)
    spec = replace(ONE, nets=(Net(str(path)),))
    before = spec.identity()
    assert before["nets"] == spec.identity()["nets"]
    weights = tmp_path / "net.data"
    weights.write_bytes(bytes(weights.stat().st_size))
    assert before["nets"] != spec.identity()["nets"]


@pytest.mark.parametrize(("name", "content"), [("net.onnx", b"location"), ("net-symbol.json", b"{}")])
def test_models_that_cannot_be_read_are_told_apart(name, content, tmp_path):
    spec = replace(ONE, nets=(Net(str(tmp_path / name)),))
    (tmp_path / name).write_bytes(content)
    before = spec.identity()
    (tmp_path / name).write_bytes(content * 2)
    assert before["nets"] != spec.identity()["nets"]


def test_no_legal_config(tmp_path):
    with pytest.raises(SweepError, match=r"none of the 1 configs is legal: .*LOG_BLOCK = 7 is out of range"):
        run_sweep(replace(SPEC, config={"LOG_BLOCK": (7,)}), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_point_that_cannot_be_compiled_costs_itself(tmp_path):
    broken = "conv2d_packed.vta:1x1x2x2x1x16:1x1x3x3x16x16:1x1:0x0x0x0:1x1"
    bad, good = run_sweep(replace(ONE, workloads=(broken, WORKLOAD)), tmp_path).rows
    assert (bad.status, good.status) == (Status.FAILED, Status.OK)
    assert "its arguments do not go together" in bad.reason


def die(job):
    """In a worker: take the process down."""
    os._exit(3)


def hang(job):
    """In a worker: never end."""
    while True:
        pass


@pytest.mark.parametrize(
    ("act", "limit", "status", "reason"),
    [
        (die, 60.0, Status.CRASHED, "the worker process ended with exit code 3"),
        (hang, 0.2, Status.TIMEOUT, "took longer than 0.2 s"),
    ],
)
def test_points_that_crash_or_hang_cost_themselves_and_are_tried_again(act, limit, status, reason, tmp_path, monkeypatch):
    spec = replace(ONE, timing={"bus_bits": (64, 128)})
    with monkeypatch.context() as patch:
        patch.setattr("vta.sweep.workplace.evaluate", act)
        rows = run_sweep(replace(spec, time_limit=limit), tmp_path).rows
    assert [(row.status, row.reason) for row in rows] == [(status, reason)] * 2
    assert [row.status for row in run_sweep(spec, tmp_path, resume=True).rows] == [Status.OK] * 2


def test_a_part_of_a_network(tmp_path):
    net = Net(str(model_path()))
    whole, part = run_sweep(replace(ONE, workloads=(), nets=(net, replace(net, stop="nn.max_pool2d"))), tmp_path).rows
    assert (whole.workload, part.workload) == ("digits.onnx", "digits.onnx[:nn.max_pool2d]")
    assert 0 < part.macs < whole.macs
    assert 0 < part.cycles < whole.cycles


def test_ways_to_requantize_differ_in_cycles(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(small_net())
    nets = tuple(Net(str(path), requantize=way) for way in ("exact", "close", "shift"))
    rows = run_sweep(replace(ONE, nets=nets, workloads=()), tmp_path / "sweep").rows
    assert [row.workload for row in rows] == ["net.tflite", "net.tflite~close", "net.tflite~shift"]
    assert rows[0].cycles > rows[1].cycles > rows[2].cycles
