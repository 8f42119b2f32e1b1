"""Order of steps and life of values."""

from dataclasses import replace

import pytest

from vta.codegen.region_program import RegionProgram, TensorBinding
from vta.errors import GraphError
from vta.ir.graph import Graph, call, graph_input
from vta.runtime.host_part.plan import HostStep, RegionStep, make_plan


def plan_of(module):
    return make_plan(module.graph, module.regions)


def test_steps_follow_their_inputs_and_values_die_once(module_builder):
    plan = plan_of(module_builder())
    ready = set(plan.inputs) | {slot for slot, value in enumerate(plan.initial) if value is not None}
    died = set()
    for step in plan.steps:
        assert ready >= set(step.sources)
        assert not died & set(step.sources)
        ready |= set(step.targets) if isinstance(step, RegionStep) else {step.target}
        assert not died & set(step.dead)
        died |= set(step.dead)
    assert ready >= set(plan.outputs)
    assert not died & set(plan.outputs)
    assert set(plan.inputs) <= died
    assert [type(step).__name__ for step in plan.steps].count("RegionStep") == 1


def test_what_a_region_computes_inside_is_not_done_again(module_builder):
    plan = plan_of(module_builder())
    host = [step.node.name for step in plan.steps if isinstance(step, HostStep)]
    assert sorted(host) == ["bound", "bound", "real", "scale", "shift"]


def test_inputs_and_constants_may_be_outputs(module_builder):
    module = module_builder()
    graph = module.graph
    outputs = (graph.inputs[0], *graph.outputs, graph.outputs[0])
    plan = plan_of(replace(module, graph=Graph(graph.inputs, outputs)))
    assert plan.outputs[0] == plan.inputs[0]
    assert plan.outputs[1] == plan.outputs[2]
    assert all(plan.inputs[0] not in step.dead for step in plan.steps)


def test_a_region_that_waits_for_itself_is_refused(module_builder):
    module = module_builder()
    x = graph_input("x", (1, 16), "int8")
    first = call("negative", [x], "first")
    host = call("abs", [first], "host")
    last = call("maximum", [first, host], "last")
    bind = {node: TensorBinding(node, node.name) for node in (x, first, host, last)}
    program = module.regions[0].program
    region = RegionProgram("knot", program, (bind[x], bind[host]), (bind[first], bind[last]), ())
    with pytest.raises(GraphError, match=r"region 'knot' needs a value that the host computes from its own output"):
        plan_of(replace(module, graph=Graph((x,), (last,)), regions=(region,)))
