"""How long it takes to compile a kernel of the host, and to choose its tile by timing the model's best ones.

    python -m benchmarks.host_compile [--tiles N] [--runs N] [--json]
    python -m benchmarks.host_compile --first-compile MODELS [--json]

For each of the 12 convolutions of ResNet-18 and the depthwise ones of MobileNet: the seconds from a convolution to its object
file (loops, LLVM, machine code), with the model's first tile and with the slowest of its N best; and the seconds that it takes
to choose among these, each compiled and run. Nothing comes from a cache. Seconds are those of the thread, so that other work
counts little.

With --first-compile, how long the whole command takes for each network of a folder (`benchmarks/first_compile.py` says where they
lie in it): with an empty cache, again, and again without kernels; the processor's seconds, and their ratios.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.first_compile import LARGEST_RATIO, first_row, first_table, networks
from benchmarks.host import LAYERS, Layer, layer_model
from vta.autotune.host.measure import HostJob, build_kernel_object, prepared_call
from vta.autotune.host.task import HostTask, host_tasks, model_tiles
from vta.frontend.onnx import import_onnx
from vta.host.llvm.target import host_target
from vta.passes.canonicalize import canonicalize

LARGEST_COMPILE_SECONDS, LARGEST_CHOICE_SECONDS = 0.3, 5.0
"""What a kernel and a choice may take."""
_CONVOLUTIONS = 12


@dataclass(frozen=True)
class Row:
    """One convolution."""

    layer: str
    compile_seconds: float
    """Of the tile that the model ranks first."""
    slowest_compile_seconds: float
    """Of the tiles that are tried."""
    choice_seconds: float
    tiles: int
    """That were tried."""
    gain: float
    """How many times as fast the chosen one is as the first."""

    @property
    def is_within(self) -> bool:
        """Whether both are within what they may take."""
        return self.slowest_compile_seconds <= LARGEST_COMPILE_SECONDS and self.choice_seconds <= LARGEST_CHOICE_SECONDS


def layers() -> list[Layer]:
    """The 12 convolutions, and the depthwise ones."""
    return [*LAYERS[:_CONVOLUTIONS], *(layer for layer in LAYERS if layer.groups > 1)]


def task_of(layer: Layer) -> HostTask:
    """The convolution as a task."""
    (task,) = host_tasks(canonicalize(import_onnx(layer_model(layer, np.random.default_rng(1)))), host_target())
    return task


def row_of(layer: Layer, tiles: int, runs: int) -> Row:
    """Compile and choose."""
    task = task_of(layer)
    candidates = list(model_tiles(task, tiles))
    compiling: list[float] = []
    costs: list[float] = []
    begun = time.thread_time()
    for tile in candidates:
        before = time.thread_time()
        job, code = build_kernel_object(HostJob(task.workload, task.target, tile))
        compiling.append(time.thread_time() - before)
        call = prepared_call(job, code)
        call.run()
        costs.append(min(_seconds(call.run) for _ in range(runs)))
    choice = time.thread_time() - begun
    return Row(layer.name, compiling[0], max(compiling), choice, len(candidates), costs[0] / min(costs))


def _seconds(run: object) -> float:
    assert callable(run)
    before = time.thread_time()
    run()
    return time.thread_time() - before


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The rows as a table."""
    yield "| convolution | compile, s | slowest, s | choice, s | tiles | gain |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        seconds = f"{row.compile_seconds:.3f} | {row.slowest_compile_seconds:.3f} | {row.choice_seconds:.2f}"
        yield f"| {row.layer} | {seconds} | {row.tiles} | {row.gain:.2f} |"


def _first_compile(models: Path, as_json: bool) -> None:
    rows = [first_row(network) for network in networks(models)]
    if as_json:
        print(json.dumps([asdict(row) | {"ratio": row.ratio, "wall_ratio": row.wall_ratio} for row in rows]))
        return
    print("\n".join(first_table(rows)))
    over = [row.network for row in rows if max(row.ratio, row.wall_ratio) > LARGEST_RATIO]
    print(f"\nfirst within {LARGEST_RATIO:g} times of again: {'all' if not over else 'not ' + ', '.join(over)}")


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", type=int, default=6)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first-compile", type=Path, metavar="MODELS")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.first_compile is not None:
        _first_compile(options.first_compile, options.json)
        return
    row_of(layers()[0], 1, 1)  # what is done once a process
    rows = [row_of(layer, options.tiles, options.runs) for layer in layers()]
    if options.json:
        print(json.dumps([asdict(row) | {"is_within": row.is_within} for row in rows]))
        return
    print("\n".join(table(rows)))
    over = [row.layer for row in rows if not row.is_within]
    limits = f"{LARGEST_COMPILE_SECONDS} s to compile, {LARGEST_CHOICE_SECONDS:g} s to choose"
    print(f"\n{limits}: {'all within' if not over else 'over: ' + ', '.join(over)}")


if __name__ == "__main__":
    main()
