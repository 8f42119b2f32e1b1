"""Tune the additions and multiplications of a network as operators of their own.

    python examples/tune_alu_opencl.py [--config intelfocl] [--device opencl] [--trials 64] [--records alu.log]

The network is quantised, and each of its additions and multiplications becomes a task ``add.vta`` or ``multiply.vta``: on
packed tensors, followed by a clip to 0..127 in two stages and a cast to int8. What is not packed or computes in float is
dropped; scalar operands are tuned as tensors. With --device opencl a trial costs the time of the OpenCL kernel, on an FPGA
or on this machine's processor; with --device cycle it costs clock cycles. The log has the best record of each task, and
beside it one with a scalar operand; at the end the tasks are compiled with it and run, and compared with the reference.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from vta.autotune.alu import alu_calls, alu_task, require_alu
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.local import LocalBuilder, LocalRunner, open_opencl
from vta.autotune.measure.measure import MeasureOption
from vta.autotune.session import TaskReport, TuneOptions, tune
from vta.autotune.task import Task, alu_workloads, task_of_graph
from vta.compiler.compile import compile_graph, quantize_model
from vta.config.hardware import HardwareConfig
from vta.devices.open_device import DeviceSpec, open_device
from vta.errors import VTAError
from vta.frontend import load_model
from vta.ir.graph import Graph, call, constant, graph_input
from vta.passes.canonicalize import canonicalize
from vta.quantization import QuantizeConfig
from vta.records.history import load_history
from vta.records.log import RecordLog, pick_best, read_log
from vta.runtime import Module


def find_tasks(model: str, size: int, hw: HardwareConfig) -> list[Task]:
    """The tasks of a network whose input is a square image of `size` pixels; says what was done to get them."""
    graph = load_model(model, {"data": (hw.batch, 3, size, size)})
    quantization = QuantizeConfig(calibration="global_scale", global_scale=8.0, skip_conv_layers=(0,), multipliers=True)
    calls = dict.fromkeys(alu_calls(quantize_model(canonicalize(graph), hw, quantize=quantization), hw))
    workloads, said = alu_workloads(calls)
    for line in said:
        print(line)
    return [alu_task(workload, hw) for workload in workloads]


@contextmanager
def measuring(hw: HardwareConfig, device: str) -> Iterator[MeasureOption]:
    """Wall-clock time of the OpenCL kernel, in processes that a bad candidate cannot hurt; or clock cycles."""
    if device == "cycle":
        yield in_process(hw)
        return
    builder = LocalBuilder(timeout=60.0)
    runner = LocalRunner(open_opencl, number=3, timeout=60.0, min_repeat_ms=10.0, check_correctness=True)
    with closing(builder), closing(runner):
        yield MeasureOption(builder, runner)


def show(report: TaskReport) -> None:
    """Print how far a task is."""
    found = f"{report.best_cycles} cycles" if report.best_cycles else f"{report.best_cost * 1e6:.1f} us"
    print(f"{report.task.name}: best {found}, {report.trials} of {report.planned} trials", *report.errors, sep="; ")


def scalar_twin(task: Task) -> Task:
    """The same operator with one value as its second operand."""
    (lhs, _), operator = task.graph.inputs, task.workload.name.removesuffix(".vta")
    image = graph_input("lhs", lhs.shape, "int8")
    value = call(operator, [call("cast", [image], "scalar", dtype="int32"), constant(np.int32(3))], "scalar")
    value = call("cast", [call("clip", [value], "scalar", a_min=0, a_max=127)], "scalar", dtype="int8")
    return task_of_graph(Graph((image,), (value,), "scalar"), task.hw)


def check(tasks: list[Task], records: Path, hw: HardwareConfig, device: str) -> None:
    """Compile and run every task with the records, with a tensor and with a scalar as second operand."""
    history = load_history(records)
    rng = np.random.default_rng(0)
    for task in [*tasks, *map(scalar_twin, tasks)]:
        compiled = compile_graph(task.graph, hw, schedules=history)
        with Module(compiled, open_device(hw, DeviceSpec(device))) as module:
            report = module.check({node.name: rng.integers(-128, 128, node.shape, np.int8) for node in task.graph.inputs})
        if not report.bit_exact:
            sys.exit(f"{task.name} differs from the reference: {report.mismatch}")
    if history.notes:
        sys.exit(f"no record was found for {', '.join(history.notes)}")
    print(f"{len(tasks)} tasks, each with a tensor and with a scalar: compiled with {records}, bit-exact on device {device}")


def main() -> None:
    """Run the flow that the module's docstring describes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet18_v1")
    parser.add_argument("--image-size", type=int, default=224)
    parser.add_argument("--config", default="intelfocl")
    parser.add_argument("--device", choices=("opencl", "cycle"), default="opencl")
    parser.add_argument("--tuner", default="random")
    parser.add_argument("--trials", type=int, default=64, help="a task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", type=int, help="tune only so many of the tasks")
    parser.add_argument("--records", type=Path, default=Path("alu.log"), help="log with the best record of each task")
    options = parser.parse_args()
    try:
        hw = HardwareConfig.named(options.config)
        require_alu(hw)
        tasks = find_tasks(options.model, options.image_size, hw)[: options.tasks]
        settings = TuneOptions(options.tuner, options.trials, seed=options.seed, device=options.device)
        with tempfile.TemporaryDirectory() as directory, measuring(hw, options.device) as option:
            trials = Path(directory) / "trials.log"
            for report in tune(tasks, option, settings, RecordLog(trials)):
                show(report)
            RecordLog(options.records).append(pick_best(line.record for line in read_log(trials) if line.record))
        check(tasks, options.records, hw, options.device)
    except VTAError as error:
        sys.exit(f"tune_alu_opencl: {error}")


if __name__ == "__main__":
    main()
