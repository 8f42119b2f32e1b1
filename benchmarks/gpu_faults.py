"""What goes wrong on a GPU costs one trial: a kernel that hangs, one that writes far outside of its arrays, a wrong result.

    python benchmarks/gpu_faults.py [--target cuda|opencl] [--timeout S] [--json]

Each is timed as a trial of a search, and a good schedule after it. The kernel that hangs would end by itself in minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from vta.autotune.auto.gpu.engine import GpuEngine
from vta.autotune.auto.gpu.machine import GpuMachine
from vta.autotune.auto.gpu.tasks import gpu_auto_tasks
from vta.autotune.auto.measure import LocalMeasure, Timing
from vta.autotune.gpu.task import GpuTarget
from vta.host.gpu.drivers.open import open_gpu
from vta.host.loop.expression import const, index
from vta.host.loop.nest import Loop, Program, Statement, Store
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input

_AGAIN = 1 << 36
"""Times that a kernel which hangs does the same."""
_FAR = 1 << 40


def hanging(program: Program) -> Program:
    """A program whose last kernel computes the same again and again."""
    return _with_body(program, Loop("again", _AGAIN, "serial", program.functions[-1].body))


def beyond(program: Program) -> Program:
    """A program that writes far outside of its arrays."""
    output = program.output
    return _with_body(program, Store(output, (index(_FAR),) * len(output.shape), const(0, output.dtype)))


def wrong(program: Program) -> Program:
    """A program that computes nothing."""
    return _with_body(program, Loop("never", 0, "serial", program.functions[-1].body))


def same(program: Program) -> Program:
    """The program itself."""
    return program


def _with_body(program: Program, body: Statement) -> Program:
    *before, last = program.functions
    return replace(program, functions=(*before, replace(last, body=body)))


def main() -> None:
    """Print what became of each trial."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=("cuda", "opencl"), default="cuda")
    parser.add_argument("--timeout", type=float, default=4.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    device = open_gpu(options.target)
    target = GpuTarget(options.target, device.name, device.limits, getattr(device, "architecture", ""))
    data = graph_input("data", (1, 16, 14, 14), "float32")
    weights = np.random.default_rng(0).standard_normal((16, 16, 3, 3)).astype(np.float32)
    node = call(ops.CONV2D, [data, constant(weights)], padding=(1, 1, 1, 1))
    (task,) = gpu_auto_tasks(Graph((data,), (node,)), [node], [node], GpuMachine(target))
    genome = task.space.genome("elements", {"threads": 64, "each": 1, "parts": 1})
    made = None if genome is None else task.space.make(genome)
    assert made is not None, "any device has room for it"
    changes: tuple[Callable[[Program], Program], ...] = (hanging, same, beyond, same, wrong, same)
    with closing(LocalMeasure(GpuEngine(target), Timing(3, 1.0), options.timeout)) as measurer:
        schedules = [replace(made, program=change(made.program)) for change in changes]
        results = measurer.measure(task, schedules)
    rows = [
        {"kernel": change.__name__, "error": result.error.name, "message": result.message, "parts_of_default": result.cost}
        for change, result in zip(changes, results, strict=True)
    ]
    print(json.dumps({"device": device.name, "trials": rows}) if options.json else "\n".join(map(str, rows)))


if __name__ == "__main__":
    # Worker processes find functions by the name of their module.
    from benchmarks.gpu_faults import main as run

    run()
