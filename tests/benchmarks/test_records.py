"""The makers of the shipped records and of the comparison with the published ones, as scripts call them."""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.published_records import rows_of
from vta.autotune.usable import use_problem
from vta.records.check import cost_problem
from vta.records.log import read_log

ROOT = Path(__file__).resolve().parents[2]


def test_records_are_made_and_only_get_better(tmp_path):
    pytest.importorskip("xgboost")
    best = []
    for seed in ("0", "1"):
        options = ["--configs", "sim", "--networks", "resnet8", "--trials", "4", "--seed", seed, "-o", str(tmp_path)]
        command = [sys.executable, str(ROOT / "benchmarks" / "shipped_records.py"), *options]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
        (path,) = tmp_path.glob("*.log")
        records = [line.record for line in read_log(path) if not line.comment]
        assert len({record.workload for record in records}) == 9
        assert not [problem for record in records if (problem := use_problem(record) or cost_problem(record))]
        best.append(
            {workload: min(r.cycles for r in records if r.workload == workload) for workload in {r.workload for r in records}}
        )
    assert all(best[1][workload] <= cycles * 1.01 for workload, cycles in best[0].items()), "charges for instructions may differ"


def test_ours_is_never_worse_than_the_published_schedule(shared):
    rows = list(islice(rows_of(shared / "tophub" / "vta_v0.10.log", False, 2, "ga"), 18))
    assert sum("best" in row for row in rows) >= 15
    assert all(row["best"] <= row["published"] for row in rows if "best" in row)
