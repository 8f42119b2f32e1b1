"""Kernels for GPUs: their text, their threads by the interpreter of loop nests, and their results on a device of OpenCL."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import missing_for_opencl
from tests.host.examples import EXAMPLES, values_of
from vta.host.gpu.build import build_gpu_kernel, tiled_sums
from vta.host.gpu.engine import describe_gpu
from vta.host.gpu.printing.dialects import CUDA, OPENCL
from vta.host.gpu.printing.printer import gpu_source
from vta.host.gpu.tiles import best_tiles, shared_bytes, tile_fits
from vta.host.gpu.tiling import GpuTile, SpatialTile
from vta.host.groups import is_view
from vta.host.kernels.group import Group
from vta.host.loop.grid import GridLimits, grid_of
from vta.host.loop.interpret import run_program
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input, topological
from vta.ir.interpreter import evaluate, evaluate_node
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import HostStep

LIMITS = GridLimits()
ON_DEVICE = (
    ops.CONV2D, ops.QNN_CONV2D, ops.DENSE, ops.MATMUL, ops.SOFTMAX, ops.SUM, ops.AVG_POOL2D, ops.GLOBAL_AVG_POOL2D, ops.ARGMAX,
    ops.ERF, ops.QNN_REQUANTIZE, ops.CONCATENATE,
)  # fmt: skip
"""Operators whose kernels are built in different ways."""
PROCEDURES = (ops.DETECTIONS, ops.NON_MAX_SUPPRESSION)
"""What one thread would compute."""
SUMS = 2e-6
"""Of the sum of the sizes of what is added up: each order of adding rounds differently."""


def graph_of(node):
    return Graph(tuple(item for item in topological([node]) if item.op == ops.INPUT), (node,))


def convolution(channels, outputs, size, kernel, stride, padding, dtype="float32"):
    rng = np.random.default_rng(0)
    weights = rng.integers(-9, 10, (outputs, channels, kernel, kernel)).astype(dtype)
    data = graph_input("data", (1, channels, size, size), dtype)
    return call(ops.CONV2D, [data, constant(weights)], strides=(stride, stride), padding=(padding,) * 4)


def program_of(node, tile=None):
    kernel = build_gpu_kernel(Group((node,), node), LIMITS, tile)
    return kernel, lower(scheduled(kernel.kernel, kernel.steps))


@pytest.mark.parametrize("dialect", [CUDA, OPENCL], ids=["cuda", "opencl"])
def test_every_operator_is_printed(dialect):
    for op, nodes in EXAMPLES.items():
        if op in PROCEDURES:
            continue
        graph = graph_of(nodes[0])
        part = describe_gpu(graph, graph.calls(), graph.outputs, LIMITS)
        assert part.kernels or all(map(is_view, graph.calls()))
        for program in part.programs().values():
            source = gpu_source(program.lowered(), dialect)
            assert all(f"{function.symbol}(" in source.text for function in source.functions)


@pytest.mark.parametrize("stride", [1, 2])
def test_what_a_border_protects_is_read_inside_of_the_test(stride):
    """However long its place is to write down."""
    _, program = program_of(convolution(128, 256, 28, 3, stride, 1))
    for dialect in (CUDA, OPENCL):
        text = gpu_source(program, dialect).text
        assert "? input0[" in text
        assert not re.search(r"= input0\[", text)


@settings(max_examples=5, deadline=None)
@given(
    st.integers(1, 5), st.integers(1, 6), st.integers(3, 5), st.integers(1, 3), st.integers(1, 2), st.integers(0, 1),
    st.sampled_from(["float32", "int8"]), st.sampled_from([1, 2]), st.sampled_from([1, 2]), st.sampled_from([1, 3]),
)  # fmt: skip
def test_no_thread_reads_beyond_an_array(channels, outputs, size, kernel, stride, padding, dtype, virtual, inner, depth):
    """The interpreter refuses places outside of arrays; blocks may be larger than what is left of the result."""
    node = convolution(channels, outputs, size, kernel, stride, padding, dtype)
    tiled = tiled_sums(node)
    cuts = (SpatialTile(1, 4, inner), SpatialTile(virtual, 2, 1), SpatialTile(1, 1, 2))
    window = [axis.extent for axis in tiled.sums.reduce if axis.name != tiled.dot]
    tile = GpuTile(cuts, (min(depth, window[0]), *window[1:]))
    kernel_of, program = program_of(node, tile if tile_fits(tiled, tile, LIMITS) else None)
    data = np.random.default_rng(1).integers(-9, 10, node.inputs[0].shape).astype(dtype)
    got = run_program(program, [data, *kernel_of.constants])
    np.testing.assert_array_equal(got, evaluate_node(node, [data, node.inputs[1].value]))


@pytest.mark.parametrize("op", [ops.AVG_POOL2D, ops.SUM])
def test_threads_beyond_the_end_read_nothing(op):
    node = min(EXAMPLES[op], key=lambda item: item.nbytes if hasattr(item, "nbytes") else np.prod(item.shape))
    kernel, program = program_of(node)
    feed = [np.ones(item.shape, item.dtype) for item in kernel.sources]
    assert run_program(program, [*feed, *kernel.constants]).shape == node.shape


def test_long_sums_of_few_elements_are_cut_into_parts():
    def program(length):
        weights = constant(np.ones((10, length), np.float32))
        return program_of(call(ops.DENSE, [graph_input("x", (1, length), "float32"), weights]))[1]

    (together,) = program(1024).functions
    assert grid_of(together).threads == (8, 32, 1)
    parts, result = program(4096).functions
    assert grid_of(parts).blocks[0] > grid_of(result).blocks[0]


def test_untuned_tiles_fit_and_fill_the_processors():
    for channels, outputs, size, kernel, stride in ((3, 64, 224, 7, 2), (128, 256, 28, 3, 2), (512, 512, 7, 3, 1)):
        tiled = tiled_sums(convolution(channels, outputs, size, kernel, stride, kernel // 2))
        for tile in best_tiles(tiled, LIMITS, 3):
            assert tile_fits(tiled, tile, LIMITS)
            assert shared_bytes(tiled, tile) <= LIMITS.shared_bytes
            assert 32 <= tile.threads <= LIMITS.threads


def test_a_tile_that_does_not_fit_is_left_out():
    node = convolution(8, 8, 6, 3, 1, 1)
    wide = GpuTile((SpatialTile(1, 64, 1), SpatialTile(1, 32, 1), SpatialTile(1, 32, 1)), (8, 3, 3))
    assert build_gpu_kernel(Group((node,), node), LIMITS, wide).steps == build_gpu_kernel(Group((node,), node), LIMITS).steps


@pytest.fixture(scope="module")
def device():
    if (reason := missing_for_opencl()) is not None:
        pytest.skip(reason)
    from vta.host.gpu.drivers.open import shared_gpu

    return shared_gpu("opencl")


@pytest.mark.parametrize("op", ON_DEVICE)
def test_a_device_gives_what_references_give(op, device):
    for node in EXAMPLES[op][:1]:
        graph = graph_of(node)
        feed = {item.name: values_of(item, np.random.default_rng(5)) for item in graph.inputs}
        compiled = host_graph(graph, HostOptions(gpu=device))
        assert not [step for step in compiled.plan.steps if isinstance(step, HostStep)]
        (got,), (want,) = compiled.run(feed), evaluate(graph, feed)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if got.dtype.kind != "f":
            np.testing.assert_array_equal(got, want)
        else:
            terms = {name: np.abs(value) for name, value in feed.items()} if op == ops.SUM else feed
            (bound,) = evaluate(graph, terms)
            most = np.abs(bound[np.isfinite(bound)]).max(initial=0)
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=SUMS * most)


def test_tiles_of_bytes_on_a_device(device):
    node = convolution(8, 8, 7, 3, 2, 1, "int8")
    data = np.random.default_rng(2).integers(-128, 128, node.inputs[0].shape).astype(np.int8)
    (got,) = host_graph(graph_of(node), HostOptions(gpu=device)).run({"data": data})
    np.testing.assert_array_equal(got, evaluate_node(node, [data, node.inputs[1].value]))


def test_a_program_with_a_larger_grid_than_the_device_has_is_refused():
    from vta.host.loop.errors import LoopError

    _, program = program_of(convolution(8, 8, 6, 3, 1, 1))
    with pytest.raises(LoopError, match=r"threads; allowed: 4"):
        grid_of(program.functions[-1]).check(replace(LIMITS, threads=4))
