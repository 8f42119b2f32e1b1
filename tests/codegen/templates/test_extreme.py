"""The largest and the smallest value of an image on VTA."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import open_engine
from tests.integer_graphs import BASELINE, CONFIGS, TINY, random_inputs
from vta.codegen.templates.extreme import Extreme
from vta.compiler.compile import compile_graph
from vta.devices.device import RunOptions
from vta.errors import CompileError
from vta.ir.graph import Graph, call, graph_input
from vta.isa.verify import verify
from vta.runtime.module import Module
from vta.tile.operator import Tensor


def reduced(op, shape, axis=(2, 3), keepdims=False):
    x = graph_input("x", shape, "int8")
    return Graph((x,), (call(op, [x], "extreme", axis=axis, keepdims=keepdims),))


def check(graph, hw, engine="sim", seed=None):
    compiled = compile_graph(graph, hw)
    assert {placement.where for placement in compiled.placements} == {"vta"}
    (region,) = compiled.regions
    assert verify(region.program) == []
    with Module(compiled, open_engine(engine, hw), RunOptions(seed=seed)) as module:
        report = module.check(random_inputs(graph))
    assert report.bit_exact, str(report.mismatch)
    return compiled


@st.composite
def reductions(draw):
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 40)), draw(st.integers(1, 30)), draw(st.integers(1, 30)))
    return reduced(draw(st.sampled_from(("max", "min"))), shape, keepdims=draw(st.booleans()))


@settings(deadline=None, max_examples=60)
@given(reductions(), st.sampled_from(CONFIGS), st.integers(0, 1 << 16))
def test_extremes_are_exact(graph, hw, seed):
    check(graph, hw, seed=seed)


@pytest.mark.parametrize("engine", ["sim", "cycle", "rtl"])
@pytest.mark.parametrize("op", ["max", "min"])
def test_every_engine_gives_the_same(op, engine):
    check(reduced(op, (1, 20, 7, 5)), BASELINE, engine)


@pytest.mark.parametrize(("op", "worst"), [("max", -128), ("min", 127)])
def test_the_worst_value_is_met_by_nothing_better(op, worst):
    graph = reduced(op, (1, 3, 2, 2))
    with Module(compile_graph(graph, BASELINE), open_engine("sim", BASELINE)) as module:
        (out,) = module.run({"x": np.full((1, 3, 2, 2), worst, np.int8)}).outputs
    assert (out == worst).all()


def test_an_image_larger_than_the_buffers_is_read_piece_by_piece():
    compiled = check(reduced("max", (1, 40, 50, 50)), TINY)
    assert compiled.regions[0].program.tile_index.max() > 10


@pytest.mark.parametrize(("shape", "axis"), [((1, 8, 4, 4), (1,)), ((1, 8, 4, 4), (2,)), ((1, 8), (1,))])
def test_other_axes_stay_on_the_host(shape, axis):
    (placement,) = compile_graph(reduced("max", shape, axis, keepdims=True), BASELINE).placements
    assert placement.where == "host"
    assert "must be over the rows and columns of an image" in placement.reason


def test_the_kind_says_which():
    with pytest.raises(CompileError, match="m: x: rows of 70000 elements exceed the stride limit of 65535"):
        Extreme(name="m", kind="reduce_max", source=Tensor("x", 1, 1, 2, 70000), output=Tensor("y", 1, 1, 1, 1)).check(BASELINE)
