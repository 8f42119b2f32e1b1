"""Transposed convolutions: the same bits as the reference, whatever the shape, the schedule and the hardware."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import open_engine
from tests.integer_graphs import BASELINE, BATCH_2, CONFIGS, int8_clip, random_inputs
from tests.schedule._schedules import schedules
from vta.compiler.compile import compile_graph
from vta.devices.sim import SimDevice
from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.runtime.module import Module
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import broken_limits
from vta.schedule.source import PerOperator


def layer(shape=(1, 20, 4, 5), outputs=18, kernel=(4, 4), groups=1, narrow=True, seed=0, adds=("bias",), **attributes):
    """A transposed convolution, and shift and clip if it is to be `narrow`; `outputs` are those of a group.

    It adds a bias, or a value for each phase of its output, or both.
    """
    rng = np.random.default_rng(seed)
    data = graph_input("x", shape, "int8")
    weight = constant(rng.integers(-128, 128, (shape[1], outputs, *kernel), np.int8))
    inputs = [data, weight]
    if "phase" in adds:
        phases = attributes.get("strides", (1, 1))
        inputs.append(constant(rng.integers(-9999, 9999, (outputs * groups, *phases), np.int32)))
    value = call("nn.conv2d_transpose", inputs, "up", groups=groups, **attributes)
    if "bias" in adds:
        value = call("nn.bias_add", [value, constant(rng.integers(-9999, 9999, value.shape[1], np.int32))], "up")
    if narrow:
        value = int8_clip(call("right_shift", [value, constant(np.int32(7))], "up"), "up")
    return Graph((data,), (value,))


@st.composite
def layers(draw):
    """Any transposed convolution that leaves an output."""
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    channels = draw(st.integers(1, 40))
    groups = draw(st.sampled_from([count for count in (1, 1, 2, 3, channels) if channels % count == 0]))
    shape = (draw(st.integers(1, 3)), channels, draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    kernel, strides = draw(st.tuples(st.integers(1, 5), st.integers(1, 5))), draw(pair)
    padding = draw(st.tuples(*[st.integers(0, 3)] * 4))
    extra = tuple(draw(st.integers(0, stride - 1)) for stride in strides)
    outputs, narrow = draw(st.integers(1, 40 if groups == 1 else 3)), draw(st.booleans())
    adds = draw(st.sets(st.sampled_from(("bias", "phase"))))
    attributes = {"adds": adds, "strides": strides, "padding": padding, "output_padding": extra, "dilation": draw(pair)}
    try:
        return layer(shape, outputs, kernel, groups, narrow, draw(st.integers(0, 99)), **attributes)
    except GraphError:
        return layer(shape, outputs, kernel, groups, narrow, **attributes | {"padding": (0, 0, 0, 0)})


def check(graph, hw, device=None, chooser=choose_schedule):
    compiled = compile_graph(graph, hw, schedules=PerOperator(chooser))
    assert compiled.regions
    assert {placement.where for placement in compiled.placements} == {"vta"}
    with Module(compiled, device or SimDevice(hw, 1 << 24)) as module:
        report = module.check(random_inputs(graph))
        assert report.bit_exact, str(report.mismatch)
    return compiled


@given(layers(), st.sampled_from([hw for hw in CONFIGS if hw.acc_bits == 32]))
@settings(max_examples=80)
def test_any_layer_on_any_hardware(graph, hw):
    check(graph, hw)


@given(
    layers(),
    st.sampled_from((BASELINE, BATCH_2, replace(BASELINE, target="pynq"), replace(BASELINE, target="tsim"))),
    schedules(),
    st.booleans(),
)
@settings(max_examples=80)
def test_any_schedule(graph, hw, schedule, skip_padding):
    schedule = replace(schedule, skip_padding=skip_padding)

    def chooser(operator, hw):
        return choose_schedule(operator, hw) if broken_limits(operator, schedule, hw) else schedule

    check(graph, hw, chooser=chooser)


@pytest.mark.parametrize("engine", ["cycle", "rtl"])
@pytest.mark.parametrize("strides", [(2, 2), (3, 1)])
def test_on_the_other_engines(engine, strides):
    check(layer(strides=strides, padding=(1, 1, 1, 0)), BASELINE, open_engine(engine, BASELINE))


@pytest.mark.parametrize("target", ["sim", "pynq", "tsim", "intelfocl"])
@pytest.mark.parametrize("narrow", [True, False])
def test_outputs_that_no_input_reaches_are_zero_before_the_bias(target, narrow):
    graph = layer((1, 8, 2, 2), 8, (1, 1), narrow=narrow, strides=(3, 2), output_padding=(2, 1))
    check(graph, replace(BASELINE, target=target))


@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 3)])
def test_no_product_with_inserted_zeros(strides):
    """A product for each input position and kernel position, and none besides."""
    graph = layer((1, 16, 4, 4), 16, (3, 3), strides=strides)

    def chooser(operator, hw):
        return replace(choose_schedule(operator, hw), skip_padding=True)

    compiled = check(graph, BASELINE, chooser=chooser)
    with Module(compiled, SimDevice(BASELINE, 1 << 24)) as module:
        counters = module.run(random_inputs(graph)).operators["up"]
    assert counters.macs == compiled.regions[0].operators[0].macs == 16 * 9 * 16 * 16
