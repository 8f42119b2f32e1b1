"""Layouts of images for convolutions on a processor: rows, channels last, and blocks of channels, each with schedules of its own.

    python -m benchmarks.layouts [--trials N] [--json]

NCHW, NHWC, and NCHW16c, blocks as wide as a vector register, which kernels of the host have. For each layout and layer a search
has N trials; then the best schedules of the three are run in turns, and the least times of the thread's own clock compared. Data
have their border already, so that nothing but the layout differs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from vta.autotune.auto.cpu.engine import CpuEngine
from vta.autotune.auto.cpu.limits import limits_here
from vta.autotune.auto.cpu.machine import cpu_machine
from vta.autotune.auto.measure import LocalMeasure, Timing, run_arrays
from vta.autotune.auto.session import AutoOptions, auto_tune
from vta.autotune.auto.space import ScheduleSpace
from vta.autotune.auto.task import AutoTask
from vta.autotune.auto.timing import least_seconds
from vta.host.llvm.jit import compile_program
from vta.host.llvm.target import host_target
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Kernel, Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, load
from vta.host.processors import CpuTarget
from vta.records.host.schedules import compute_workload
from vta.support.on_cores import usable_cores

_RANDOM = 64
"""Schedules of which the model's best is what others are compared with while they are searched."""


@dataclass(frozen=True)
class Layer:
    """A convolution of stride 1 with a bias and a ReLU; with as many groups as channels where `depthwise`."""

    name: str
    channels: int
    outputs: int
    size: int
    kernel: int
    depthwise: bool = False


LAYERS = (
    Layer("3x3, 64 to 64, 28x28", 64, 64, 28, 3),
    Layer("1x1, 128 to 128, 14x14", 128, 128, 14, 1),
    Layer("depthwise 3x3, 64, 28x28", 64, 64, 28, 3, True),
)


def kernel_of(layer: Layer, layout: str, lanes: int) -> Kernel:
    """The layer as a kernel whose data and results lie in a layout."""
    reach, size = layer.size + layer.kernel - 1, layer.size
    blocked = layout == "NCHWc"
    channels = (layer.channels // lanes, lanes) if blocked else (layer.channels,)
    outputs = (layer.outputs // lanes, lanes) if blocked else (layer.outputs,)

    def shaped(parts: tuple[Any, ...], rows: Any, columns: Any) -> list[Any]:
        if layout == "NHWC":
            return [rows, columns, *parts]
        first, *rest = parts
        return [first, rows, columns, *rest]

    named = {"o": outputs[0], "c": outputs[1]} if blocked else {"o": outputs[0]}
    reduce = {} if layer.depthwise else {"i": channels[0], "j": channels[1]} if blocked else {"i": channels[0]}
    places = axes_of(dict(_ordered(layout, named, size)))
    taps = axes_of({**reduce, "kh": layer.kernel, "kw": layer.kernel})
    at: dict[str, Expr] = {axis.name: axis.var for axis in (*places, *taps)}
    own = tuple(at[name] for name in named)
    read = own if layer.depthwise else tuple(at[name] for name in reduce)
    data = Buffer("data", tuple(shaped(channels, reach, reach)), "float32")
    row, column = binary("add", at["y"], at["kh"]), binary("add", at["x"], at["kw"])
    # Outputs are the last dimension of weights where vectors go along them.
    lead, last = ((own[0],), own[1:]) if blocked else ((), own) if layout == "NHWC" else (own, ())
    inner = () if layer.depthwise else read
    order = (*lead, *inner, at["kh"], at["kw"], *last) if layout != "NHWC" else (at["kh"], at["kw"], *inner, *last)
    extents = {axis.name: axis.extent for axis in (*places, *taps)}
    weight = Buffer("weight", tuple(extents[place.name] for place in order), "float32")
    bias = Buffer("bias", tuple(named.values()), "float32")
    product = binary("mul", load(data, shaped(read, row, column)), load(weight, list(order)))
    sums = Buffer("sums", tuple(axis.extent for axis in places), "float32")
    total = Stage(sums, places, product, taps, "add", const(0, "float32"))
    value = binary("add", load(sums, [axis.var for axis in places]), load(bias, list(own)))
    result = Stage(Buffer("result", sums.shape, "float32"), places, binary("max", value, const(0, "float32")))
    return Kernel(layout, (data, weight, bias), (total, result))


def _ordered(layout: str, named: dict[str, int], size: int) -> list[tuple[str, int]]:
    """The axes of results in the order of a layout."""
    first, *rest = named.items()
    image = [("y", size), ("x", size)]
    return [*image, first, *rest] if layout == "NHWC" else [first, *image, *rest]


def task_of(layer: Layer, layout: str, target: CpuTarget) -> AutoTask:
    """A search task, whose default is the schedule that the model likes best of some."""
    machine = cpu_machine(target, limits_here(target))
    kernel = kernel_of(layer, layout, target.lanes(4))
    space, rng = ScheduleSpace(kernel, machine), np.random.default_rng(0)
    drawn = [space.random(rng, 4) for _ in range(_RANDOM)]
    default = min(space.make_all([genome for genome in drawn if genome is not None]), key=lambda made: made.figures.cycles)
    macs = layer.outputs * layer.size**2 * layer.kernel**2 * (1 if layer.depthwise else layer.channels)
    return AutoTask(compute_workload(kernel), kernel, default.program, (), machine, 2 * macs, ("convolution",))


def compare(layer: Layer, trials: int, measurer: LocalMeasure) -> dict[str, float]:
    """The least seconds of the best schedules of each layout, in turns."""
    target = host_target()
    runs: dict[str, Callable[[], Any]] = {}
    for layout in ("NCHW", "NHWC", "NCHWc"):
        task = task_of(layer, layout, target)
        (report,) = auto_tune([task], measurer, AutoOptions(trials, batch=8))
        program = task.default if report.best is None else report.best.program
        runs[layout] = compile_program(program).prepared(run_arrays(task)).run
    return dict(zip(runs, least_seconds(list(runs.values()), 20, 0.5), strict=True))


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with closing(LocalMeasure(CpuEngine(host_target()), Timing(), n_parallel=usable_cores())) as measurer:
        rows = {layer.name: compare(layer, options.trials, measurer) for layer in LAYERS}
    if options.json:
        print(json.dumps(rows))
        return
    print("| layer | NCHW, us | NHWC, us | NCHWc, us |\n|---|---|---|---|")
    for name, row in rows.items():
        print(f"| {name} | " + " | ".join(f"{seconds * 1e6:.1f}" for seconds in row.values()) + " |")


if __name__ == "__main__":
    main()
