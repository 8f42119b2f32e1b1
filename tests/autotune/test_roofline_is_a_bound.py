"""What the cycle engine counts is never below the roofline: of any operator, with any schedule, and of whole regions."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE, BATCH_2, TINY, conv, int8_clip, integer_graphs, per_channel, widened
from vta.autotune.task import extract_tasks
from vta.codegen.timing import TimingEmitter
from vta.compiler.compile import compile_graph, graph_regions
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions
from vta.devices.engine.cycle_engine import Preset
from vta.errors import CompileError, TuningError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.records.least_cycles import least_workload_cycles
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import broken_limits
from vta.schedule.roofline import roofline_of, roofline_of_region

CONFIGS = st.sampled_from([BASELINE, BATCH_2, TINY, replace(BASELINE, target="pynq"), replace(TINY, target="tsim", log_block=3)])

TIMINGS = st.sampled_from(
    [
        (TimingParameters(), Preset.RTL),
        (TimingParameters(bus_bits=512, read_latency=1), Preset.RTL),
        (TimingParameters(bus_bits=128, read_latency=200, beat_interval=3), Preset.RTL),
        (TimingParameters(bus_bits=256, burst_beats=16, load_ahead=64, store_ahead=64, queue_depth=4096), Preset.RTL),
        (TimingParameters(load_ahead=1, store_ahead=1, queue_depth=2), Preset.RTL),
        (TimingParameters(bus_bits=128), Preset.CHISEL),
        (TimingParameters(), Preset.HLS),
    ]
)


@contextmanager
def opened(hw, timing, preset=Preset.RTL):
    device = CycleDevice(hw, timing, preset=preset, timing_only=True)
    yield device
    device.close()


@st.composite
def sparse_weights(draw, outputs, inputs, kernel, block):
    """Weights, some of whose blocks or kernel positions are zero, some of which need two terms."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    wide = draw(st.booleans())
    weights = rng.integers(-255 if wide else -128, 256 if wide else 128, (outputs, inputs, *kernel)).astype(np.int16)
    kept = rng.random((-(-outputs // block), -(-inputs // block), *kernel)) < draw(st.sampled_from([0.05, 0.3, 0.9, 1.0]))
    spread = kept.repeat(block, axis=0).repeat(block, axis=1)[:outputs, :inputs]
    weights = weights * spread
    return weights if wide else weights.astype(np.int8)


@st.composite
def layers(draw, hw):
    """One convolution, plain, grouped, by channel or transposed, over a small image, with what may follow it."""
    size = draw(st.tuples(st.integers(1, 7), st.integers(1, 7)))
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    groups = draw(st.sampled_from([1, 1, 1, 2]))
    inputs, outputs = (hw.block * draw(st.integers(1, 4)) * groups for _ in range(2))
    same = draw(st.booleans())
    outputs = inputs if same else outputs
    if draw(st.integers(0, 3)) == 0:
        groups = inputs = outputs = hw.block * draw(st.integers(1, 3))
    data = graph_input("x", (hw.batch, inputs, *size), "int8")
    weights = draw(sparse_weights(outputs, inputs // groups, kernel, hw.block))
    strides, dilation = (draw(st.tuples(st.integers(1, 3), st.integers(1, 3))) for _ in range(2))
    padding = tuple(draw(st.integers(0, 3)) for _ in range(4))
    if same:
        spans = [(kernel[axis] - 1) * dilation[axis] for axis in (0, 1)]
        strides, padding = (1, 1), (*(span // 2 for span in spans), *(span - span // 2 for span in spans))
    if not same and draw(st.integers(0, 4)) == 0 and groups == 1 and weights.dtype == np.int8:
        attributes = {"strides": strides, "padding": tuple(min(pad, 0) for pad in padding), "output_padding": (0, 0)}
        value = call("nn.conv2d_transpose", [data, constant(weights.swapaxes(0, 1))], "c", groups=1, **attributes)
    else:
        assume(all(size[a] + padding[a] + padding[a + 2] > (kernel[a] - 1) * dilation[a] for a in (0, 1)))
        attributes = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
        value = call("nn.conv2d", [data, constant(weights)], "c", **attributes)
    return Graph((data,), (_followed(draw, value, data),), "layer")


def _followed(draw, value, data):
    if draw(st.booleans()):
        value = call("add", [value, per_channel(np.arange(value.shape[1]) * 7 - 50)], "c")
    if draw(st.booleans()):
        value = call("right_shift", [value, constant(np.int32(3))], "c")
    if draw(st.booleans()) and value.shape == data.shape:
        other = widened(data)
        if draw(st.booleans()):
            other = call("multiply", [other, constant(np.int32(draw(st.sampled_from([3, 300]))))], "c")
        value = call(draw(st.sampled_from(["add", "add", "maximum"])), [value, other], "c")
    if draw(st.booleans()):
        value = call("right_shift", [value, constant(np.int32(5))], "c")
    for fork in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        # A copy of the tile, with steps of its own, that joins again.
        branch = call("maximum", [value, constant(np.int32(fork - 9))], "c")
        branch = call("right_shift", [branch, per_channel(np.full(value.shape[1], 1 + fork))], "c")
        value = call("add", [value, branch], "c")
    return int8_clip(value, "c") if draw(st.integers(0, 4)) else value


def counted(task, schedule, device):
    """Cycles and work of one schedule."""
    result = device.run(TimingEmitter(task.operator, task.hw).stream(schedule), RunOptions(limit_seconds=60))
    return result.cycles, result.counters


def check_bound(task, schedule, device):
    """Whole, and each part of it."""
    beat = device.timing.bus_bytes
    found = roofline_of(task.operator, task.hw, beat)
    cycles, did = counted(task, schedule, device)
    assert found.cycles <= cycles
    assert found.gemm + found.alu <= did.gemm_uops + did.reset_uops + did.alu_uops
    assert found.acc_loads <= -(-did.acc_bytes // beat)
    assert found.read <= -(-(did.inp_bytes + did.wgt_bytes + did.acc_bytes) // beat)
    assert found.write <= -(-did.out_bytes // beat)
    dense = not any(term.sparse for term in task.operator.terms)
    if device.timing.bus_bytes == task.hw.platform.bus_bytes:
        assert least_workload_cycles(task.workload, task.hw, dense) <= cycles


def schedules(task, seed):
    """The compiler's own, and a few of the space, with and without padding."""
    found = [choose_schedule(task.operator, task.hw)]
    try:
        numbers = task.space.random(np.random.default_rng(seed), 6)
    except TuningError:
        return found
    found += [task.space.schedule(int(number)) for number in numbers]
    return [one for one in found if not broken_limits(task.operator.laid_out(one), one, task.hw)]


@given(st.data(), CONFIGS, TIMINGS, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_of_layers(data, hw, timing, seed):
    graph = data.draw(layers(hw))
    with opened(hw, *timing) as device:
        for task in extract_tasks(graph, hw):
            for schedule in schedules(task, seed):
                check_bound(task, schedule, device)


@given(integer_graphs(), CONFIGS, TIMINGS)
@settings(max_examples=40, deadline=None)
def test_of_regions(graph, hw, timing):
    try:
        module = compile_graph(graph, hw)
    except CompileError:
        assume(False)
    with opened(hw, *timing) as device:
        for region, compiled in zip(graph_regions(graph, hw), module.regions, strict=True):
            assert {record.name for record in compiled.operators} <= {operator.name for operator in region.operators}
            cycles = device.run(compiled.program.encoded(), RunOptions(limit_seconds=60)).cycles
            assert roofline_of_region(region, hw, device.timing.bus_bytes).cycles <= cycles
        for task in extract_tasks(graph, hw):
            for schedule in schedules(task, 0)[:3]:
                check_bound(task, schedule, device)


def test_blocks_of_zeros_by_hand():
    """Of 4 blocks of weights at 9 positions one is kept, at the position that lies on the image everywhere."""
    weights = np.zeros((32, 32, 3, 3), np.int8)
    weights[:16, :16, 1, 1] = 1
    data = graph_input("x", (1, 32, 6, 6), "int8")
    (task,) = extract_tasks(Graph((data,), (int8_clip(conv(data, weights, padding=(1,) * 4), "c"),), "c"), BASELINE)
    found = roofline_of(task.operator, BASELINE)
    assert found.gemm == 36 + 2 * 36
    assert found.read == (36 * 16 + BASELINE.elem_bytes(MemoryType.WGT)) // 8


def test_positions_that_no_output_reaches_are_not_counted():
    """Of a kernel of 3 x 3 over one pixel only the middle is read."""
    data = graph_input("x", (1, 16, 1, 1), "int8")
    (task,) = extract_tasks(
        Graph((data,), (int8_clip(conv(data, np.ones((16, 16, 3, 3)), padding=(1,) * 4), "c"),), "c"), BASELINE
    )
    found = roofline_of(task.operator, BASELINE)
    assert found.gemm == 1 + 1
    assert found.read == (16 + 256) // 8
    assert least_workload_cycles(task.workload, BASELINE) == 256 // 8


@pytest.mark.parametrize("name", ["mobilenet/mobilenet_v1_0.25_128_quant.tflite", "mlperf_tiny/pretrainedResnet_quant.tflite"])
def test_no_share_of_a_network_is_above_one(shared, name):
    from vta.compiler.compile import quantize_model
    from vta.frontend import load_model
    from vta.passes.canonicalize import canonicalize

    graph = quantize_model(canonicalize(load_model(str(shared / "models" / name))), BASELINE)
    device = CycleDevice(BASELINE, timing_only=True)
    tasks = extract_tasks(graph, BASELINE)
    for task in tasks:
        check_bound(task, choose_schedule(task.operator, BASELINE), device)
    assert len(tasks) > 5
