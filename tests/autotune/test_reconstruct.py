"""Graphs made of workloads are tasks of the same workload."""

import pytest

from tests.integer_graphs import BASELINE, BATCH_2
from vta.autotune.reconstruct import graph_of_workload
from vta.autotune.task import task_of_graph
from vta.errors import TuningError
from vta.records.workload import Workload


def tensor(*shape, dtype="int8"):
    return ("TENSOR", shape, dtype)


def workloads(batch):
    data, image = tensor(1, 4, 6, 6, batch, 16), tensor(1, 4, 6, 6, batch, 16, dtype="int32")
    kernel = tensor(2, 4, 3, 3, 16, 16)
    geometry = ((1, 1), (1, 1, 1, 1), (1, 1))
    return [
        Workload("conv2d_packed.vta", (data, kernel, *geometry, f"NCHW{batch}n16c", "int32")),
        Workload("group_conv2d_packed.vta", (data, tensor(4, 1, 3, 3, 16, 16), *geometry, 4, "int32")),
        Workload("group_conv2d_packed.vta", (data, tensor(4, 1, 3, 3, 16, 16), *geometry, 64, "int32")),
        Workload("dense_packed.vta", (tensor(1, 4, batch, 16), tensor(2, 4, 16, 16), None, "int32")),
        Workload("add.vta", (image, image)),
        Workload("add.vta", (image, ("TENSOR", (), "int32"))),
        Workload("multiply.vta", (image, image)),
        Workload("elementwise.vta", (image,)),
        Workload("sum_pool2d.vta", (data, (2, 2), (2, 2), (0, 0, 0, 0))),
        Workload("conv2d_transpose_packed.vta", (data, kernel, (2, 2), (1, 1, 1, 1), "int32", (0, 0))),
        Workload("conv2d_transpose_packed.vta", (data, kernel, (3, 2), (1, 0, 1, 0), "int32", (2, 1))),
        Workload("conv2d_transpose_packed.vta", (data, kernel, (2, 2), (0, 0, 2, 1), "int32", (0, 0))),
        Workload("group_conv2d_transpose_packed.vta", (data, kernel, (2, 2), (1, 1, 1, 1), (2, 2), 1, "int32", (1, 0))),
        Workload(
            "group_conv2d_transpose_packed.vta",
            (data, tensor(4, 1, 3, 3, 16, 16), (2, 1), (1, 1, 1, 1), (1, 1), 64, "int32", (0, 0)),
        ),
    ]


@pytest.mark.parametrize("hw", [BASELINE, BATCH_2], ids=["batch1", "batch2"])
@pytest.mark.parametrize("index", range(14))
def test_there_and_back(hw, index):
    workload = workloads(hw.batch)[index]
    assert task_of_graph(graph_of_workload(workload, hw), hw).workload == workload


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Workload("conv3d_packed.vta", ()), "no template for conv3d_packed.vta; there are conv2d_packed.vta"),
        (Workload("conv2d_transpose_packed.vta", ()), "its arguments do not go together"),
        (Workload("conv2d_packed.vta", (tensor(1, 4, 6, 6, 1, 16),)), "its arguments do not go together"),
        (Workload("add.vta", (tensor(1, 4, 6, 6), tensor(1, 4, 6, 6))), "4 dimensions; a packed tensor has 6"),
        (workloads(4)[0], "packed for 4x16 with kernels of 16x16; .* has 1x16"),
    ],
)
def test_what_is_no_workload(workload, message):
    with pytest.raises(TuningError, match=message):
        graph_of_workload(workload, BASELINE)
