"""The benchmark of the engines as scripts call it, without the hardware, which takes long."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_figures_that_scripts_rely_on():
    command = [sys.executable, str(ROOT / "benchmarks" / "cycle.py"), "--no-rtl", "--json"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    assert figures["simulated_cycles"] > 451_584
    for name in ("timing_only", "cycle"):
        assert figures["seconds"][name] > 0
        assert figures["cycles_per_second"][name] > 0
    assert figures["seconds"]["rtl"] is None
    assert figures["ratio"] == {"timing_only": None, "cycle": None}
