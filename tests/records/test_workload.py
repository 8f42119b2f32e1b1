"""Workloads: named as the published records name them."""

import numpy as np
import pytest

from tests.autotune._tasks import layer
from tests.integer_graphs import BASELINE, int8_clip, widened
from vta.autotune.task import task_of_graph
from vta.errors import TuningError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.records.workload import Workload


def workload(graph, hw=BASELINE):
    return task_of_graph(graph, hw).workload


def tensor(*shape, dtype="int8"):
    return ("TENSOR", shape, dtype)


def test_a_convolution():
    found = workload(layer(64, 128, 8, 3, 1, 2))
    data, kernel = tensor(1, 4, 8, 8, 1, 16), tensor(8, 4, 3, 3, 16, 16)
    assert found == Workload("conv2d_packed.vta", (data, kernel, (2, 2), (1, 1, 1, 1), (1, 1), "NCHW1n16c", "int32"))


def test_a_convolution_without_neighbors_keeps_its_rows():
    assert workload(layer(kernel=1, pad=0)).args[0] == tensor(1, 2, 6, 6, 1, 16)


@pytest.mark.parametrize(("channels", "groups", "kernel_blocks"), [(64, 64, 1), (64, 4, 1), (64, 2, 2)])
def test_groups(channels, groups, kernel_blocks):
    found = workload(layer(channels, channels, groups=groups))
    assert found.name == "group_conv2d_packed.vta"
    assert found.args[1] == tensor(4, kernel_blocks, 3, 3, 16, 16)
    assert found.args[5:] == (groups, "int32")


@pytest.mark.parametrize("extra", [(0, 0), (1, 0)])
def test_a_transposed_convolution(extra):
    data = graph_input("x", (1, 40, 4, 5), "int8")
    attributes = {"strides": (2, 2), "padding": (1, 1, 1, 1), "output_padding": extra}
    value = call("nn.conv2d_transpose", [data, constant(np.ones((40, 20, 4, 4), np.int8))], "up", **attributes)
    found = workload(Graph((data,), (int8_clip(value, "up"),)))
    packed, kernel = tensor(1, 3, 4, 5, 1, 16), tensor(2, 3, 4, 4, 16, 16)
    assert found == Workload("conv2d_transpose_packed.vta", (packed, kernel, (2, 2), (1, 1, 1, 1), "int32", extra))


def test_dense():
    data = graph_input("x", (1, 40), "int8")
    value = call("nn.dense", [data, constant(np.ones((20, 40), np.int8))], "fc")
    found = workload(Graph((data,), (int8_clip(value, "fc"),)))
    assert found == Workload("dense_packed.vta", (tensor(1, 3, 1, 16), tensor(2, 3, 16, 16), None, "int32"))


@pytest.mark.parametrize("op", ["add", "multiply"])
def test_pairs(op):
    left, right = (graph_input(name, (1, 20, 5, 5), "int8") for name in "ab")
    found = workload(Graph((left, right), (int8_clip(call(op, [widened(left), widened(right)], op), op),)))
    packed = tensor(1, 2, 5, 5, 1, 16, dtype="int32")
    assert found == Workload(f"{op}.vta", (packed, packed))


def test_a_scalar_operand():
    data = graph_input("x", (1, 16, 5, 5), "int8")
    value = call("add", [widened(data), constant(np.int32(3))], "plus")
    assert workload(Graph((data,), (int8_clip(value, "plus"),))).args[1] == ("TENSOR", (), "int32")


def test_identity_is_short_and_without_spaces():
    assert workload(layer()).identity == "conv2d_packed.vta:1x2x6x6x1x16:2x2x3x3x16x16:1x1:1x1x1x1:1x1"


def test_json_and_back():
    found = workload(layer())
    assert Workload.from_json(*found.to_json()) == found


def test_what_is_no_workload():
    with pytest.raises(TuningError, match="a name and a list of arguments, got 3"):
        Workload.from_json(3, [])


def test_a_window_sum_that_something_is_added_to_is_named_after_the_window():
    x = graph_input("x", (1, 16, 4, 4), "int8")
    pooled = call("nn.sum_pool2d", [x], "pool", pool_size=(3, 3), strides=(1, 1), padding=(1, 1, 1, 1))
    total = call("add", [call("cast", [x], "wide", dtype="int32"), pooled], "sum")
    assert workload(Graph((x,), (total,))).identity == "sum_pool2d.vta:1x1x4x4x1x16:3x3:1x1:1x1x1x1"
