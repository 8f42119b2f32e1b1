"""Kernels of a GPU beside cuDNN, through PyTorch, in one run: the 12 convolutions of ResNet-18, and MobileNet v1 whole.

    python benchmarks/gpu.py [--trials N] [--records LOG] [--tuner NAME] [--min-repeat-ms MS] [--tasks N] [--auto LOG] [--json]

Each convolution has one image. Those of float32 are compared with cuDNN without TF32, which may try all its algorithms first;
those of int8 with all that cuDNN's own library has for bytes, tensor cores among it, as PyTorch has no such operator. `--trials`
tunes each task before, going on from `--records`; without it the best of the log is taken, or the tile of the model.
`--auto` adds schedules without templates: the best of a log, after a search of all tasks together for `--auto-seconds`, if given.
Times are those of the device, of many runs one after the other.
MobileNet v1 is compared with PyTorch's eager mode: both are started kernel by kernel, and ours as one graph as well.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.gpu_auto import Found, searched_schedules, timed_schedule
from benchmarks.gpu_cudnn import int8_convolution
from vta.autotune.gpu.measure import (
    GpuBuilder,
    GpuJob,
    GpuRunner,
    GpuRunSettings,
    PreparedKernel,
    gpu_kernel_source,
    seconds_of,
)
from vta.autotune.gpu.task import GpuTarget, GpuTask, gpu_task, model_tiles
from vta.autotune.measure.measure import MeasureOption
from vta.autotune.measure.workers import Finished, WorkerPool
from vta.autotune.session import TuneOptions, tune
from vta.errors import DeviceError, VTAError
from vta.host.gpu.drivers.cuda import CudaDevice
from vta.host.gpu.runner import GpuPlanRunner
from vta.host.gpu.tiling import GpuTile
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.records.log import RecordLog, ranked_records, read_log
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import KernelStep
from vta.support.on_cores import usable_cores

CONVOLUTIONS = (
    (3, 64, 224, 7, 2), (64, 64, 56, 3, 1), (64, 64, 56, 1, 1), (64, 128, 56, 3, 2), (64, 128, 56, 1, 2), (128, 128, 28, 3, 1),
    (128, 256, 28, 3, 2), (128, 256, 28, 1, 2), (256, 256, 14, 3, 1), (256, 512, 14, 3, 2), (256, 512, 14, 1, 2),
    (512, 512, 7, 3, 1),
)  # fmt: skip
"""Of ResNet-18: channels in and out, size, kernel, stride."""
_MOBILENET = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
"""Outputs and stride of each separable convolution."""


@dataclass(frozen=True)
class Row:
    """One task."""

    task: str
    dtype: str
    ours_us: float
    cudnn_us: float | None
    ratio: float | None
    """cuDNN's time over ours: above 1 where ours is faster."""
    tile: str
    is_right: bool
    auto_us: float | None = None
    """By a schedule that was searched without templates."""
    auto_ratio: float | None = None
    sketch: str = ""


def convolution(shape: tuple[int, ...], dtype: str) -> Node:
    """A convolution with random weights."""
    channels, outputs, size, kernel, stride = shape
    rng = np.random.default_rng(0)
    weights: Any = rng.integers(-127, 128, (outputs, channels, kernel, kernel))
    if dtype == "float32":
        weights = rng.standard_normal(weights.shape)
    data = graph_input("data", (1, channels, size, size), dtype)
    return call(ops.CONV2D, [data, constant(weights.astype(dtype))], strides=(stride, stride), padding=(kernel // 2,) * 4)


def best_tiles(path: Path | None) -> dict[tuple[str, Any], GpuTile]:
    """The best tile of each target and workload of a log."""
    if path is None or not path.exists():
        return {}
    records = [line.record for line in read_log(path) if line.record is not None]
    return {key: ranked[0] for key, ranked in ranked_records(records).items() if ranked}  # type: ignore[misc]


def torch_seconds(run: Any, torch: Any, settings: GpuRunSettings) -> float:
    """Seconds of what PyTorch starts, on the device."""

    def timed(number: int) -> float:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for _ in range(number):
            run()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last)) / 1e3 / number

    run()
    once = timed(3)
    number = max(settings.number, int(settings.min_repeat_ms / 1e3 / max(once, 1e-9)))
    return min(timed(number) for _ in range(settings.repeat))


def fair(torch: Any) -> None:
    """Let cuDNN try all its algorithms, and compute in float32."""
    torch.backends.cudnn.benchmark, torch.backends.cudnn.benchmark_limit = True, 0
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


def cudnn_seconds(shape: tuple[int, ...], dtype: str, settings: GpuRunSettings) -> float | None:
    """Seconds of the same convolution by PyTorch, as a graph of several so that starting it costs nothing; None without it."""
    try:
        import torch
    except ImportError:
        return None
    channels, outputs, size, kernel, stride = shape
    fair(torch)
    if dtype != "float32":
        return int8_convolution(shape, torch, lambda run: graph_seconds(run, torch, settings))
    with torch.no_grad():
        data = torch.randn(1, channels, size, size, device="cuda")
        weight = torch.randn(outputs, channels, kernel, kernel, device="cuda")

        def run() -> None:
            torch.nn.functional.conv2d(data, weight, stride=stride, padding=kernel // 2)

        return graph_seconds(run, torch, settings)


def graph_seconds(run: Any, torch: Any, settings: GpuRunSettings) -> float:
    """Seconds of what PyTorch, or a library on its stream, starts, in a graph of several so that starting it costs nothing."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    graph, count = torch.cuda.CUDAGraph(), 20
    with torch.cuda.graph(graph):
        for _ in range(count):
            run()
    return torch_seconds(graph.replay, torch, settings) / count


@dataclass(frozen=True)
class Job:
    """One task for a worker process: a kernel that fails takes only that down."""

    shape: tuple[int, ...]
    dtype: str
    kernel: GpuJob
    settings: GpuRunSettings
    auto: Found | None = None


def run_job(job: Job) -> Row:
    """In a worker: our kernel, and then cuDNN's."""
    task = GpuTask(job.kernel.workload, job.kernel.target)
    device = CudaDevice()
    try:
        kernel = PreparedKernel(*gpu_kernel_source(job.kernel), device)
        kernel.start()
        right = kernel.is_right()
        ours = min(seconds_of(kernel, job.settings))
    except DeviceError as error:
        # The device does nothing more in this process.
        print(f"{task.name}: {error}", file=sys.stderr, flush=True)
        raise SystemExit(1) from None
    # cuDNN comes last: what breaks there breaks nothing of ours.
    searched = job.auto and timed_schedule(job.auto, kernel.data, kernel.result(), job.settings)
    theirs = cudnn_seconds(job.shape, job.dtype, job.settings)
    ratio = None if theirs is None else theirs / ours
    row = Row(task.name, job.dtype, ours * 1e6, None if theirs is None else theirs * 1e6, ratio, str(job.kernel.tile), right)
    if job.auto is None or searched is None:
        return row
    auto, auto_right = searched
    auto_ratio = None if theirs is None else theirs / auto
    return replace(row, auto_us=auto * 1e6, auto_ratio=auto_ratio, sketch=job.auto.sketch, is_right=right and auto_right)


def rows(target: GpuTarget, options: argparse.Namespace, settings: GpuRunSettings, dtype: str) -> list[Row]:
    """All tasks of a data type."""
    shapes = CONVOLUTIONS[: options.tasks]
    tasks = [task for shape in shapes if (task := gpu_task(convolution(shape, dtype), target)) is not None]
    if options.trials:
        tune_tasks(tasks, options)
    best = best_tiles(options.records)
    searched: list[Found | None] = [None] * len(shapes)
    if options.auto is not None:
        searched = [*searched_schedules([task.node for task in tasks], target, options.auto, options.auto_seconds, best)]
    jobs = []
    for at, (shape, task) in enumerate(zip(shapes, tasks, strict=True)):
        record: Any = best.get((str(target), task.workload))
        tile = task.default() if record is None else task.schedule_of(record)
        jobs.append(Job(shape, dtype, GpuJob(task.workload, target, tile), settings, searched[at]))
    with WorkerPool(1) as pool:
        outcomes = pool.map(run_job, jobs, options.timeout)
    for job, outcome in zip(jobs, outcomes, strict=True):
        if not isinstance(outcome, Finished):
            print(f"{job.shape} {dtype}: {outcome.message}", file=sys.stderr)
    return [outcome.value for outcome in outcomes if isinstance(outcome, Finished)]


def tune_tasks(tasks: list[GpuTask], options: argparse.Namespace) -> None:
    """Tune each task within its share of the time; one that fails leaves the others."""
    builder = GpuBuilder(timeout=options.build_timeout, n_parallel=usable_cores())
    runner = GpuRunner(GpuRunSettings(options.number, options.repeat, options.min_repeat_ms, check_correctness=True), 4.0)
    log = RecordLog(options.records)
    known = [line.record for line in read_log(options.records) if line.record is not None] if options.records.exists() else []
    with closing(builder), closing(runner):
        for task in tasks:
            started = time.perf_counter()
            settings = TuneOptions(options.tuner, options.trials, seed=options.seed, device="cuda")
            try:
                (report,) = tune([task], MeasureOption(builder, runner), settings, log, known, hints=model_tiles)
            except VTAError as error:
                print(f"{task.name}: {error}", file=sys.stderr)
                continue
            spent = time.perf_counter() - started
            print(
                f"{task.name}: {report.default_cost * 1e6:.1f} us -> {report.best_cost * 1e6:.1f} us, {report.trials} trials, "
                f"{sum(report.errors.values())} failed, {spent:.0f} s; {report.best}; {list(report.errors.items())[:2]}",
                file=sys.stderr,
                flush=True,
            )


def mobilenet(width: float, size: int = 224) -> tuple[Graph, list[np.ndarray]]:
    """MobileNet v1 of float32 with random weights, and these in order."""
    rng = np.random.default_rng(0)
    arrays: list[np.ndarray] = []

    def weight(*shape: int) -> Node:
        arrays.append((rng.standard_normal(shape) * math.sqrt(2 / math.prod(shape[1:]))).astype(np.float32))
        return constant(arrays[-1])

    def layer(node: Node, outputs: int, kernel: int, stride: int, groups: int = 1) -> Node:
        shape = (outputs, node.shape[1] // groups, kernel, kernel)
        made = call(ops.CONV2D, [node, weight(*shape)], strides=(stride, stride), padding=(kernel // 2,) * 4, groups=groups)
        arrays.append(np.zeros(outputs, np.float32))
        return call(ops.CLIP, [call(ops.BIAS_ADD, [made, constant(arrays[-1])])], a_min=0.0, a_max=6.0)

    data = graph_input("data", (1, 3, size, size), "float32")
    node = layer(data, int(32 * width), 3, 2)
    for outputs, stride in _MOBILENET:
        node = layer(node, node.shape[1], 3, stride, node.shape[1])
        node = layer(node, int(outputs * width), 1, 1)
    node = call(ops.BATCH_FLATTEN, [call(ops.GLOBAL_AVG_POOL2D, [node])])
    node = call(ops.DENSE, [node, weight(1000, node.shape[1])])
    return Graph((data,), (node,)), arrays


def torch_mobilenet(arrays: list[np.ndarray], torch: Any) -> Any:
    """The same network by PyTorch."""
    held = [torch.from_numpy(array).cuda() for array in arrays]
    functional = torch.nn.functional

    def run(data: Any) -> Any:
        parts = iter(held)
        for at in range(1 + 2 * len(_MOBILENET)):
            weight, bias = next(parts), next(parts)
            depthwise = at % 2 == 1
            stride = 2 if at == 0 else _MOBILENET[(at - 1) // 2][1] if depthwise else 1
            data = functional.conv2d(data, weight, bias, stride, weight.shape[2] // 2, groups=data.shape[1] if depthwise else 1)
            data = functional.relu6(data)
        return functional.linear(data.mean(dim=(2, 3)), next(parts))

    return run


def whole_network(device: CudaDevice, settings: GpuRunSettings, width: float) -> dict[str, Any]:
    """MobileNet v1 by both."""
    graph, arrays = mobilenet(width)
    image = np.random.default_rng(2).standard_normal(graph.inputs[0].shape).astype(np.float32)
    compiled = host_graph(graph, HostOptions(compiled=True, gpu=device))
    (got,) = compiled.run({"data": image})
    (step,) = compiled.plan.steps
    assert isinstance(step, KernelStep)
    runner = step.kernels
    assert isinstance(runner, GpuPlanRunner)
    first = device.mark()
    for _ in range(200):
        runner.start()
    started = device.seconds_between(first, device.mark()) / 200
    result: dict[str, Any] = {
        "network": f"mobilenet v1 {width}",
        "ours_us": started * 1e6,
        "ours_graph_us": device.seconds_of(runner.start, 400) * 1e6,
        "kernels_us": [[node.name, seconds * 1e6] for node, seconds in zip(step.nodes, runner.run([image])[1], strict=True)],
    }
    try:
        import torch
    except ImportError:
        return result
    fair(torch)
    with torch.no_grad():
        run, data = torch_mobilenet(arrays, torch), torch.from_numpy(image).cuda()
        want = run(data).cpu().numpy()
        result["torch_eager_us"] = torch_seconds(lambda: run(data), torch, settings) * 1e6
        result["difference"] = float(np.abs(got - want).max() / np.abs(want).max())
        result["ratio"] = result["torch_eager_us"] / result["ours_us"]
    return result


def geomean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--records", type=Path)
    parser.add_argument("--tuner", default="xgb")
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--min-repeat-ms", type=float, default=150.0)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--build-timeout", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", type=int, default=len(CONVOLUTIONS))
    parser.add_argument("--auto", type=Path, metavar="LOG")
    parser.add_argument("--auto-seconds", type=float, default=0.0)
    parser.add_argument("--dtypes", default="float32,int8")
    parser.add_argument("--no-network", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    device = CudaDevice()
    target = GpuTarget("cuda", device.name, device.limits, device.architecture)
    settings = GpuRunSettings(20, 3, min(options.min_repeat_ms, 50.0))
    found = [row for dtype in options.dtypes.split(",") for row in rows(target, options, settings, dtype)]
    means = {
        dtype: geomean([row.ratio for row in found if row.ratio is not None and row.dtype == dtype])
        for dtype in options.dtypes.split(",")
    }
    searched = [(row.dtype, row.auto_ratio) for row in found if row.auto_ratio is not None]
    auto_means = {dtype: geomean([ratio for kind, ratio in searched if kind == dtype]) for dtype in means}
    networks = [] if options.no_network else [whole_network(device, settings, width) for width in (0.25, 1.0)]
    if options.json:
        print(
            json.dumps(
                {
                    "device": device.name,
                    "rows": [asdict(row) for row in found],
                    "geomean": means,
                    "auto_geomean": auto_means,
                    "networks": networks,
                }
            )
        )
        return
    print("| task | by tiles, us | searched, us | cuDNN, us | ratio by tiles | ratio searched |\n" + "|---" * 6 + "|")
    for row in found:
        times = [f"{value:.1f}" if value is not None else "" for value in (row.ours_us, row.auto_us, row.cudnn_us)]
        ratios = [f"{value:.2f}" if value is not None else "" for value in (row.ratio, row.auto_ratio)]
        print(f"| {row.task} | {' | '.join([*times, *ratios])} |")
    for dtype, mean in means.items():
        print(f"\ngeometric mean of {dtype} {mean:.2f}, searched {auto_means[dtype]:.2f}")
    for network in networks:
        print({name: value for name, value in network.items() if name != "kernels_us"})


if __name__ == "__main__":
    # Worker processes find functions by the name of their module.
    from benchmarks.gpu import main as run

    run()
