"""Schedules without templates of single convolutions, for `benchmarks/gpu.py`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vta.autotune.auto.gpu.engine import GPU_BUILD_SECONDS, GpuEngine, GpuRun
from vta.autotune.auto.gpu.machine import GpuMachine
from vta.autotune.auto.gpu.tasks import gpu_auto_tasks
from vta.autotune.auto.measure import LocalMeasure, Timing
from vta.autotune.auto.session import AutoOptions, AutoReport, auto_tune
from vta.autotune.auto.task import AutoTask
from vta.autotune.auto.timing import is_right
from vta.autotune.gpu.measure import GpuRunSettings
from vta.autotune.gpu.task import GpuTarget
from vta.host.gpu.tiling import GpuTile
from vta.host.loop.nest import Program
from vta.ir.graph import Graph, Node
from vta.records.gpu.workload import gpu_workload
from vta.records.log import RecordLog, read_log
from vta.support.on_cores import usable_cores

__all__ = ["Found", "searched_schedules", "timed_schedule"]

_BATCH = 24


@dataclass(frozen=True)
class Found:
    """The best schedule of a convolution."""

    program: Program
    constants: tuple[Any, ...]
    target: GpuTarget
    sketch: str


def task_of(node: Node, target: GpuTarget, tiles: Mapping[Any, GpuTile]) -> AutoTask:
    """The task of one operator, whose default has the best tile that is known."""

    def tile(anchor: Node) -> Any:
        found: Any = tiles.get((str(target), gpu_workload(anchor)))
        return None if found is None else _tile_of(found, anchor)

    graph = Graph((node.inputs[0],), (node,))
    (task,) = gpu_auto_tasks(graph, graph.calls(), [node], GpuMachine(target), tile)
    return task


def _tile_of(record: Any, anchor: Node) -> GpuTile:
    from vta.records.gpu.knobs import tile_of

    return tile_of(record.entity, record.workload.name, anchor.inputs[1].shape[2:])


def searched_schedules(
    nodes: Sequence[Node], target: GpuTarget, log: Path, seconds: float, tiles: Mapping[Any, GpuTile]
) -> list[Found]:
    """The best schedules of a log, after a search of so many seconds."""
    tasks = [task_of(node, target, tiles) for node in nodes]
    known = [line.record for line in read_log(log) if line.record is not None] if log.exists() else []
    options = AutoOptions(100_000 if seconds else 0, batch=_BATCH, population=48, device=target.kind, seconds=seconds)
    started = time.perf_counter()
    with closing(LocalMeasure(GpuEngine(target), Timing(5, 5.0), 10.0, usable_cores(), GPU_BUILD_SECONDS)) as measurer:
        reports = auto_tune(tasks, measurer, options, RecordLog(log), known)
    spent = f"proposing {sum(report.proposing for report in reports):.0f} s"
    spent += f", compiling {measurer.building:.0f} s, timing {measurer.timing:.0f} s"
    print(f"{sum(report.trials for report in reports)} trials in {time.perf_counter() - started:.0f} s: {spent}", file=sys.stderr)
    return [_found(report, target) for report in reports]


def _found(report: AutoReport, target: GpuTarget) -> Found:
    best, task = report.best, report.task
    sketch = "default" if best is None else f"{best.genome.sketch} {task.space.choices(best.genome)}"
    errors = list(report.errors.items())[:2]
    times = f"{report.default_seconds * 1e6:.1f} us -> {report.best_seconds * 1e6:.1f} us"
    print(f"{task.name}: {times}, {report.trials} trials, {errors}; {sketch}", file=sys.stderr)
    return Found(task.default if best is None else best.program, task.constants, target, sketch)


def timed_schedule(found: Found, data: Any, want: Any, settings: GpuRunSettings) -> tuple[float, bool]:
    """Seconds of a schedule on some data, and whether its result is what others give."""
    engine = GpuEngine(found.target)
    (run,) = engine.runs([found.program], [engine.build(found.program)], [np.asarray(data), *found.constants])
    assert isinstance(run, GpuRun)
    right = is_right(run.run(), want)
    once = run.device.seconds_of(run.start, 3)
    number = max(settings.number, int(settings.min_repeat_ms / 1e3 / max(once, 1e-9)))
    return min(run.device.seconds_of(run.start, number) for _ in range(settings.repeat)), right
