"""Dense layers of few results: threads share each sum, by the one knob of the published template."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import missing_for_opencl
from vta.autotune.gpu.measure import GpuJob, PreparedKernel, gpu_kernel_source
from vta.autotune.gpu.task import GpuTarget, gpu_task, gpu_tasks
from vta.errors import TuningError
from vta.host.gpu.build import build_gpu_kernel
from vta.host.gpu.splitting import GpuSplit
from vta.host.kernels.group import Group
from vta.host.loop.grid import GridLimits
from vta.host.loop.interpret import run_program
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate_node
from vta.records.measurement import Measurement

SMALL = GridLimits(threads=64, block=(64, 64, 8), shared_bytes=2048)
TARGET = GpuTarget("opencl", "any", SMALL)


def dense(rows=2, length=36, outputs=10, dtype="float32"):
    weights = np.random.default_rng(0).integers(-9, 10, (outputs, length)).astype(dtype)
    return call(ops.DENSE, [graph_input("data", (rows, length), dtype), constant(weights)])


def test_the_knob_is_that_of_the_published_template():
    task = gpu_task(dense(), TARGET)
    assert task.workload.identity == "dense_small_batch.gpu:2x36:10x36"
    assert [task.space.schedule(at).parts for at in range(task.space.size)] == [2, 3, 4, 6]
    assert task.default() == GpuSplit(6)
    record = task.record(GpuSplit(4), 2, Measurement((1e-3,)), "opencl")
    assert record.entity == (("tile_k", "sp", (-1, 4)),)
    assert task.schedule_of(record) == GpuSplit(4)
    assert task.space.find(GpuSplit(5)) is None


def test_large_batches_keep_their_tiles_and_what_has_no_split_is_no_task():
    assert gpu_task(dense(64, 36, 100), TARGET).workload.name == "dense_large_batch.gpu"
    node = dense(1, 37)
    assert gpu_tasks(Graph((node.inputs[0],), (node,)), TARGET) == ()
    with pytest.raises(TuningError, match="parts divide 37, and 8 sums of a block have 64 threads at most"):
        assert gpu_task(node, TARGET).space


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 3), st.integers(8, 16), st.integers(1, 11), st.sampled_from(["float32", "int8"]), st.data())
def test_every_split_adds_up_the_same(rows, quarter, outputs, dtype, data):
    node = dense(rows, 4 * quarter, outputs, dtype)
    space = gpu_task(node, TARGET).space
    split = space.schedule(data.draw(st.integers(0, space.size - 1)))
    kernel = build_gpu_kernel(Group((node,), node), SMALL, split)
    program = lower(scheduled(kernel.kernel, kernel.steps))
    assert len(program.functions) == 1
    values = np.random.default_rng(1).integers(-9, 10, (rows, 4 * quarter)).astype(dtype)
    got = run_program(program, [values, *kernel.constants])
    np.testing.assert_array_equal(got, evaluate_node(node, [values, node.inputs[1].value]))


@pytest.mark.skipif(missing_for_opencl() is not None, reason=str(missing_for_opencl()))
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_splits_on_a_device(dtype):
    from vta.host.gpu.drivers.open import shared_gpu

    device = shared_gpu("opencl")
    target = GpuTarget("opencl", device.name, device.limits)
    task = gpu_task(dense(3, 64, 7, dtype), target)
    kernel = PreparedKernel(*gpu_kernel_source(GpuJob(task.workload, target, GpuSplit(16))), device)
    kernel.start()
    assert kernel.is_right()
