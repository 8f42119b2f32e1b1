"""Lowering gives the same graph whether a second process takes a part in it or not."""

import os
import subprocess
import sys

import pytest

CODE = """
import os, sys
import numpy as np
from vta.config.hardware import HardwareConfig
from vta.files import second_process
from vta.ir import names as ops
from vta.ir.diagnostics import Diagnostics
from vta.ir.graph import Graph, call, constant, graph_input
from vta.quantization.lowering.lower import lower

rng = np.random.default_rng(3)
channels = 16
value = source = graph_input("x", (1, channels, 5, 5), "int8")
for layer in range(6):
    weight = constant(rng.integers(-127, 128, (channels, channels, 3, 3), np.int8), f"w{layer}")
    scales = tuple(rng.uniform(1e-3, 3e-3, channels).tolist())
    read = dict(input_scale=0.05, input_zero_point=-3, kernel_scale=scales, padding=(1, 1, 1, 1))
    product = call(ops.QNN_CONV2D, [value, weight], f"l{layer}", **read)
    total = call(ops.BIAS_ADD, [product, constant(rng.integers(-9000, 9000, channels, np.int32))], f"l{layer}")
    value = call(
        ops.QNN_REQUANTIZE, [total], f"l{layer}", input_scale=tuple(0.05 * scale for scale in scales), output_scale=0.07,
        output_zero_point=-3, rounding="tflite", out_dtype="int8",
    )
    if layer % 2:
        value = call(
            ops.QNN_ADD, [value, value], f"sum{layer}", lhs_scale=0.07, rhs_scale=0.07, output_scale=0.05, lhs_zero_point=-3,
            rhs_zero_point=-3, output_zero_point=-3, rounding="tflite",
        )
forks = []
split, os.sched_getaffinity = os.fork, lambda pid: {0, 1}
os.fork = lambda: forks.append(1) or split()
if len(sys.argv) > 1:
    second_process.allow_second_process()
said = Diagnostics()
lowered = lower(Graph((source,), (value,)), HardwareConfig.named("sim"), said)
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
