"""Names of workloads, and the graphs that they stand for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE
from vta.autotune.task import extract_tasks
from vta.config.hardware import HardwareConfig
from vta.errors import TuningError
from vta.records.workload import Workload, tensor_argument
from vta.sweep.workloads import graph_of_identity, parse_identity

NAMES = [
    "conv2d_packed.vta:1x2x8x8x1x16:2x2x3x3x16x16:2x2:1x1x1x1:1x1",
    "group_conv2d_packed.vta:1x2x8x8x1x16:2x1x3x3x16x16:1x1:1x1x1x1:1x1:g2",
    "dense_packed.vta:1x4x1x16:2x4x16x16",
    "add.vta:1x2x4x4x1x16:1x2x4x4x1x16",
    "add.vta:1x2x4x4x1x16:scalar",
    "elementwise.vta:1x2x4x4x1x16",
    "sum_pool2d.vta:1x2x4x4x1x16:2x2:2x2:0x0x0x0",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_gives_the_workload_that_has_it(name):
    assert parse_identity(name).identity == name
    (task,) = extract_tasks(graph_of_identity(name), BASELINE)
    assert task.name == name


def test_a_convolution_has_all_its_arguments():
    tensors = tensor_argument((1, 2, 8, 8, 1, 16), "int8"), tensor_argument((2, 2, 3, 3, 16, 16), "int8")
    assert parse_identity(NAMES[0]) == Workload(
        "conv2d_packed.vta", (*tensors, (2, 2), (1, 1, 1, 1), (1, 1), "NCHW1n16c", "int32")
    )


def test_another_geometry_packs_the_same_channels_anew():
    graph = graph_of_identity(NAMES[0])
    (task,) = extract_tasks(graph, HardwareConfig.named("sim_1x32"))
    assert task.name == "conv2d_packed.vta:1x1x8x8x1x32:1x1x3x3x32x32:2x2:1x1x1x1:1x1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("conv2d:1", "unknown workload 'conv2d'; allowed: conv2d_packed.vta"),
        ("elementwise.vta", "0 parts after the name; elementwise.vta has 1: data"),
        ("elementwise.vta:1xax3", "data = '1xax3'; allowed: sizes joined by x"),
        ("conv2d_packed.vta:1x1:1x1:1x1:1x1:1x1", "data needs 6 sizes"),
        ("elementwise.vta:1x2x4x4x1x12", "blocks of 1x12; both must be powers of two"),
        ("elementwise.vta:1x2x4x4x1x1024", "no config has blocks of 1x1024"),
    ],
)
def test_wrong_names(name, message):
    with pytest.raises(TuningError) as caught:
        graph_of_identity(name)
    assert message in str(caught.value)


@given(st.sampled_from(NAMES), st.data())
@settings(deadline=None)
def test_any_change_of_sizes_is_a_graph_or_an_error(name, data):
    head, *parts = name.split(":")
    at = data.draw(st.integers(0, len(parts) - 1))
    sizes = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 16, 17, 300, 10**8, 10**30]), min_size=1, max_size=7))
    parts[at] = "x".join(map(str, sizes))
    try:
        graph = graph_of_identity(":".join([head, *parts]))
    except TuningError:
        return
    assert graph.outputs
