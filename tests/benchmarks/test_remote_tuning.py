"""The benchmark of tuning on servers as scripts call it, with little to do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="needs the packages of the extra rpc")

ROOT = Path(__file__).resolve().parents[2]


def test_the_figures_that_scripts_rely_on():
    script = str(ROOT / "benchmarks" / "remote_tuning.py")
    command = [sys.executable, script, "--servers", "1,2", "--tasks", "2", "--trials", "3", "--json"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert len(figures["best_cycles"]) == 2
    assert [run["servers"] for run in figures["runs"]] == [1, 2]
    for run in figures["runs"]:
        assert (run["trials"], run["failed"], run["same"]) == (6, 0, True)
        assert run["trials_per_second"] > 0
