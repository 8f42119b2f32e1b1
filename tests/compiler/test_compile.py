"""From integer graphs to verified programs: whatever the graph and the config, the bits are the interpreter's."""

import logging

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integer_graphs import (
    BASELINE,
    BATCH_2,
    CONFIGS,
    FEW_UOPS,
    NARROW,
    TINY,
    conv,
    graphs_with_zeros,
    int8_clip,
    integer_graphs,
    per_channel,
    random_inputs,
    widened,
)
from tests.odd_designs import odd_configs, random_chooser
from vta.compiler.compile import compile_graph, compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.errors import UsageError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.ir.transforms.pattern import is_op
from vta.isa.verify import verify
from vta.partition.composites import merge_composites
from vta.partition.regions import annotate_target, partition_graph
from vta.partition.vta_patterns import integer_patterns, partition_for_vta
from vta.runtime import load, save
from vta.runtime.module import Module
from vta.schedule.choose import choose_schedule
from vta.schedule.source import DEFAULT_SCHEDULES, PerOperator


def check(graph, hw=BASELINE, seed=0, **options):
    """Compile; compare every operator, and outputs in program order and in random interleavings, with the interpreter."""
    compiled = compile_graph(graph, hw, **options)
    inputs = random_inputs(graph, seed)
    wanted = evaluate(compiled.graph, inputs)
    with Module(compiled, SimDevice(hw, 1 << 26)) as module:
        report = module.check(inputs)
        assert report.bit_exact, str(report.mismatch)
        assert report.compared == sum(len(region.operators) for region in compiled.regions)
        for interleaving in (None, seed, seed + 1):
            for want, got in zip(wanted, module.run(inputs, seed=interleaving).outputs, strict=True):
                np.testing.assert_array_equal(got, want)
    for region in compiled.regions:
        assert verify(region.program) == []
    placed = {(placement.layer, placement.op) for placement in compiled.placements}
    assert {(node.name, node.op) for node in graph.calls()} <= placed, "every operator is reported"
    return compiled


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(integer_graphs(), st.sampled_from(CONFIGS), st.integers(0, 1000))
def test_any_graph_on_any_config_is_exact(graph, hw, seed):
    logging.disable(logging.WARNING)
    try:
        check(graph, hw, seed)
    finally:
        logging.disable(logging.NOTSET)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(graphs_with_zeros(), st.sampled_from(CONFIGS), st.booleans(), st.integers(0, 1000))
def test_zeros_are_exact_under_any_schedule(graph, hw, chosen, seed):
    check(graph, hw, seed, schedules=DEFAULT_SCHEDULES if chosen else PerOperator(random_chooser(seed)))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.one_of(integer_graphs(), graphs_with_zeros()), odd_configs(), st.booleans(), st.integers(0, 1000))
def test_odd_configs_are_exact_or_leave_what_does_not_fit_to_the_host(graph, hw, chosen, seed):
    compiled = check(graph, hw, seed, schedules=DEFAULT_SCHEDULES if chosen else PerOperator(random_chooser(seed)))
    assert all(placement.reason for placement in compiled.placements)


@pytest.mark.parametrize("size", [5, 8, 12])
@pytest.mark.parametrize("hw", [BASELINE, BATCH_2, TINY, NARROW], ids=["1x16", "2x16", "tiny", "narrow"])
def test_channels_of_zeros_that_fill_a_block_of_their_own(hw, size):
    x = image(48, size)
    value = call("nn.pad", [layer(x, 48, "conv")], "pad", pad_width=((0, 0), (0, 4), (0, 0), (0, 0)), pad_value=0)
    assert set(where(check(Graph((x,), (layer(value, 8, "last"),)), hw)).values()) == {"vta"}


@pytest.mark.parametrize(("log_batch", "log_block"), [(4, 6), (5, 5), (3, 6)])
def test_a_split_into_unequal_channels_with_eight_rows_of_accumulators(log_batch, log_block):
    element = log_batch + log_block
    hw = HardwareConfig("sim", "0.0.2", 3, 3, 5, log_batch, log_block, 14, element + 3, 2 * log_block + 5, element + 2 + 3)
    x = image(18, 9)
    wide = layer(x, 24, "wide", kernel=1)
    cut = {"strides": (1, 1, 1, 1)}
    first = call("strided_slice", [wide], "first", begin=(0, 0, 0, 0), end=(1, 7, 9, 9), **cut)
    second = call("strided_slice", [wide], "second", begin=(0, 7, 0, 0), end=(1, 24, 9, 9), **cut)
    graph = Graph((x,), (residual(layer(first, 8, "a", kernel=1), layer(second, 8, "b", kernel=1)),))
    assert set(where(check(graph, hw)).values()) == {"vta"}


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(integer_graphs(most_operators=3), st.sampled_from([BASELINE, TINY, FEW_UOPS]))
def test_serial_programs_are_exact(graph, hw):
    check(graph, hw, serial=True)


def weights(*shape, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, shape)


def layer(data, out, name, kernel=3, shift=9, **attributes):
    """Convolution, bias, shift, saturation."""
    groups = attributes.pop("groups", 1)
    padding = (kernel // 2,) * 4
    value = conv(data, weights(out, data.shape[1] // groups, kernel, kernel), name, padding=padding, groups=groups, **attributes)
    value = call("nn.bias_add", [value, constant(weights(out, seed=1).astype(np.int32) * 9)], name)
    return int8_clip(call("right_shift", [value, constant(np.int32(shift))], name), name)


def residual(first, second, name="add"):
    return int8_clip(call("add", [widened(first, name), widened(second, name)], name), name)


def image(channels, size=16, name="data"):
    return graph_input(name, (1, channels, size, size), "int8")


def where(compiled):
    return {(placement.layer, placement.op): placement.where for placement in compiled.placements}


def test_layers_whose_names_repeat():
    x = image(16)
    value = x
    for _ in range(2):
        value = call("nn.relu", [layer(residual(value, value), 16, "conv")], "leaky")
    compiled = check(Graph((x,), (residual(value, value),)))
    names = [record.name for record in compiled.regions[0].operators]
    assert names == ["add", "conv", "leaky", "add#2", "conv#2", "leaky#2", "add#3"]


def test_a_small_u_net():
    x = image(16)
    skip = layer(x, 16, "down")
    pooled = call("nn.max_pool2d", [skip], "pool", pool_size=(2, 2), strides=(2, 2))
    deep = layer(pooled, 32, "deep")
    up = call("nn.upsampling", [deep], "up", scale_h=2, scale_w=2)
    joined = call("concatenate", [up, skip], "concat", axis=1)
    compiled = check(Graph((x,), (layer(joined, 1, "last", kernel=1),)))
    assert set(where(compiled).values()) == {"vta"}
    assert [[record.name for record in region.operators] for region in compiled.regions] == [
        ["down", "pool", "deep", "up", "last"]
    ]
    (reason,) = (placement.reason for placement in compiled.placements if placement.layer == "concat")
    assert reason == "by where its tensors lie, nothing is copied"


@pytest.mark.parametrize("hw", [BASELINE, TINY, FEW_UOPS], ids=["baseline", "tiny", "few uops"])
@pytest.mark.parametrize("stride", [1, 2])
def test_an_inverted_residual(hw, stride):
    x = image(24, 10)
    wide = layer(x, 96, "expand", kernel=1, shift=8)
    deep = layer(wide, 96, "depthwise", groups=96, strides=(stride, stride), shift=7)
    value = layer(deep, 24, "project", kernel=1)
    if stride == 1:
        value = residual(value, x)
    compiled = check(Graph((x,), (value,)), hw)
    assert len(compiled.regions) == 1
    assert set(where(compiled).values()) == {"vta"}


def test_two_heads_with_a_transpose_between():
    x = image(16, 8)
    body = layer(x, 32, "body")
    wide = conv(body, weights(255, 32, 1, 1), "head")
    turned = call("transpose", [body], "turn", axes=(0, 1, 3, 2))
    compiled = check(Graph((x,), (wide, layer(turned, 18, "other", kernel=1))))
    assert [output.shape[1] for output in compiled.graph.outputs] == [255, 18]
    assert where(compiled)["turn", "transpose"] == "host"
    assert len(compiled.regions) == 2


def test_a_chain_of_300_convolutions_is_one_region():
    x = image(8, 4)
    value = x
    for index in range(300):
        value = layer(value, 8, f"c{index}", kernel=1, shift=8)
    compiled = compile_graph(Graph((x,), (value,)), BASELINE)
    (region,) = compiled.regions
    assert len(region.operators) == 300
    inputs = random_inputs(compiled.graph)
    with Module(compiled, SimDevice(BASELINE, 1 << 24)) as module:
        np.testing.assert_array_equal(module.run(inputs, seed=1).outputs[0], evaluate(compiled.graph, inputs)[0])


def test_a_value_read_by_two_operators_and_the_host():
    x = image(16, 8)
    shared = layer(x, 16, "shared")
    real = call("cast", [shared], "real", dtype="float32")
    compiled = check(Graph((x,), (layer(shared, 20, "a"), layer(shared, 5, "b", kernel=1), real)))
    (region,) = compiled.regions
    assert [binding.node.name for binding in region.outputs] == ["shared", "a", "b"]


def test_a_diamond_with_a_host_operator_in_one_branch():
    x = image(16, 6)
    first = layer(x, 16, "first")
    turned = call("transpose", [first], "turn", axes=(0, 1, 3, 2))
    compiled = check(Graph((x,), (residual(layer(first, 16, "left"), turned, "join"),)))
    assert len(compiled.regions) == 2


def test_two_dense_heads_share_a_flattened_image():
    x = graph_input("data", (2, 20, 3, 3), "int8")
    flat = call("nn.batch_flatten", [x], "flat")
    heads = [int8_clip(call("nn.dense", [flat, constant(weights(n, 180).astype(np.int8))], f"d{n}"), f"d{n}") for n in (10, 33)]
    compiled = check(Graph((x,), tuple(heads)))
    assert set(where(compiled).values()) == {"vta"}


def test_a_pooled_vector_is_viewed_and_not_copied():
    x = image(20, 5)
    pooled = int8_clip(
        call("right_shift", [call("nn.sum_pool2d", [x], "pool", pool_size=(5, 5)), constant(np.int32(4))], "pool"), "pool"
    )
    flat = call("nn.batch_flatten", [pooled], "flat")
    dense = call("nn.dense", [flat, constant(weights(10, 20).astype(np.int8))], "dense")
    compiled = check(Graph((x,), (dense,)))
    assert len(compiled.regions) == 1
    assert where(compiled)["flat", "nn.batch_flatten"] == "vta"


@pytest.mark.parametrize("batch", [1, 2, 3, 5])
@pytest.mark.parametrize("hw", [hw for hw in CONFIGS if hw.target == "sim" and hw.batch > 1], ids=lambda hw: hw.bitstream)
def test_batches_that_do_not_fill_a_block(batch, hw):
    x = graph_input("data", (batch, 10, 6, 6), "int8")
    check(Graph((x,), (layer(x, 7, "conv"),)), hw)


@pytest.mark.parametrize("factor", [1, -1, 127, 129, 1 << 14, -(1 << 14)])
@pytest.mark.parametrize("target", ["sim", "pynq", "tsim", "intelfocl"])
def test_scaled_residuals_before_the_shift(factor, target):
    hw = next(hw for hw in CONFIGS if hw.target == target)
    x, y = image(12, 5), image(12, 5, "side")
    scaled = call("multiply", [widened(y, "add"), constant(np.int32(factor))], "add")
    total = call("add", [conv(x, weights(12, 12, 1, 1)), scaled], "add")
    assert check(Graph((x, y), (int8_clip(call("right_shift", [total, constant(np.int32(12))], "add"), "add"),)), hw).regions


def test_what_broadcasts_runs_on_the_host():
    x = image(12, 5)
    plane = graph_input("plane", (1, 1, 5, 5), "int8")
    scaled = call("multiply", [widened(plane), per_channel(range(12))], "scale")
    check(Graph((x, plane), (int8_clip(call("add", [conv(x, weights(12, 12, 1, 1)), scaled], "add"), "q"),)))
    bias = call("nn.bias_add", [conv(x, weights(12, 12, 1, 1)), constant(np.arange(5, dtype=np.int32) * 9999)], "bias", axis=3)
    compiled = check(Graph((x,), (int8_clip(bias, "q"),)))
    where = {placement.op: placement.where for placement in compiled.placements}
    assert where == {"nn.conv2d": "vta", "nn.bias_add": "host", "clip": "host", "cast": "host"}


@pytest.mark.parametrize("bounds", [(-3e9, 3e9), (-70000, 40000), (-5.5, 5.5)])
def test_limits_beyond_16_and_32_bits_are_never_truncated(bounds):
    x = image(12, 5)
    value = call("clip", [conv(x, weights(12, 12, 3, 3))], "clip", a_min=bounds[0], a_max=bounds[1])
    check(Graph((x,), (int8_clip(call("right_shift", [value, constant(np.int32(10))], "q"), "q"),)))


def test_narrow_accumulators_wrap_as_the_graph_says(caplog):
    x = image(16, 4)
    value = int8_clip(call("right_shift", [conv(x, np.full((16, 16, 3, 3), 127)), constant(np.int32(7))], "conv"), "conv")
    compiled = check(Graph((x,), (value,)), NARROW)
    assert compiled.regions
    assert "16-bit accumulators hold at most 32767; larger values wrap" in caplog.text


def test_rows_too_long_for_a_stride_run_on_the_host_with_the_reason():
    x = graph_input("data", (1, 16, 3, 70000), "int8")
    compiled = compile_graph(Graph((x,), (layer(x, 2, "conv"),)), BASELINE)
    assert compiled.regions == ()
    assert any("rows of 70000 elements exceed the stride limit of 65535" in p.reason for p in compiled.placements)


def test_what_no_schedule_fits_runs_on_the_host_with_the_reason():
    x = graph_input("data", (1, 2, 20, 20), "int8")
    pool = call("nn.max_pool2d", [x], "pool", pool_size=(9, 9), strides=(1, 1))
    compiled = check(Graph((x,), (pool,)), TINY)
    (placement,) = compiled.placements
    assert placement.where == "host"
    assert placement.reason.startswith("pool: a window of 81 rows does not fit the input and accumulator buffers of sim_1x16")


def test_only_layers_asked_for_run_on_vta():
    x = image(16, 6)
    graph = Graph((x,), (layer(layer(layer(x, 16, "a"), 16, "b"), 16, "c"),))
    compiled = check(graph, layers=frozenset({"b"}))
    assert [[record.name for record in region.operators] for region in compiled.regions] == [["b"]]
    reasons = {p.layer: p.reason for p in compiled.placements if p.where == "host"}
    assert reasons == dict.fromkeys("ac", "outside the region between start and stop")


def float_network():
    x = graph_input("data", (1, 3, 8, 8))
    value = x
    for name in "abc":
        kernel = constant(np.random.default_rng(0).standard_normal((3, 3, 3, 3)).astype(np.float32))
        value = call("nn.relu", [call("nn.conv2d", [value, kernel], name, padding=(1, 1, 1, 1))], f"{name}_relu")
    return Graph((x,), (value,))


def test_start_and_stop_that_do_not_exist_list_the_names():
    for options in ({"start": "nn.max_pool2d"}, {"stop": "pool1"}):
        with pytest.raises(UsageError) as raised:
            compile_model(float_network(), BASELINE, **options)
        for name in ("nn.conv2d, nn.relu", "a, a_relu, b, b_relu, c, c_relu"):
            assert name in str(raised.value)


def test_stages_are_told_and_macs_counted():
    stages = []
    compiled = compile_model(float_network(), BASELINE, progress=stages.append)
    assert stages == ["importing", "quantising", "compiling"]
    assert compiled.total_macs == 3 * 8 * 8 * 3 * 3 * 9


def test_equal_workloads_are_scheduled_once():
    asked = []

    def chooser(operator, hw):
        asked.append(operator.name)
        return choose_schedule(operator, hw)

    x = image(16, 6)
    compile_graph(Graph((x,), (layer(layer(x, 16, "a"), 16, "b"),)), BASELINE, schedules=PerOperator(chooser))
    assert asked == ["a"]


def test_compilation_is_repeatable():
    x = image(16, 6)
    graph = Graph((x,), (layer(layer(x, 20, "a"), 16, "b"),))
    first, second = (compile_graph(graph, BASELINE).regions[0].program for _ in range(2))
    np.testing.assert_array_equal(first.encoded(), second.encoded())
    np.testing.assert_array_equal(first.image, second.image)


def test_a_partitioned_graph_compiles_to_the_same_program():
    x = graph_input("x", (1, 16, 6, 6), "int8")
    graph = Graph((x,), (call("negative", [layer(layer(x, 16, "a"), 8, "b")], "host"),))
    plain, parted = compile_graph(graph, BASELINE), compile_graph(partition_for_vta(graph, integer_patterns(BASELINE)), BASELINE)
    assert [len(region.operators) for region in parted.regions] == [2]
    for before, after in zip(plain.regions, parted.regions, strict=True):
        assert np.array_equal(before.program.instructions, after.program.instructions)


def test_composites_of_another_target_run_on_the_host(tmp_path):
    x = graph_input("x", (1, 16, 6, 6), "int8")
    middle = call("nn.relu", [layer(x, 16, "a")], "act")
    graph = Graph((x,), (layer(middle, 8, "b"),))
    table = [("dsp.relu", is_op("nn.relu"))]
    parted = partition_graph(annotate_target(merge_composites(graph, table), "dsp"))
    compiled = compile_graph(parted, BASELINE)
    assert len(compiled.regions) == 2
    (host,) = (placement for placement in compiled.placements if placement.where == "host")
    assert host.reason == "given to target dsp as dsp_0, for which the host computes it"
    save(compiled, tmp_path / "net.vta")
    inputs = random_inputs(graph)
    with Module(load(tmp_path / "net.vta"), SimDevice(BASELINE, 1 << 26)) as module:
        assert np.array_equal(module.run(inputs).outputs[0], evaluate(graph, inputs)[0])
