"""Rooflines: bounds that no schedule goes below."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.simulator import RESNET18, graph_of
from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE, BATCH_2, TINY
from tests.records.test_workload import tensor
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.measure import Candidate, measure
from vta.autotune.task import task_of_graph
from vta.autotune.usable import task_of_workload
from vta.records.least_cycles import least_workload_cycles
from vta.records.workload import Workload
from vta.schedule.roofline import roofline_of


def test_a_convolution_by_hand():
    # 2 blocks of 6 x 6 outputs; a kernel position reaches 6 or 5 rows and as many columns; 2 input blocks.
    found = roofline_of(small_task().operator, BASELINE)
    assert found.gemm == 2 * 2 * 16**2 + 2 * 36
    steps = len(small_task().operator.epilogue)
    assert found.alu == 2 * 36 * steps
    assert found.acc_loads == 2 * 64 // 8
    assert found.read == (2 * 64 + 2 * 36 * 16 + 36 * 256) // 8
    assert found.write == 2 * 36 * 16 // 8
    assert found.compute == found.gemm + found.alu + found.acc_loads
    assert found.cycles == max(found.compute, found.read)


def test_c2_of_resnet18():
    found = task_of_graph(graph_of(RESNET18[0], 1), BASELINE).roofline
    rows = 4 * 56 * 56
    assert found.gemm == 4 * 4 * (3 * 56 - 2) ** 2 + rows
    assert found.memory < found.compute


def test_strided_layers_need_only_what_they_touch():
    task = task_of_graph(layer(kernel=1, pad=0, stride=2, size=8), BASELINE)
    assert task.roofline.read == (2 * 64 + 2 * 16 * 16 + 4 * 256) // 8


@pytest.mark.parametrize("hw", [BASELINE, BATCH_2, TINY, replace(BASELINE, target="pynq")])
@pytest.mark.parametrize("shape", [{}, {"kernel": 1, "pad": 0}, {"stride": 2}, {"groups": 32}, {"kernel": 5, "pad": 2}])
def test_no_schedule_is_faster(hw, shape):
    task = task_of_graph(layer(batch=hw.batch, **shape), hw)
    numbers = task.space.random(np.random.default_rng(0), 25)
    candidates = [Candidate(task, task.space.schedule(int(number))) for number in numbers]
    for result in measure(candidates, in_process(hw)):
        assert result.cycles is not None, result.message
        assert result.cycles >= task.roofline.cycles >= least_workload_cycles(task.workload, hw)


@pytest.mark.parametrize("hw", [BASELINE, TINY])
@pytest.mark.parametrize(
    "args",
    [
        (tensor(1, 2, 5, 4, 1, 16), tensor(2, 2, 4, 4, 16, 16), (2, 2), (1, 1, 1, 1), "int32", (0, 0)),
        (tensor(1, 2, 3, 3, 1, 16), tensor(2, 2, 3, 2, 16, 16), (3, 1), (0, 1, 1, 0), "int32", (1, 0)),
        (tensor(1, 2, 1, 1, 1, 16), tensor(2, 2, 4, 4, 16, 16), (1, 1), (0, 0, 0, 0), "int32", (0, 0)),
    ],
)
def test_no_schedule_of_a_transposed_convolution_is_faster(hw, args):
    task = task_of_workload(Workload("conv2d_transpose_packed.vta", args), hw)
    numbers = task.space.random(np.random.default_rng(0), 25)
    for result in measure([Candidate(task, task.space.schedule(int(number))) for number in numbers], in_process(hw)):
        assert result.cycles is not None, result.message
        assert result.cycles >= task.roofline.cycles >= least_workload_cycles(task.workload, hw) > 0


def test_products_of_a_transposed_convolution_by_hand():
    # Of 4 kernel positions, 8 rows, padding cuts 1 of the first and 1 of the last: 4 * 4 - 2 = 14 along each axis.
    args = (tensor(1, 1, 4, 4, 1, 16), tensor(1, 1, 4, 4, 16, 16), (2, 2), (1, 1, 1, 1), "int32", (0, 0))
    workload = Workload("conv2d_transpose_packed.vta", args)
    assert task_of_workload(workload, BASELINE).roofline.gemm == 14 * 14 + 64
    assert least_workload_cycles(workload, BASELINE) == 16 * 256 // 8


def test_a_dense_workload():
    shapes = [("TENSOR", shape, "int8") for shape in ((1, 8, 1, 16), (16, 8, 16, 16))]
    assert least_workload_cycles(Workload("dense_packed.vta", (*shapes, None, "int32")), BASELINE) == (16 * 8 * 256 + 128) // 8


def test_an_unknown_workload_has_no_bound():
    assert least_workload_cycles(Workload("dense_nopack.x86", ()), BASELINE) == 0


def test_the_clock_is_that_of_the_platform():
    assert BASELINE.platform.clock_hz == 100_000_000
    assert replace(BASELINE, target="ultra96").platform.clock_hz == 333_000_000


def test_a_wider_bus_needs_fewer_beats():
    task = small_task()
    narrow, wide = (roofline_of(task.operator, task.hw, nbytes) for nbytes in (8, 16))
    assert narrow == task.roofline
    assert (wide.gemm, wide.alu) == (narrow.gemm, narrow.alu)
    assert narrow.read <= 2 * wide.read <= narrow.read + 1
