"""The comparison of tuners, as scripts call it, at small numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_figures_that_scripts_rely_on():
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "tuners.py"),
        "--tuners",
        "ga",
        "--trials",
        "128",
        "--json",
    ]
    done = subprocess.run(
        [*command, "--large-seeds", "1"], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True, text=True
    )
    figures = json.loads(done.stdout)
    assert len(figures["enumerated"]) == 3
    for row in figures["enumerated"]:
        assert 1 <= row["median_over_optimum"]["ga"] <= 1.01
    assert len(figures["resnet18"]) == 10
    assert figures["gain"]["ga"] > 1
