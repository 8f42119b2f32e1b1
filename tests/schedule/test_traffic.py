"""Bytes that schedules are expected to move are those that the device counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.cases._nets import WEIGHT_SEED, config, int8_data, narrowed
from tests.engines import open_engine
from vta.compiler.compile import compile_graph
from vta.ir.graph import Graph, call, constant, graph_input
from vta.runtime import Module
from vta.schedule.choose import choose_schedule
from vta.schedule.columns import Schedules
from vta.schedule.cost import estimate
from vta.schedule.resources import Buffers, broken_limits
from vta.schedule.source import PerOperator


@st.composite
def convolutions(draw):
    """A convolution of int8 data with a bias, perhaps a transposed one, as a graph."""
    channels, size = st.sampled_from([8, 16, 40, 64]), st.integers(3, 20)
    kernel, strides = (draw(st.tuples(st.integers(1, 3), st.integers(1, 3))) for _ in range(2))
    padding = tuple(draw(st.integers(0, extent // 2)) for extent in kernel) * 2
    inp, out = draw(channels), draw(channels)
    data = graph_input("x", (1, inp, draw(size), draw(size)), "int8")
    transposed = draw(st.booleans())
    op, shape = ("nn.conv2d_transpose", (inp, out)) if transposed else ("nn.conv2d", (out, inp))
    weights = constant(int8_data((*shape, *kernel), WEIGHT_SEED))
    acc = call(op, [data, weights], "conv", strides=strides, padding=padding)
    biased = call("nn.bias_add", [acc, constant(np.arange(out, dtype=np.int32))], "bias")
    return Graph((data,), (narrowed(biased, 8, "conv"),))


@settings(deadline=None, max_examples=60)
@given(convolutions(), st.data())
def test_data_bytes_are_counted_bytes(graph, data):
    """For tile sizes that fit, with as many slots as the estimate takes."""
    hw = config("sim", LOG_INP_BUFF_SIZE=data.draw(st.integers(10, 15)), LOG_WGT_BUFF_SIZE=data.draw(st.integers(13, 18)))
    expected = []

    def chooser(operator, hw):
        operator = operator.flattened
        out = operator.output
        sizes = {"tile_co": out.blocks, "tile_h": out.height, "tile_w": out.width}
        drawn = {name: data.draw(st.integers(1, extent), name) for name, extent in sizes.items()}
        for name, phases in zip(("tile_h", "tile_w"), operator.main_term.source_dilation, strict=True):
            # Neighbours that are narrower read the same of the input, which is then loaded once.
            drawn[name] = min(sizes[name], -(-drawn[name] // phases) * phases)
        schedule = replace(choose_schedule(operator, hw), **drawn, weights_outer=data.draw(st.booleans(), "outer"))
        drawn = Schedules.of([schedule])
        found = estimate(operator, hw, Buffers.of(hw), drawn, drawn.weights_outer)
        assume(found.valid[0])
        slots = {name: int(getattr(found, name)[0]) for name in ("inp_slots", "wgt_slots", "acc_slots")}
        schedule = replace(schedule, **slots)
        assume(not broken_limits(operator, schedule, hw))
        expected.append(int(found.data[0]))
        return schedule

    compiled = compile_graph(graph, hw, schedules=PerOperator(chooser))
    with Module(compiled, open_engine("sim", hw)) as module:
        ((_, result),) = module.run({"x": int8_data(graph.inputs[0].shape, seed=1)}).results
    counted = result.counters.dram_bytes
    assert [sum(counted[name] for name in ("inp", "wgt", "acc", "out"))] == expected


def test_the_choice_moves_less_where_it_costs_nothing():
    """Of schedules within two percent of the fastest, one that keeps the input on chip for all output channels."""
    data = graph_input("x", (1, 64, 56, 56), "int8")
    acc = call("nn.conv2d", [data, constant(int8_data((64, 64, 3, 3), WEIGHT_SEED))], "conv", padding=(1, 1, 1, 1))
    compiled = compile_graph(Graph((data,), (narrowed(acc, 8, "conv"),)), config("sim"))
    with Module(compiled, open_engine("sim", config("sim"))) as module:
        ((_, result),) = module.run({"x": int8_data(data.shape, seed=1)}).results
    least = 2 * data.shape[1] * 56 * 56 + 64 * 64 * 9
    assert sum(result.counters.dram_bytes.values()) == pytest.approx(least, rel=0.1)
