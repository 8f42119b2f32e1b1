"""The example that tunes additions and multiplications, with few trials on small images."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines import missing_for_opencl
from vta.records.log import read_log

ROOT = Path(__file__).resolve().parents[2]


def run(directory, *arguments):
    command = [sys.executable, str(ROOT / "examples" / "tune_alu_opencl.py"), "--image-size", "64", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("device", "config"), [("opencl", "intelfocl"), ("cycle", "sim")])
def test_the_flow(device, config, tmp_path):
    if device == "opencl" and missing_for_opencl():
        pytest.skip(missing_for_opencl())
    done = run(tmp_path, "--device", device, "--config", config, "--trials", "3", "--tasks", "3")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "add.vta:1x1000:1x1000: dropped, its operands are not packed" in lines
    assert sum(line.endswith("dropped, it computes in float") for line in lines) == 1
    pair = "1x4x16x16x1x16"
    assert f"add.vta:{pair}:{pair}: tuned together with add.vta:{pair}:scalar" in lines
    assert sum("3 of 3 trials" in line for line in lines) == 3
    assert lines[-1].startswith("3 tasks, each with a tensor and with a scalar: compiled with alu.log, bit-exact")
    records = [line.record for line in read_log(tmp_path / "alu.log")]
    assert {record.workload.name for record in records} == {"add.vta", "multiply.vta"}
    assert {record.device for record in records} == {device}
    assert all((record.cycles is None) == (device == "opencl") and record.cost < 1 for record in records)
    shapes = [record.workload.tensors for record in records]
    for first, second in shapes[::2]:
        assert first == second
    assert [(first, ()) for first, _ in shapes[::2]] == shapes[1::2]


def test_a_target_without_such_operators(tmp_path):
    done = run(tmp_path, "--config", "pynq")
    assert done.returncode == 1
    assert "pynq has no operators of the ALU alone; targets that have them: sim, cycle, rtl, intelfocl" in done.stderr
    assert not (tmp_path / "alu.log").exists()
