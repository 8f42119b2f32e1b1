"""Targets and regions: who runs what, regions without cycles, the same values as before."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE, CONFIGS, conv, int8_clip, integer_graphs, random_inputs
from vta.errors import GraphError
from vta.ir.graph import Graph, call, graph_input, rewrite
from vta.ir.interpreter import evaluate
from vta.ir.macs import macs_of
from vta.ir.serialize import graph_from_json, graph_to_json
from vta.ir.transforms.functions import calls_of_functions, inline_functions
from vta.ir.transforms.pattern import is_constant, is_op, wildcard
from vta.partition.composites import merge_composites
from vta.partition.partition import partition
from vta.partition.regions import annotate_target, merge_regions, partition_graph
from vta.partition.vta_patterns import integer_patterns, partition_for_vta

X = graph_input("x", (1, 4, 4, 4), "int8")
TABLE = [
    ("dsp.relu", is_op("nn.relu")),
    ("npu.clip", is_op("clip")),
    ("npu.conv2d", is_op("nn.conv2d")(wildcard(), is_constant())),
]


def relu(value, name="relu"):
    return call("nn.relu", [value], name)


def clip(value, name="clip"):
    return call("clip", [value], name, a_min=-5, a_max=5)


def negative(value, name="host"):
    return call("negative", [value], name)


def partitioned(graph, targets=("npu", "dsp"), table=TABLE):
    return partition_graph(merge_regions(annotate_target(merge_composites(graph, table), targets)))


def regions(graph):
    return {node.attrs.body.name: node.attrs for node in calls_of_functions(graph)}


def same_values(before, after, seed=0):
    inputs = random_inputs(before, seed)
    return all(np.array_equal(a, b) for a, b in zip(evaluate(before, inputs), evaluate(after, inputs), strict=True))


def test_neighbors_of_one_target_become_one_region():
    graph = Graph((X,), (negative(clip(clip(relu(X)))),))
    after = partitioned(graph)
    assert [node.op for node in after.calls()] == ["call", "call", "negative"]
    found = regions(after)
    assert list(found) == ["dsp_0", "npu_0"]
    assert [node.attrs.composite for node in found["npu_0"].body.calls()] == ["npu.clip", "npu.clip"]
    assert [attrs.target for attrs in found.values()] == ["dsp", "npu"]
    assert same_values(graph, after)


def test_without_merging_each_composite_is_a_region():
    graph = Graph((X,), (clip(clip(X)),))
    annotated = annotate_target(merge_composites(graph, TABLE), "npu")
    assert list(regions(partition_graph(annotated))) == ["npu_0", "npu_1"]
    assert list(regions(partition_graph(merge_regions(annotated)))) == ["npu_0"]


def test_a_region_does_not_wait_for_its_own_result():
    first = clip(X, "first")
    last = call("add", [clip(negative(first), "second"), first], "sum")
    after = partitioned(Graph((X,), (last,)))
    assert list(regions(after)) == ["npu_0", "npu_1"]
    through_other = call("maximum", [clip(relu(first), "second"), first], "max")
    after = partitioned(Graph((X,), (through_other,)))
    assert list(regions(after)) == ["npu_0", "dsp_0", "npu_1"]
    assert same_values(Graph((X,), (through_other,)), after)


def test_several_values_may_leave_a_region():
    first = clip(X, "first")
    graph = Graph((X,), (negative(first), clip(first, "second")))
    after = partitioned(graph)
    calls = list(calls_of_functions(after))
    assert [node.attrs.output for node in calls] == [0, 1]
    assert calls[0].attrs.body is calls[1].attrs.body
    assert same_values(graph, after)
    assert [node.op for node in inline_functions(after).calls()].count("clip") == 2, "no value is copied"


def test_the_first_target_takes_what_it_can():
    table = [("npu.relu", is_op("nn.relu"))]
    graph = Graph((X,), (relu(clip(X)),))
    merged = merge_composites(graph, table)
    supports = {"dsp": lambda node: node.op in ("nn.relu", "clip")}
    both = annotate_target(merged, ["npu", "dsp"], supports)
    assert [node.attrs.target for node in both.calls()] == ["dsp", "npu"]
    assert [node.attrs.target for node in annotate_target(both, ["dsp"]).calls()] == ["dsp", "npu"], "kept"
    after = partition_graph(merge_regions(both))
    assert [node.op for node in regions(after)["dsp_0"].body.calls()] == ["clip"]
    assert same_values(graph, after)


def test_a_region_that_needs_itself_is_refused():
    first = clip(X, "first")
    graph = Graph((X,), (clip(negative(first), "second"),))
    annotated = annotate_target(merge_composites(graph, TABLE), "npu")
    wrong = rewrite(annotated, lambda node: replace(node, attrs=replace(node.attrs, region=3)) if node.op == "call" else node)
    with pytest.raises(GraphError, match="region 3 needs a value that is computed from its own outputs"):
        partition_graph(wrong)


def test_multiply_accumulates_of_a_region_are_counted():
    layer = conv(X, np.ones((2, 4, 1, 1)))
    after = partitioned(Graph((X,), (layer,)))
    assert sum(macs_of(node) for node in after.calls()) == macs_of(layer) == 2 * 4 * 16


@settings(max_examples=60)
@given(integer_graphs(6), st.sampled_from(CONFIGS), st.integers(0, 1000))
def test_the_partition_for_vta_computes_the_same(graph, hw, seed):
    after = partition_for_vta(graph, integer_patterns(hw))
    assert same_values(graph, after, seed)
    assert same_values(graph, inline_functions(after), seed)


@settings(max_examples=60)
@given(integer_graphs(6), st.sampled_from(CONFIGS))
def test_the_partition_for_vta_has_the_operators_and_regions_of_the_compiler(graph, hw):
    parts = partition(graph, hw)
    after = partition_for_vta(graph, integer_patterns(hw))
    bodies = {id(node.attrs.body): node.attrs.body for node in calls_of_functions(after)}
    composites = [node for body in bodies.values() for node in calls_of_functions(body) if node.attrs.composite]
    assert len(bodies) == len(parts.regions)
    assert sorted(node.name for node in composites) == sorted(
        fused.result.name for part in parts.regions for fused in part.operators
    )


def test_a_view_between_operators_stays_in_their_region():
    image = int8_clip(call("nn.sum_pool2d", [X], "pool", pool_size=(4, 4)), "pooled")
    flat = call("reshape", [image], "flat", newshape=(1, 4))
    graph = Graph((X,), (relu(flat),))
    (region,) = regions(partition_for_vta(graph, integer_patterns(BASELINE))).values()
    assert [node.op for node in region.body.calls()] == ["call", "reshape", "call"]
    outside = Graph((X,), (call("reshape", [call("nn.batch_flatten", [X], "f")], "v", newshape=(1, 64, 1, 1)),))
    assert not regions(partition_for_vta(outside, integer_patterns(BASELINE))), "a view by itself is not worth a region"


@settings(max_examples=80)
@given(integer_graphs(6), st.data(), st.integers(0, 1000))
def test_any_choice_of_targets_computes_the_same(graph, data, seed):
    names = sorted({node.op for node in graph.calls()})
    taken = {op: data.draw(st.sampled_from(["npu", "dsp", "host"]), label=op) for op in names}
    supports = {target: lambda node, target=target: taken.get(node.op) == target for target in ("npu", "dsp")}
    annotated = annotate_target(graph, ["npu", "dsp"], supports)
    after = partition_graph(merge_regions(annotated) if data.draw(st.booleans(), label="merged") else annotated)
    assert same_values(graph, after, seed)
    outside = {node.op for node in after.calls() if node.op != "call"}
    assert outside == {op for op, target in taken.items() if target == "host"}
    for attrs in regions(after).values():
        assert {taken[node.op] for node in attrs.body.calls()} == {attrs.target}
    back = inline_functions(after)
    assert sorted(node.op for node in back.calls()) == sorted(node.op for node in graph.calls())
    restored = graph_from_json(*graph_to_json(after))
    assert same_values(graph, restored, seed)
