"""Maximum pooling on VTA."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE, CONFIGS, TINY, random_inputs
from vta.codegen.templates.max_pool import MaxPool
from vta.compiler.compile import compile_graph
from vta.config.targets import MemoryType
from vta.devices.sim import SimDevice
from vta.errors import CompileError
from vta.ir.graph import Graph, call, graph_input
from vta.runtime.module import Module
from vta.tile.operator import Tensor


def pooled(shape, **attributes):
    x = graph_input("x", shape, "int8")
    return Graph((x,), (call("nn.max_pool2d", [x], "pool", **attributes),))


def check(graph, hw):
    compiled = compile_graph(graph, hw)
    assert len(compiled.regions) == 1
    with Module(compiled, SimDevice(hw, 1 << 24)) as module:
        report = module.check(random_inputs(graph))
    assert report.bit_exact, str(report.mismatch)
    return compiled


@st.composite
def pools(draw):
    size = tuple(draw(st.integers(1, 4)) for _ in range(2))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 40)), *(draw(st.integers(extent, 14)) for extent in size))
    padding = tuple(draw(st.integers(0, size[axis] - 1)) for axis in (0, 1, 0, 1))
    strides = tuple(draw(st.integers(1, 5)) for _ in range(2))
    return pooled(shape, pool_size=size, strides=strides, padding=padding, ceil_mode=draw(st.booleans()))


@settings(deadline=None, max_examples=60)
@given(pools(), st.sampled_from([hw for hw in CONFIGS if hw.depth(MemoryType.ACC) >= 64]))
def test_pooling_is_exact(graph, hw):
    check(graph, hw)


@pytest.mark.parametrize("shape", [(1, 20, 7, 5), (2, 16, 1, 1), (1, 3, 12, 12)])
def test_the_largest_of_an_image(shape):
    x = graph_input("x", shape, "int8")
    compiled = check(Graph((x,), (call("nn.global_max_pool2d", [x], "pool"),)), BASELINE)
    assert {placement.where for placement in compiled.placements} == {"vta"}


def test_an_image_that_does_not_fit_is_pooled_on_the_host():
    x = graph_input("x", (1, 3, 20, 20), "int8")
    compiled = compile_graph(Graph((x,), (call("nn.global_max_pool2d", [x], "pool"),)), TINY)
    assert compiled.placements[0].reason.startswith("pool: a window of 400 rows does not fit")


def test_padding_never_wins():
    graph = pooled((1, 3, 4, 4), pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1))
    compiled = check(graph, BASELINE)
    with Module(compiled, SimDevice(BASELINE, 1 << 24)) as module:
        (out,) = module.run({"x": np.full((1, 3, 4, 4), -128, np.int8)}).outputs
    assert (out == -128).all()


def test_small_buffers_are_used_tile_by_tile():
    compiled = check(pooled((1, 20, 24, 24), pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1)), TINY)
    assert compiled.regions[0].program.tile_index.max() > 10


def pool_of(height, width, size=(2, 2), blocks=2):
    out = Tensor("y", 1, blocks, height // size[0], width // size[1])
    return MaxPool(name="pool", source=Tensor("x", 1, blocks, height, width), output=out, pool_size=size, strides=size)


def test_the_tile_leaves_room_for_two_where_it_can():
    blocks, height, width = pool_of(16, 16).tile_size(TINY)
    assert 2 * (blocks * height * width) * (4 + 1) <= TINY.depth(MemoryType.ACC)
    assert pool_of(4, 4).tile_size(BASELINE) == (2, 2, 2)


def test_a_window_larger_than_the_buffers_is_refused():
    hw = replace(BASELINE, log_acc_buff_size=9)
    with pytest.raises(CompileError, match="pool: a window of 16 rows does not fit the input and accumulator buffers of sim_"):
        pool_of(16, 16, (4, 4)).tile_size(hw)


def test_rows_too_long_to_step_over_are_refused():
    with pytest.raises(CompileError, match="pool: x: rows of 70000 elements exceed the stride limit of 65535"):
        pool_of(2, 70000).tile_size(BASELINE)
