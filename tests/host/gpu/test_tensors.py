"""Matrices of bytes that threads multiply together: what they compute, when they are legal, and what is printed."""

from dataclasses import replace

import numpy as np
import pytest

from tests.engines import missing_for_opencl
from vta.host.gpu.build import build_gpu_kernel, tiled_sums
from vta.host.gpu.drivers.nvrtc import compile_cuda, find_nvrtc
from vta.host.gpu.printing.dialects import CUDA, OPENCL
from vta.host.gpu.printing.printer import gpu_source
from vta.host.gpu.tensor_tiles import best_tensor_tiles, takes_tensors
from vta.host.gpu.tiles import tile_fits
from vta.host.gpu.tiling import GpuTile, SpatialTile
from vta.host.kernels.group import Group
from vta.host.loop.errors import LoopError
from vta.host.loop.grid import GridLimits, grid_of
from vta.host.loop.interpret import run_program
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Bind, ComputeAt
from vta.host.loop.text import program_text
from vta.ir import names as ops
from vta.ir.graph import call, constant, graph_input
from vta.ir.interpreter import evaluate_node
from vta.records.gpu.knobs import entity_of_tile, tile_of
from vta.records.gpu.workload import BYTES

LIMITS = GridLimits(tensor=True)
TILE = GpuTile((SpatialTile(1, 8, 2), SpatialTile(1, 1, 1), SpatialTile(1, 4, 2)), (8, 1, 2), 512, True, True)


def convolution(outputs=16, height=2, width=5, kernel=(1, 2), stride=1, channels=32):
    rng = np.random.default_rng(0)
    weights = rng.integers(-128, 128, (outputs, channels, *kernel)).astype(np.int8)
    data = graph_input("data", (1, channels, height, width), "int8")
    return call(ops.CONV2D, [data, constant(weights)], strides=(stride, stride), padding=(0, 1, 0, 0))


def built(node, tile=None, limits=LIMITS):
    kernel = build_gpu_kernel(Group((node,), node), limits, tile)
    return kernel, lower(scheduled(kernel.kernel, kernel.steps))


def test_what_they_compute_is_said_by_plain_loops():
    """Extremes of bytes, a border, and columns beyond the end."""
    node = convolution(height=1, kernel=(1, 1))
    tile = replace(TILE, reduce=(8, 1, 1))
    kernel, program = built(node, tile)
    assert "# tensor" in program_text(program)
    data = np.random.default_rng(1).integers(-128, 128, node.inputs[0].shape).astype(np.int8)
    data[0, :, 0, 0] = -128
    got = run_program(program, [data, *kernel.constants])
    np.testing.assert_array_equal(got, evaluate_node(node, [data, node.inputs[1].value]))


def test_devices_that_have_them_use_them_without_being_told():
    tiled = tiled_sums(convolution(64, 14, 14, (3, 3), channels=64))
    for tile in best_tensor_tiles(tiled, LIMITS, 4):
        assert tile_fits(tiled, tile, LIMITS)
        assert not tile_fits(tiled, tile, GridLimits())
    assert "# tensor" in program_text(built(convolution(64, 14, 14, (3, 3), channels=64))[1])
    assert "# tensor" not in program_text(built(convolution(64, 14, 14, (3, 3), channels=64), limits=GridLimits())[1])
    assert not takes_tensors(tiled_sums(convolution(channels=3)), LIMITS)


def test_what_threads_cannot_multiply_together_is_refused():
    node = convolution()
    kernel = build_gpu_kernel(Group((node,), node), LIMITS, TILE)

    def refused(steps):
        with pytest.raises(LoopError) as error:
            lower(scheduled(kernel.kernel, steps))
        return str(error.value)

    turned = {"threadIdx.y": "threadIdx.z", "threadIdx.z": "threadIdx.y"}
    other = [
        replace(step, thread=turned.get(step.thread, step.thread)) if isinstance(step, Bind) and step.stage == "result" else step
        for step in kernel.steps
    ]
    assert "4 threads along x, and a multiple of 8 along y" in refused(other)
    # Data that each thread reads for itself lie in memory channel by channel, and end before the last columns do.
    data = [step for step in kernel.steps if step.stage != "data_tile"]
    assert "data_tile" in refused([*data, ComputeAt("data_tile", "sums", "rx_o")])


def test_tiles_keep_what_matrices_need():
    tiled = tiled_sums(convolution())
    assert tile_fits(tiled, TILE, LIMITS)
    first, middle, last = TILE.spatial
    for wrong in (
        replace(TILE, spatial=(replace(first, threads=4), middle, last)),
        replace(TILE, spatial=(replace(first, threads=16), middle, last)),
        replace(TILE, spatial=(first, middle, replace(last, threads=8))),
        replace(TILE, spatial=(first, middle, replace(last, inner=1))),
        replace(TILE, reduce=(4, 1, 2)),
    ):
        assert not tile_fits(tiled, wrong, LIMITS), wrong


def test_records_say_that_a_tile_multiplies_matrices():
    entity = entity_of_tile(TILE, BYTES)
    assert tile_of(entity, BYTES, (1, 2)) == TILE
    assert not any(knob == "tensorize" for knob, *_ in entity_of_tile(replace(TILE, tensor=False), BYTES))


def test_the_text_is_that_of_matrix_instructions():
    _, program = built(convolution(), TILE)
    assert "add_matrix_product(sums[" in gpu_source(program, CUDA).text
    assert "add_matrix_product" not in gpu_source(program, OPENCL).text
    # Four channels of data are loaded for a word, from a place that is there.
    assert "word = joined_bytes(input0[chosen ?" in gpu_source(program, CUDA).text


@pytest.mark.parametrize("architecture", ["75", "80", "90"])
def test_nvidia_compiles_it(architecture):
    if find_nvrtc() is None:
        pytest.skip("needs NVRTC: pip install 'vta[cuda]'")
    _, program = built(convolution(64, 14, 14, (3, 3), channels=64))
    ptx = compile_cuda(gpu_source(program, CUDA).text, architecture, to_binary=False).decode()
    assert ("m16n8k32" if architecture >= "80" else "m8n8k16") in ptx


@pytest.mark.parametrize("stride", [1, 2])
def test_on_a_device_of_opencl(stride):
    if (reason := missing_for_opencl()) is not None:
        pytest.skip(reason)
    from vta.host.gpu.drivers.open import shared_gpu

    device = shared_gpu("opencl")
    node = convolution(32, 9, 13, (3, 3), stride, channels=64)
    kernel, program = built(node)
    for function in program.functions:
        grid_of(function).check(LIMITS)
    code = device.compile(gpu_source(program, OPENCL))
    data = np.random.default_rng(2).integers(-128, 128, node.inputs[0].shape).astype(np.int8)
    memory = []
    for array in [data, *kernel.constants]:
        memory.append(device.allocate(array.nbytes))
        memory[-1].write(np.ascontiguousarray(array))
    memory += [device.allocate(buffer.nbytes) for buffer in (*program.workspace, program.output)]
    code.launch(memory)
    got = np.empty(node.shape, node.dtype)
    memory[-1].read(got)
    np.testing.assert_array_equal(got, evaluate_node(node, [data, node.inputs[1].value]))
