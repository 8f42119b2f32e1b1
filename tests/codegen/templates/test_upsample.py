"""Nearest upsampling on VTA."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import open_engine
from tests.integer_graphs import BASELINE, CONFIGS, TINY, random_inputs
from vta.codegen.templates.upsample import Upsample
from vta.compiler.compile import compile_graph
from vta.errors import CompileError
from vta.ir.graph import Graph, call, graph_input
from vta.isa.verify import verify
from vta.runtime.module import Module
from vta.tile.operator import Tensor


def upsampled(shape, down, across):
    x = graph_input("x", shape, "int8")
    return Graph((x,), (call("nn.upsampling", [x], "up", scale_h=down, scale_w=across),))


def check(graph, hw, engine="sim"):
    compiled = compile_graph(graph, hw)
    assert [record.kind for region in compiled.regions for record in region.operators] == ["upsampling"]
    (x,) = random_inputs(graph).values()
    attrs = graph.outputs[0].attrs
    with Module(compiled, open_engine(engine, hw)) as module:
        (out,) = module.run({"x": x}).outputs
    np.testing.assert_array_equal(out, np.kron(x, np.ones((1, 1, attrs.scale_h, attrs.scale_w), np.int8)))
    assert verify(compiled.regions[0].program) == []
    return compiled


@st.composite
def upsamplings(draw):
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 40)), draw(st.integers(1, 12)), draw(st.integers(1, 12)))
    return upsampled(shape, draw(st.integers(1, 5)), draw(st.integers(1, 5)))


@settings(deadline=None, max_examples=60)
@given(upsamplings(), st.sampled_from(CONFIGS))
def test_upsampling_is_exact(graph, hw):
    check(graph, hw)


@pytest.mark.parametrize("engine", ["cycle", "rtl"])
def test_engines_that_count_cycles_give_the_same(engine):
    check(upsampled((1, 20, 7, 5), 2, 3), BASELINE, engine)


def test_small_buffers_are_used_tile_by_tile():
    assert check(upsampled((1, 20, 24, 24), 2, 2), TINY).regions[0].program.tile_index.max() > 10


def up(factors, width=8):
    source = Tensor("x", 1, 2, 8, width)
    output = replace(source, height=8 * factors[0], width=width * factors[1])
    return Upsample(name="up", source=source, output=output, factors=factors)


def test_the_tile_leaves_room_for_two_where_it_can():
    assert up((2, 2)).tile_size(BASELINE) == (2, 8, 8)
    assert np.prod(up((2, 2)).tile_size(TINY)) <= 8


def test_positions_that_become_too_many_are_refused():
    with pytest.raises(CompileError, match="up: the 81 rows of one position do not fit the accumulator buffer of sim_"):
        up((9, 9)).tile_size(TINY)
    compiled = compile_graph(upsampled((1, 4, 3, 3), 9, 9), TINY)
    assert compiled.placements[0].where == "host"


def test_rows_too_long_to_step_over_are_refused():
    operator = Upsample(name="up", source=Tensor("x", 1, 1, 2, 35000), output=Tensor("y", 1, 1, 4, 70000), factors=(2, 2))
    with pytest.raises(CompileError, match="up: y: rows of 70000 elements exceed the stride limit of 65535"):
        operator.tile_size(BASELINE)
