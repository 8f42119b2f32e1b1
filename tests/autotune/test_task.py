"""Tasks of networks."""

import numpy as np

from tests.autotune._tasks import layer
from tests.integer_graphs import BASELINE, conv, int8_clip, per_channel, widened
from vta.autotune.task import alu_workloads, extract_tasks, merged_tasks, task_of_graph
from vta.ir.graph import Graph, call, constant, graph_input
from vta.records.workload import Workload


def tensor(shape, dtype="int32"):
    return ("TENSOR", shape, dtype)


PACKED = (1, 4, 56, 56, 1, 16)


def residual_net():
    """Three equal convolutions, one of them with a residual, and a different one."""
    data = graph_input("x", (1, 16, 8, 8), "int8")
    weights = np.ones((16, 16, 3, 3))
    pads = {"padding": (1, 1, 1, 1)}
    first = int8_clip(conv(data, weights, "a", **pads), "a")
    second = int8_clip(call("add", [conv(first, weights, "b", **pads), widened(data)], "b"), "b")
    third = int8_clip(conv(second, weights, "c", **pads), "c")
    last = int8_clip(conv(third, np.ones((16, 16, 1, 1)), "d"), "d")
    return Graph((data,), (last,))


def test_equal_workloads_merge_whatever_follows_the_products():
    first, last = extract_tasks(residual_net(), BASELINE)
    assert (first.weight, first.layers) == (3, ("a", "b", "c"))
    assert (last.weight, last.layers) == (1, ("d",))
    assert len(first.variants) == 2
    assert len(first.operator.digits[0].terms) == 2, "the most demanding one is measured"


def test_layers_limit_the_tasks():
    assert [task.layers for task in extract_tasks(residual_net(), BASELINE, frozenset({"c", "d"}))] == [("c",), ("d",)]


def test_the_graph_of_a_task_is_one_operator_of_the_same_workload():
    for task in extract_tasks(residual_net(), BASELINE):
        assert task_of_graph(task.graph, BASELINE).workload == task.workload


def test_resnet18_has_ten_convolutions():
    from benchmarks.simulator import RESNET18, graph_of

    names = {task_of_graph(graph_of(layer, 1), BASELINE).name for layer in RESNET18}
    assert len(names) == 10


def test_alu_operators_that_cannot_be_tuned_are_dropped_and_said():
    kept, said = alu_workloads(
        [
            Workload("add.vta", (tensor((1, 64, 56, 56)), tensor((1, 64, 56, 56)))),
            Workload("add.vta", (tensor(PACKED, "float32"), tensor(PACKED, "float32"))),
            Workload("conv2d_packed.vta", ()),
        ]
    )
    assert kept == ()
    assert [line.partition(": ")[2] for line in said] == ["dropped, its operands are not packed", "dropped, it computes in float"]


def test_scalar_operands_tune_as_tensors_and_equal_tasks_merge():
    pair = Workload("multiply.vta", (tensor(PACKED), tensor(PACKED)))
    scalar = Workload("multiply.vta", (tensor(PACKED), tensor(())))
    kept, said = alu_workloads([scalar, pair])
    assert kept == (pair,)
    assert said == (f"{pair.identity}: tuned together with {scalar.identity}",)


def test_the_space_and_roofline_are_those_of_the_config():
    task = task_of_graph(layer(), BASELINE)
    assert task.space.size > 0
    assert task.roofline.cycles > 0


def test_tasks_of_several_networks_are_joined():
    """Of equal workloads the most demanding is measured, and a schedule must fit the variants of all."""
    plain = Graph((x := graph_input("x", (1, 32, 6, 6), "int8"),), (int8_clip(conv(x, np.ones((32, 32, 3, 3)), "a"), "a"),), "a")
    y = graph_input("y", (1, 32, 6, 6), "int8")
    biased = call("add", [conv(y, np.ones((32, 32, 3, 3)), "b"), per_channel(np.arange(32))], "b")
    biased = call("right_shift", [biased, constant(np.int32(3))], "b")
    tasks = [task for graph in (plain, Graph((y,), (int8_clip(biased, "b"),), "b")) for task in extract_tasks(graph, BASELINE)]
    (joined,) = merged_tasks(tasks)
    assert len(tasks) == 2
    assert (joined.weight, joined.layers) == (2, ("a", "b"))
    assert joined.operator is tasks[1].operator
    assert set(joined.variants) == {task.operator for task in tasks}
    assert merged_tasks(tasks[:1])[0].variants == tasks[0].variants
