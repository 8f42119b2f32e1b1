"""Every kernel on a GPU against the references: the examples of all operators, and random products of bytes.

    python benchmarks/gpu_kernels.py [--device cuda|opencl] [--products N] [--jobs N] [--json]

Integers must be the same to the bit, floats within 2e-6 of the largest value; exponentials and their kin, which are no sums, too.
The products are convolutions and dense layers of random shapes, strides, dilations, borders and zero points, large enough that
devices which multiply matrices of bytes do so; each has its default tile, and one at random.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.host.examples import EXAMPLES, values_of
from vta.autotune.gpu.task import GpuTarget, gpu_task
from vta.autotune.measure.workers import Finished, WorkerPool
from vta.host.gpu.drivers.device import GpuDevice
from vta.host.gpu.drivers.open import shared_gpu
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input, topological
from vta.ir.interpreter import evaluate
from vta.records.gpu.knobs import entity_of_tile
from vta.runtime.host_part.gpu_kernels import choices_of
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import HostStep
from vta.support.on_cores import usable_cores

BOUND = 2e-6
_SECONDS = 300.0


def product(seed: int) -> Node:
    """A convolution or dense layer of bytes."""
    rng = np.random.default_rng(seed)
    channels, outputs = 32 * int(rng.integers(1, 7)), int(rng.integers(1, 6)) * int(rng.choice([5, 8, 16, 32]))
    zero_point = int(rng.integers(-128, 128))
    scales = {"input_scale": 1.0, "kernel_scale": 1.0, "input_zero_point": zero_point}
    if rng.random() < 0.25:
        rows = int(rng.integers(8, 200))
        weight = constant(rng.integers(-128, 128, (8 * outputs, channels)).astype(np.int8))
        return call(ops.QNN_DENSE, [graph_input("x", (rows, channels), "int8"), weight], **scales)
    size, kernel = rng.integers(6, 40, 2), rng.integers(1, 4, 2)
    data = graph_input("x", (int(rng.integers(1, 3)), channels, *map(int, size)), "int8")
    weight = constant(rng.integers(-128, 128, (outputs, channels, *kernel)).astype(np.int8))
    geometry = {"strides": rng.integers(1, 4, 2), "padding": rng.integers(0, 3, 4), "dilation": rng.integers(1, 3, 2)}
    attributes = {name: tuple(map(int, values)) for name, values in geometry.items()}
    return call(ops.QNN_CONV2D, [data, weight], **attributes, **scales)


def options_of(node: Node, seed: int, device: GpuDevice) -> Iterator[tuple[str, HostOptions]]:
    """A product with its default tile, and with one at random."""
    yield "default", HostOptions(gpu=device)
    task = gpu_task(node, GpuTarget(device.kind, device.name, device.limits))
    if task is not None and task.has_choice:
        tile = task.space.schedule(int(task.space.random(np.random.default_rng(seed), 1)[0]))
        tiles = choices_of({task.workload.identity: entity_of_tile(tile, task.workload.name)})
        yield str(tile), HostOptions(gpu=device, gpu_tiles=tiles)


def problem(node: Node, options: HostOptions, seed: int) -> str:
    """What is wrong with a kernel's results; empty if they are right."""
    graph = Graph(tuple(item for item in topological([node]) if item.op == ops.INPUT), (node,))
    feed = {item.name: values_of(item, np.random.default_rng(seed)) for item in graph.inputs}
    compiled = host_graph(graph, options)
    if any(isinstance(step, HostStep) for step in compiled.plan.steps):
        return "no kernel"
    (got,), (want,) = compiled.run(feed), evaluate(graph, feed)
    if want.dtype.kind != "f":
        return "" if np.array_equal(got, want) else f"{int((got != want).sum())} of {want.size} integers differ"
    with np.errstate(all="ignore"):
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        # Each order of adding rounds differently, in parts of the sum of the sizes.
        (sizes,) = evaluate(graph, {name: np.abs(value) for name, value in feed.items()}) if node.op == ops.SUM else (want,)
        far = np.abs(got - want) > BOUND * np.maximum(np.abs(want), np.abs(sizes[np.isfinite(sizes)]).max(initial=1e-30))
    return f"{int((far & ~same).sum())} of {want.size} floats differ" if (far & ~same).any() else ""


def checked(given: tuple[str, str, int]) -> tuple[int, list[str]]:
    """In a worker: how many kernels a case has, and what is wrong with them."""
    kind, op, at = given
    device: Any = shared_gpu(kind)
    if op:
        found = problem(EXAMPLES[op][at], HostOptions(gpu=device), at)
        return 1, [f"{op} {at}: {found}"] if found else []
    node, wrong, count = product(at), [], 0
    for tile, options in options_of(node, at, device):
        count += 1
        if found := problem(node, options, at):
            wrong.append(f"product {at}, {tile}: {found}")
    return count, wrong


def main() -> None:
    """Print what is wrong, and how many kernels were compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "opencl"), default="cuda")
    parser.add_argument("--products", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first product")
    parser.add_argument("--no-examples", action="store_true")
    parser.add_argument("--jobs", type=int, default=usable_cores())
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cases = (
        [] if options.no_examples else [(options.device, op, at) for op, nodes in EXAMPLES.items() for at in range(len(nodes))]
    )
    cases += [(options.device, "", options.first + at) for at in range(options.products)]
    with WorkerPool(options.jobs) as pool:
        outcomes = pool.map(checked, cases, _SECONDS)
    wrong = [text for outcome in outcomes if isinstance(outcome, Finished) for text in outcome.value[1]]
    wrong += [
        f"{case}: {outcome.message}" for case, outcome in zip(cases, outcomes, strict=True) if not isinstance(outcome, Finished)
    ]
    count = sum(outcome.value[0] for outcome in outcomes if isinstance(outcome, Finished))
    if options.json:
        print(json.dumps({"kernels": count, "wrong": wrong}))
        return
    for text in wrong:
        print(text)
    print(f"{count} kernels, {len(wrong)} wrong")


if __name__ == "__main__":
    # Worker processes find functions by the name of their module.
    from benchmarks.gpu_kernels import main as run

    run()
