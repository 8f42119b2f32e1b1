"""Dense layers of one image by default and by each split of the template; softmax by default and by each schedule of rows.

    python benchmarks/gpu_small.py [--target cuda|opencl] [--json]

Times are the device's, in microseconds; every result is compared with that of the default.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from vta.autotune.auto.gpu.engine import GpuEngine
from vta.autotune.auto.gpu.machine import GpuMachine
from vta.autotune.auto.gpu.tasks import gpu_auto_tasks
from vta.autotune.auto.measure import LocalMeasure, Timing
from vta.autotune.auto.space import Genome
from vta.autotune.gpu.task import GpuTarget
from vta.host.gpu.build import build_gpu_kernel, tiled_sums
from vta.host.gpu.drivers.open import open_gpu
from vta.host.gpu.splitting import GpuSplit, split_choices
from vta.host.kernels.group import Group
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.support.on_cores import usable_cores

DENSE = ((256, 1000), (512, 1000), (1024, 1000), (2048, 1000), (4096, 4096))
"""Lengths of sums, and results."""
SOFTMAX = ((1, 1000), (197, 196), (2364, 196), (128, 128))
"""Rows, and how long they are."""


def dense_row(length: int, outputs: int, target: GpuTarget, measurer: LocalMeasure) -> dict[str, Any]:
    """One dense layer."""
    weights = np.random.default_rng(0).standard_normal((outputs, length)).astype(np.float32)
    node = call(ops.DENSE, [graph_input("data", (1, length), "float32"), constant(weights)])
    task = _task(node, target)
    some = task.space.make(task.space.genome("elements", {"threads": 128, "each": 1, "parts": 1}))
    counts = split_choices(tiled_sums(node), target.limits)
    made = []
    for parts in counts:
        kernel = build_gpu_kernel(Group((node,), node), target.limits, GpuSplit(parts))
        made.append(replace(some, program=lower(scheduled(kernel.kernel, kernel.steps))))
    return _row(f"dense {length} to {outputs}", task, measurer, dict(zip(map(str, counts), made, strict=True)))


def softmax_row(rows: int, length: int, target: GpuTarget, measurer: LocalMeasure) -> dict[str, Any]:
    """One softmax."""
    node = call(ops.SOFTMAX, [graph_input("data", (rows, length), "float32")], axis=-1)
    task = _task(node, target)
    options = [range(len(knob.options)) for knob in task.space.sketches["rows"].knobs]
    made = {str(genes): task.space.make(Genome("rows", genes)) for genes in product(*options)}
    return _row(f"softmax {rows} x {length}", task, measurer, {name: item for name, item in made.items() if item is not None})


def _task(node: Node, target: GpuTarget) -> Any:
    (task,) = gpu_auto_tasks(Graph((node.inputs[0],), (node,)), [node], [node], GpuMachine(target))
    return task


def _row(name: str, task: Any, measurer: LocalMeasure, made: dict[str, Any]) -> dict[str, Any]:
    default = measurer.default(task).cost
    results = dict(zip(made, measurer.measure(task, list(made.values())), strict=True))
    best = min(results, key=lambda item: results[item].cost)
    return {
        "kernel": name,
        "default_us": default * 1e6,
        "best_us": default * results[best].cost * 1e6,
        "best": best,
        "trials": len(results),
        "errors": Counter(result.error.name for result in results.values()),
        "parts_of_default": {key: result.cost for key, result in results.items()} if len(results) < 20 else {},
    }


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=("cuda", "opencl"), default="cuda")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    device = open_gpu(options.target)
    target = GpuTarget(options.target, device.name, device.limits, getattr(device, "architecture", ""))
    with closing(LocalMeasure(GpuEngine(target), Timing(3, 3.0), 10.0, usable_cores())) as measurer:
        rows = [dense_row(*shape, target, measurer) for shape in DENSE]
        rows += [softmax_row(*shape, target, measurer) for shape in SOFTMAX]
    print(json.dumps({"device": device.name, "rows": rows}) if options.json else "\n".join(map(str, rows)))


if __name__ == "__main__":
    # Worker processes find functions by the name of their module.
    from benchmarks.gpu_small import main as run

    run()
