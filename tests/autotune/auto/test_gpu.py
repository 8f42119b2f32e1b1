"""Schedules of GPUs: each that a sketch makes computes what the default does, fits the device, and travels in a file."""

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from tests.autotune.auto.test_measure import hanging
from tests.engines import missing_for_opencl
from tests.rpc.support import until
from vta.autotune.auto.gpu.blocks import BlockSketch
from vta.autotune.auto.gpu.engine import GpuEngine
from vta.autotune.auto.gpu.machine import GpuMachine
from vta.autotune.auto.gpu.reduction import reduction_of
from vta.autotune.auto.gpu.tasks import gpu_auto_tasks
from vta.autotune.auto.measure import LocalMeasure, Timing, run_arrays
from vta.autotune.auto.session import AutoOptions, auto_tune
from vta.autotune.auto.timing import is_right
from vta.autotune.gpu.task import GpuTarget
from vta.cli.main import main
from vta.demo import model_path
from vta.host.loop.expression import const, index
from vta.host.loop.grid import GridLimits, grid_of
from vta.host.loop.interpret import run_program
from vta.host.loop.nest import Block, If, Store
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.records.gpu.schedules import GpuSchedules, best_schedules
from vta.records.log import read_log
from vta.records.measurement import ErrorKind, Measurement

SMALL = GridLimits(threads=64, block=(64, 64, 8), shared_bytes=2048, registers=4096, processors=4)
"""Of a small device, so that small kernels have something that does not fit."""
MACHINE = GpuMachine(GpuTarget("opencl", "any", SMALL))


def task_of(node, *inputs, machine=MACHINE):
    graph = Graph(tuple(inputs), (node,), "net")
    (task,) = gpu_auto_tasks(graph, graph.calls(), [node], machine)
    return task


def weights(*shape, dtype="float32"):
    rng = np.random.default_rng(0)
    values = rng.standard_normal(shape) if dtype == "float32" else rng.integers(-9, 9, shape)
    return constant(values.astype(dtype))


def convolution(dtype="float32", machine=MACHINE, size=4, channels=4, outputs=4):
    data = graph_input("data", (1, channels, size, size), dtype)
    weight = weights(outputs, channels, 3, 3, dtype=dtype)
    made = call(ops.CONV2D, [data, weight], strides=(2, 1), padding=(1, 1, 1, 1))
    return task_of(call(ops.RELU, [call(ops.BIAS_ADD, [made, weights(outputs, dtype=made.dtype)])]), data, machine=machine)


def kernels():
    data = graph_input("data", (1, 24), "float32")
    left, right = (graph_input(name, shape, "float32") for name, shape in (("a", (2, 3, 6)), ("b", (2, 6, 5))))
    image = graph_input("image", (1, 4, 5, 5), "float32")
    grouped = call(ops.CONV2D, [image, weights(6, 2, 3, 3)], groups=2)
    return {
        "grouped": task_of(grouped, image),
        "convolution": convolution(),
        "bytes": convolution("int8"),
        "dense": task_of(call(ops.DENSE, [data, weights(10, 24)]), data),
        "matmul": task_of(call(ops.MATMUL, [left, right]), left, right),
        "average": task_of(call(ops.GLOBAL_AVG_POOL2D, [image]), image),
        "softmax": task_of(call(ops.SOFTMAX, [left], axis=-1), left),
        "channels": task_of(call(ops.LOG_SOFTMAX, [image], axis=1), image),
        "sum": task_of(call(ops.RELU, [call(ops.ADD, [image, image])]), image),
    }


@pytest.mark.parametrize("name", kernels())
def test_every_sketch_computes_what_the_default_does(name):
    task, rng = kernels()[name], np.random.default_rng(3)
    arrays = run_arrays(task)
    want = run_program(task.default, arrays)
    for sketch in list(task.space.sketches.values()):
        task.space.sketches = {sketch.name: sketch}
        made = task.space.make_all([task.space.random(rng)])
        assert made, f"no schedule by {sketch.name} is legal"
        for item in made:
            for function in item.program.functions:
                grid_of(function).check(SMALL)
            assert is_right(run_program(item.program, arrays), want), task.space.choices(item.genome)


def test_sketches_follow_from_the_structure():
    found = {name: set(task.space.sketches) for name, task in kernels().items()}
    assert found["convolution"] == found["grouped"] == {"elements", "blocks", "threads"}
    assert found["softmax"] == found["channels"] == {"elements", "rows"}
    assert found["sum"] == {"elements"}


def test_matrices_of_bytes_add_up_to_the_same():
    machine = GpuMachine(GpuTarget("opencl", "any", replace(SMALL, shared_bytes=8192, tensor=True)))
    data = graph_input("data", (1, 64, 1, 5), "int8")
    task = task_of(call(ops.CONV2D, [data, weights(16, 64, 1, 1, dtype="int8")]), data, machine=machine)
    space = task.space
    assert "matrices" not in GpuMachine(replace(machine.target, limits=SMALL)).sketches(task.kernel)
    first = {knob.name: knob.options[0] for knob in space.sketches["matrices"].knobs}
    made = space.make(space.genome("matrices", {**first, "tensor": 2}))
    assert grid_of(made.program.functions[-1]).threads == (4, 8, 2)
    arrays = run_arrays(task)
    (data, weight), want = arrays[:2], np.zeros((16, 5), np.int32)
    for word, four in enumerate(weight.reshape(16, 16, 4)):
        want += four.astype(np.int32) @ data[0, 4 * word : 4 * word + 4, 0].astype(np.int32)
    np.testing.assert_array_equal(run_program(made.program, arrays)[0, :, 0], want)


def test_hints_tell_matrices_from_blocks():
    machine = GpuMachine(GpuTarget("opencl", "any", GridLimits(tensor=True)))
    task = convolution("int8", machine, size=32, channels=32, outputs=32)
    assert {task.space.hinted(hint).sketch for hint in task.hints} == {"matrices"}
    assert {hint["tensor"] for hint in task.hints} <= {1, 2, 4, 8, 16}


def test_what_does_not_fit_matrices_is_said(caplog):
    machine = GpuMachine(GpuTarget("opencl", "any", GridLimits(tensor=True)))
    task = convolution("int8", machine, size=9, channels=64, outputs=48)
    sketch = task.space.sketches["matrices"]
    fine = {knob.name: knob.options[0] for knob in sketch.knobs}
    made = task.space.make(task.space.genome("matrices", fine))
    steps = best_schedules(
        [task.record(None, Measurement((1.0,)), "opencl"), task.record(made, Measurement((0.5,)), "opencl")], "opencl"
    )
    assert GpuSchedules(steps, GridLimits(tensor=True))(task.kernel) == made.steps
    assert GpuSchedules(steps, GridLimits())(task.kernel) is None
    assert "multiplies matrices of bytes, which the device has no instructions for" in caplog.text
    assert sketch.problem(fine) == ""
    assert sketch.problem({**fine, "threads.a1": 32}) == "operands beyond the end, which nothing tests"
    assert sketch.problem({**fine, "threads.a1": 32, "at.weight_tile": "shared"}) == ""
    assert sketch.problem({**fine, "part": ("rc", 4)}) == "a part that is not of whole matrices"
    assert sketch.problem({**fine, "tensor": 2, "part": ("ry", 1)}) == "parts of blocks and of threads, or threads in the middle"
    assert sketch.problem({**fine, "tensor": 2, "sum.rc": 16}) == "a step that does not divide its part"


def test_a_row_is_one_kernel_whose_threads_wait_for_what_they_read():
    space = kernels()["softmax"].space
    made = space.make(space.genome("rows", {"threads": 32, "rows": 2, "parts": 4}))
    (function,) = made.program.functions
    assert grid_of(function).blocks == (4, 1, 1)
    assert {buffer.name for buffer in function.shared} >= {"powers", "largest", "total"}


def test_a_block_of_a_grouped_convolution_shares_what_one_group_reads():
    space = kernels()["grouped"].space
    sketch = space.sketches["blocks"]
    one = {knob.name: knob.options[0] for knob in sketch.knobs} | {"at.frame": "shared", "threads.a2": 3, "threads.a3": 3}
    assert sketch.problem({**one, "threads.a1": 2}) == "a block that is not one group"
    assert sketch.problem({**one, "threads.a1": 3}) == ""


def test_what_does_not_fit_is_said():
    space = convolution().space
    sketch = space.sketches["blocks"]
    one = {knob.name: knob.options[0] for knob in sketch.knobs}
    fine = {**one, "threads.a1": 4, "threads.a2": 2, "threads.a3": 4}
    assert sketch.problem(fine) == ""
    assert sketch.problem({**fine, "threads.a1": 1, "threads.a2": 1, "threads.a3": 1}) == "the threads of a block"
    assert sketch.problem({**fine, "inner.a1": 2}) == "a block twice as long as its axis"
    assert sketch.problem({**fine, "part": ("rc", 1), "sum.rc": 2}) == "a step that does not divide its part"
    assert "the registers" in BlockSketch(space.kernel, reduction_of(space.kernel), replace(SMALL, registers=99)).problem(fine)


def test_records_say_what_a_file_holds(tmp_path):
    task = convolution()
    made = task.space.make(task.space.random(np.random.default_rng(2)))

    def record(item, seconds):
        return task.record(item, Measurement((seconds,)), "opencl")

    steps = best_schedules([record(None, 1.0), record(made, 0.5)], "opencl")
    assert GpuSchedules(steps, SMALL)(task.kernel) == made.steps
    assert GpuSchedules(steps, replace(SMALL, threads=1))(task.kernel) is None
    assert best_schedules([record(None, 1.0), record(made, 0.99)], "opencl") == {}
    assert best_schedules([record(made, 0.5)], "cuda") == {}
    assert GpuSchedules(dict.fromkeys(steps, "[["), SMALL)(task.kernel) is None


def broken(program):
    """A program that computes something else."""

    def changed(statement):
        match statement:
            case Store() if statement.buffer is program.output:
                return replace(statement, value=const(7, statement.buffer.dtype))
            case Block(statements):
                return Block(tuple(map(changed, statements)))
            case Store():
                return statement
            case If() | _ if hasattr(statement, "body"):
                return replace(statement, body=changed(statement.body))
            case _:
                return statement

    *before, last = program.functions
    return replace(program, functions=(*before, replace(last, body=changed(last.body))))


@pytest.mark.skipif(missing_for_opencl() is not None, reason=str(missing_for_opencl()))
def test_a_search_on_a_device(tmp_path):
    pytest.importorskip("xgboost")
    from vta.host.gpu.drivers.open import shared_gpu

    device = shared_gpu("opencl")
    target = GpuTarget("opencl", device.name, device.limits)
    task = convolution(machine=GpuMachine(target))
    with closing(LocalMeasure(GpuEngine(target), Timing(1, 0.1), 60.0)) as measurer:
        (report,) = auto_tune([task], measurer, AutoOptions(2, batch=2, population=4, device="opencl"))
        made = task.space.make(task.space.random(np.random.default_rng(1)))
        (wrong,) = measurer.measure(task, [replace(made, program=broken(made.program))])
    assert report.trials == 2
    assert report.errors == {}
    assert report.best_seconds <= report.default_seconds
    assert wrong.error is ErrorKind.WRONG_ANSWER


def beyond(program):
    """A program that writes far outside of its arrays."""
    output = program.output
    store = Store(output, (index(1 << 40),) * len(output.shape), const(0, output.dtype))
    return replace(program, functions=(replace(program.functions[-1], body=store, local=(), shared=()),))


@pytest.mark.skipif(missing_for_opencl() is not None, reason=str(missing_for_opencl()))
def test_a_kernel_that_hangs_or_takes_the_process_down_costs_one_trial():
    from vta.host.gpu.drivers.open import shared_gpu

    device = shared_gpu("opencl")
    target = GpuTarget("opencl", device.name, device.limits)
    task = convolution(machine=GpuMachine(target))
    made = task.space.make(task.space.genome("elements", {"threads": 32, "each": 1, "parts": 1}))
    with closing(LocalMeasure(GpuEngine(target), Timing(1, 0.1), 5.0)) as measurer:
        schedules = [replace(made, program=change(made.program)) for change in (hanging, beyond)]
        hung, crashed, good = measurer.measure(task, [*schedules, made])
    assert hung.error is ErrorKind.RUN_TIMEOUT
    assert crashed.error is ErrorKind.RUNTIME_DEVICE
    assert (good.error, good.cost > 0) == (ErrorKind.NONE, True)


@pytest.mark.skipif(missing_for_opencl() is not None, reason=str(missing_for_opencl()))
def test_a_search_that_was_killed_goes_on(tmp_path, capsys):
    pytest.importorskip("xgboost")
    log = tmp_path / "net.log"
    command = ["tune", str(model_path()), "--target", "opencl", "--auto", "--workload", "1", "--records", str(log), "--json"]
    quick = ["--number", "1", "--min-repeat-ms", "0.1", "--timeout", "60"]
    process = subprocess.Popen([sys.executable, "-m", "vta", *command, *quick, "--trials", "500"], stdout=subprocess.DEVNULL)
    try:
        # Then the first round is on its way.
        until(lambda: log.exists() and len(log.read_text().splitlines()) > 0, lambda: "nothing is recorded")
    finally:
        process.kill()
        process.wait()
    before = [line.text for line in read_log(log) if line.record is not None]
    trials = len(before)
    assert main([*command, *quick, "--trials", str(trials)]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["trials"] == trials, "the default is no trial, so that one was left to do"
    after = [line.text for line in read_log(log) if line.record is not None]
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)


@pytest.mark.skipif(missing_for_opencl() is not None, reason=str(missing_for_opencl()))
def test_the_commands(tmp_path, capsys):
    pytest.importorskip("xgboost")
    out, log = str(tmp_path / "net.vta"), tmp_path / "net.log"
    quick = ["--workload", "1", "--trials", "2", "--number", "1", "--min-repeat-ms", "0.1", "--timeout", "60", "--json"]
    assert main(["tune", str(model_path()), "--target", "opencl", "--auto", "--records", str(log), *quick]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert {"name", "weight", "best_ms", "gflops", "trials"} <= set(task)
    assert (task["trials"], task["failed"]) == (2, {})
    lines = log.read_text().splitlines()
    slow = [line for line in lines if '"default"' in line]
    log.write_text("\n".join([line for line in lines if line not in slow]) + "\n")
    assert all(line.record is not None for line in read_log(log))
    assert main(["compile", str(model_path()), "-o", out, "--target", "opencl", "--records", str(log), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gpu"]["schedules"] == 1
    assert main(["run", out, "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bit_exact"]
