"""Lowering gives the same graph whether a second process takes a part in it or not."""

import os
import subprocess
import sys

import pytest

CODE = """
import os, sys
from tests.quantized_layers import quantized_layers
from vta.config.hardware import HardwareConfig
from vta.files import second_process
from vta.ir.diagnostics import Diagnostics
from vta.quantization.lowering.lower import lower

forks = []
split, os.sched_getaffinity = os.fork, lambda pid: {0, 1}
os.fork = lambda: forks.append(1) or split()
if len(sys.argv) > 1:
    second_process.allow_second_process()
said = Diagnostics()
lowered = lower(quantized_layers(sums=True), HardwareConfig.named("sim"), said)
for node in lowered.nodes():
    print(node.op, node.name, node.type, node.attrs, None if node.value is None else node.value.tolist())
print(*said)
print("forks", len(forks), file=sys.stderr)
"""


def lowered(cache, *arguments):
    environment = {**os.environ, "VTA_CACHE_PATH": str(cache)}
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=False, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.split()[-1], sorted(path.name for path in cache.rglob("*.kept"))


@pytest.mark.skipif(sys.platform != "linux", reason="others have one process")
def test_the_graph_is_the_same(tmp_path):
    alone, forks, kept = lowered(tmp_path / "alone")
    assert (forks, len(kept)) == ("0", 7)
    together, forks, kept_by_both = lowered(tmp_path / "both", "second")
    assert forks == "1"
    assert (together, kept_by_both) == (alone, kept)
    again, forks, _ = lowered(tmp_path / "both", "second")
    assert (again, forks) == (alone, "0"), "all of it was kept"
