"""Whether a region pays: the parts of the estimate, and what the compiler does with it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, conv, int8_clip, random_inputs, widened
from vta.compiler.compile import compile_graph, compile_model
from vta.compiler.profit import HostModel, OffloadEstimate, estimate_offload, reason_against
from vta.config.target_list import parse_targets
from vta.devices.cycle import CycleDevice
from vta.devices.sim import SimDevice
from vta.errors import CompileError, UsageError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.runtime.module import Module

X = graph_input("x", (1, 32, 8, 8), "int8")
Y = graph_input("y", (1, 32, 8, 8), "int8")


def layer(data, name="conv"):
    weights = np.random.default_rng(0).integers(-128, 128, (32, data.shape[1], 3, 3))
    shifted = call("right_shift", [conv(data, weights, name, padding=(1, 1, 1, 1)), constant(np.int32(9))], name)
    return int8_clip(shifted, name)


def lone_sum():
    return Graph((X, Y), (int8_clip(call("add", [widened(X), widened(Y)], "sum"), "sum"),))


def estimate(graph, host=None, hw=BASELINE):
    (region,) = compile_graph(graph, hw).regions
    return estimate_offload(region, hw, host)


def test_the_parts_of_an_estimate():
    found = estimate(Graph((X,), (layer(X),)), HostModel(mhz=200, start_microseconds=3, bytes_per_cycle=4))
    macs, steps = 32 * 32 * 9 * 64, 3 * 32 * 64
    assert (found.macs, found.start) == (macs, 300)
    assert found.transfer == 2 * 32 * 64 / 4 / 2
    assert found.host == (macs + steps / 2) / 2
    assert found.device == found.start + found.transfer + found.program
    assert found.gain == found.host / found.device


def test_the_program_takes_what_the_cycle_device_counts():
    graph = Graph((X,), (layer(X),))
    compiled = compile_graph(graph, BASELINE)
    with Module(compiled, CycleDevice(BASELINE, memory_bytes=1 << 24)) as module:
        report = module.run(random_inputs(graph))
    assert estimate(graph).program == pytest.approx(report.cycles, rel=0.02)


def test_windows_and_views_on_the_host():
    pooled = Graph((X,), (call("nn.max_pool2d", [X], "pool", pool_size=(3, 3), strides=(2, 2)),))
    assert estimate(pooled, HostModel(mhz=100)).host == 32 * 9 * 9 // 2
    flat = call("reshape", [call("nn.max_pool2d", [X], "p", pool_size=(8, 8))], "flat", newshape=(1, 32))
    assert estimate(Graph((X,), (call("nn.relu", [flat], "r"),)), HostModel(mhz=100)).host == (32 * 64 + 32) // 2


def test_extremes_take_up_what_they_read():
    largest = Graph((X,), (call("max", [X], "largest", axis=(2, 3), keepdims=True),))
    assert estimate(largest, HostModel(mhz=100)).host == 32 * 64 // 2


def test_four_planes_are_moved_for_an_int32_result():
    narrow, wide = estimate(Graph((X,), (layer(X),))), estimate(Graph((X,), (layer(X).inputs[0].inputs[0],)))
    assert wide.transfer == pytest.approx(narrow.transfer * 5 / 2, abs=1)


@pytest.mark.parametrize(
    ("macs", "host", "least", "pays"),
    [
        (0, 999, None, False),
        (0, 1000, None, True),
        (1, 999, None, False),
        (1, 1000, None, True),
        (1, 1, 0.0, True),
        (0, 1, 0.0, True),
        (1, 1500, 2.0, False),
    ],
)
def test_what_pays(macs, host, least, pays):
    reason = reason_against(OffloadEstimate("region0", macs, 100, 200, 700, host), least)
    assert (reason is None) == pays
    if not pays:
        assert str(reason).startswith("too little to pay for the transfer: about 1,000 cycles with VTA (700 of them its own), ")


@pytest.mark.parametrize("field", ["mhz", "macs_per_cycle", "start_microseconds"])
def test_rates_are_above_0(field):
    with pytest.raises(UsageError, match=f"{field} must be above 0, got -1"):
        HostModel(**{field: -1})


def test_a_lone_sum_stays_on_the_host_with_the_estimate():
    compiled = compile_graph(lone_sum(), BASELINE, least_gain=None)
    assert compiled.regions == ()
    assert {placement.reason[:35] for placement in compiled.placements} == {"too little to pay for the transfer:"}
    assert len(compile_graph(lone_sum(), BASELINE, least_gain=0.0).regions) == 1


def test_a_sum_beside_a_convolution_stays_with_it():
    first = layer(X)
    graph = Graph((X, Y), (int8_clip(call("add", [widened(first), widened(Y)], "sum"), "sum"),))
    assert len(compile_graph(graph, BASELINE, least_gain=None).regions[0].operators) == 2


def test_only_the_region_that_does_not_pay_goes():
    first = layer(X, "a")
    between = call("negative", [call("nn.relu", [call("negative", [first], "h1")], "lone")], "h2")
    graph = Graph((X,), (layer(between, "b"),))
    compiled = compile_graph(graph, BASELINE, least_gain=None)
    assert [[record.name for record in region.operators] for region in compiled.regions] == [["a"], ["b"]]
    inputs = random_inputs(graph)
    with Module(compiled, SimDevice(BASELINE, 1 << 24)) as module:
        assert np.array_equal(module.run(inputs).outputs[0], evaluate(graph, inputs)[0])


def test_the_compiler_asks_by_default():
    assert compile_model(lone_sum(), BASELINE).regions == ()
    assert len(compile_model(lone_sum(), BASELINE, least_gain=0).regions) == 1
    slow = HostModel(mhz=1e-3)
    assert len(compile_model(lone_sum(), BASELINE, host=replace(slow, bytes_per_cycle=1e9)).regions) == 1
    graph = Graph((X,), (layer(X),))
    assert compile_model(graph, BASELINE, least_gain=1e6).regions == ()


def test_the_first_target_takes_what_it_can():
    graph = Graph((X,), (layer(X),))
    assert compile_model(graph, BASELINE, targets=parse_targets("llvm, vta")).regions == ()
    (placement, *_) = compile_model(graph, BASELINE, targets=parse_targets("llvm -mcpu=a53")).placements
    assert placement.reason == "taken by llvm -mcpu=a53, which comes first among the targets"
    assert len(compile_model(graph, BASELINE, targets=parse_targets("vta")).regions) == 1
    with pytest.raises(CompileError, match=r"target vta: a host, such as llvm, is needed for host \(negative\): no VTA"):
        compile_model(Graph((X,), (call("negative", [layer(X)], "host"),)), BASELINE, targets=parse_targets("vta"))
