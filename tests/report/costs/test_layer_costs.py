"""What each layer of a run cost, on the accelerator and on the host."""

import io
from dataclasses import replace

import numpy as np
import pytest

from tests.hand_made_modules import make_module
from vta.cli.flags import as_options
from vta.codegen.region_program import HOST, VTA, Placement
from vta.devices.cycle import CycleDevice
from vta.devices.sim import SimDevice
from vta.report.advice import advice_on
from vta.report.costs.layer_costs import LayerCost, NetworkCost, cost_table, costs_json, network_cost, with_faster_steps
from vta.report.placement_advice import advice_on_placements
from vta.report.table import write_table
from vta.runtime.module import Module
from vta.runtime.reports import StepTime


@pytest.fixture(scope="module")
def compiled():
    return make_module()


def run_on(device_type, compiled):
    inputs = {node.name: np.zeros(node.shape, node.dtype) for node in compiled.graph.inputs}
    with Module(compiled, device_type(compiled.hw)) as module:
        return module.run(inputs)


@pytest.fixture(scope="module")
def report(compiled):
    return run_on(CycleDevice, compiled)


def made(*rows, samples=2):
    return NetworkCost(rows, 100.0, samples, 256, 0)


def test_layers_of_the_accelerator_add_up_to_its_cycles(compiled, report):
    cost = network_cost(compiled, report)
    assert cost.cycles(VTA) == report.cycles
    assert [row.layer for row in cost.layers if row.where == VTA] == ["sum", "floor"]
    assert [row.cycles for row in cost.layers] == sorted((row.cycles for row in cost.layers), reverse=True)


def test_layers_of_the_host_cost_the_wall_time_of_their_steps(compiled, report):
    steps = [step for step in report.steps if step.node is not None]
    assert len(steps) < len(report.steps)
    cost = network_cost(compiled, replace(report, steps=tuple(replace(step, seconds=1e-3) for step in report.steps)))
    assert cost.cycles(HOST) == len(steps) * round(1e-3 * cost.clock_mhz * 1e6)
    assert {row.layer for row in cost.layers if row.where == HOST} == {step.node.name for step in steps}


def test_hardware_that_follows_the_contract_has_the_layers_of_the_cycle_engine(compiled, report):
    untimed = replace(report, results=tuple((region, replace(result, times=None)) for region, result in report.results))
    assert network_cost(compiled, untimed) == network_cost(compiled, report)


def test_hardware_of_other_timing_has_regions(compiled, report):
    other = tuple((region, replace(result, times=None, cycles=result.cycles + 1)) for region, result in report.results)
    rows = [row for row in network_cost(compiled, replace(report, results=other)).layers if row.where == VTA]
    assert [(row.layer, row.cycles) for row in rows] == [("region0", report.cycles + 1)]


def test_a_host_part_on_another_machine_is_one_row(compiled, report):
    cost = network_cost(compiled, replace(report, steps=(), host_seconds=0.5))
    assert [(row.layer, row.cycles) for row in cost.layers if row.where == HOST] == [("the host part", 50_000_000)]


def test_a_device_without_cycles_has_no_costs(compiled):
    assert network_cost(compiled, run_on(SimDevice, compiled)) is None
    assert set(costs_json(None).values()) == {None}


def test_json_has_the_same_keys_with_and_without_cycles(compiled, report):
    values = costs_json(network_cost(compiled, report))
    assert set(values) == set(costs_json(None))
    assert values["network_cycles"] == sum(row["cycles"] for row in values["layers"])
    assert sum(row["share"] for row in values["layers"]) == pytest.approx(1)


def test_pace_follows_from_cycles_clock_and_samples():
    cost = made(LayerCost("a", VTA, "region0", (), 1_000_000, 0, 0.0, "", ""))
    assert cost.milliseconds(1_000_000) == 10.0
    assert cost.frames_per_second(1_000_000) == 200.0
    assert replace(cost, samples=None).frames_per_second(1_000_000) is None


def test_the_table_ends_with_what_is_left_and_the_total():
    rows = [LayerCost(f"layer{index}", VTA, "region0", (), 10, 256, 0.1, "", "") for index in range(25)]
    stream = io.StringIO()
    write_table(cost_table(made(*rows)), stream)
    lines = [line.replace("│", " ").split() for line in stream.getvalue().splitlines() if line.startswith("│")]
    assert lines[-2][:5] == ["5", "more", "50", "20.0%", "0.001"]
    assert lines[-1][:6] == ["total", "250", "100.0%", "0.003", "6,400", "10.0%"]


def test_of_two_runs_each_step_takes_its_shorter_time(report):
    slow = replace(report, steps=(StepTime(None, 2.0), StepTime(None, 1.0)))
    fast = replace(report, steps=(StepTime(None, 1.0), StepTime(None, 3.0)))
    assert [step.seconds for step in with_faster_steps(slow, fast).steps] == [1.0, 1.0]


def host_row(layer, cycles, macs, rule):
    return LayerCost(layer, HOST, None, ("nn.conv2d",), cycles, macs, None, rule, "left in float by the quantiser")


def test_advice_names_the_option_and_numbers_that_were_counted():
    rest = LayerCost("rest", VTA, "region0", (), 52_000, 52_000 * 200, 0.8, "products", "")
    (advice,) = advice_on(made(host_row("conv0", 68_000, 2_214_400, "left_in_float"), rest), as_options)
    assert advice.text.startswith("conv0 on the host costs 68,000 of 120,000 cycles (57%)")
    assert "--quantize-first" in advice.text
    assert "at least 8,650 cycles" in advice.text


def test_layers_of_one_rule_share_a_line_and_small_ones_have_none():
    rows = [host_row(f"conv{index}", 500, 0, "target_multiplies") for index in range(2)]
    (advice,) = advice_on(made(*rows, host_row("first", 10, 0, "left_in_float")), as_options)
    assert advice.layers == ("conv0", "conv1")
    assert "--requantise shift" in advice.text


def test_blocks_that_are_not_full_and_steps_of_the_alu_are_told_apart():
    rows = (
        LayerCost("depthwise", VTA, "region0", (), 900, 900 * 16, 0.06, "blocks_not_full", ""),
        LayerCost("wide", VTA, "region0", (), 100, 100, 0.1, "alu_steps", ""),
    )
    assert [advice.rule for advice in advice_on(made(*rows))] == ["blocks_not_full", "alu_steps"]


def test_operators_on_the_host_are_advised_on_by_their_rule(compiled):
    placements = (
        Placement("head", "qnn.lookup", "host", "no VTA template for qnn.lookup on int8", "tables"),
        Placement("tail", "qnn.lookup", "host", "no VTA template for qnn.lookup on int8", "tables"),
        Placement("end", "qnn.softmax", "host", "no VTA template for qnn.softmax on int8", "softmax"),
        Placement("body", "nn.conv2d", "vta", "part of body"),
    )
    (text,) = advice_on_placements(replace(compiled, placements=placements))
    assert text.startswith(
        "2 operators on the host, first head: no VTA template for qnn.lookup on int8. What to do: set 'REQUANTIZE_UNIT'"
    )
