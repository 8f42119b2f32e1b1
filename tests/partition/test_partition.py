"""Taking graphs apart: what runs on VTA, in which region, and why the rest does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE, conv, int8_clip, widened
from vta.ir.graph import Graph, call, constant, graph_input
from vta.partition.fused.reason import Reason
from vta.partition.partition import partition

X = graph_input("x", (1, 8, 6, 6), "int8")
KERNEL = np.ones((8, 8, 1, 1))


def block(data, name):
    """One fused operator."""
    return int8_clip(conv(data, KERNEL, name), name)


def on_host(data, name="host"):
    """An operator that VTA does not have."""
    return call("maximum", [data, constant(np.int8(-100))], name)


def added(a, b, name):
    return int8_clip(call("add", [widened(a, name), widened(b, name)], name), name)


def parts(*outputs, inputs=(X,), veto=lambda fused: None):
    return partition(Graph(inputs, outputs), BASELINE, veto)


def names(regions):
    return sorted(sorted(fused.result.name for fused in region.operators) for region in regions)


def check_order(graph, found):
    """Every region can run once, after all that it reads: none waits for itself."""
    made_by = {fused.result: index for index, region in enumerate(found.regions) for fused in region.operators}
    inside = {node for region in found.regions for fused in region.operators for node in fused.nodes}
    for region in found.regions:
        seen = set(region.inputs)
        for fused in region.operators:
            assert {source for source in fused.sources if source.op != "input"} <= seen | set(views(fused.sources))
            seen.add(fused.result)
    ready = set(graph.inputs) | {node for node in graph.nodes() if node.op == "constant"}
    waiting = set(range(len(found.regions)))
    host = [node for node in graph.calls() if node in found.reasons]
    for _ in range(len(found.regions) + len(host) + 1):
        for index in sorted(waiting):
            if set(found.regions[index].inputs) <= ready:
                waiting.discard(index)
                ready |= set(found.regions[index].outputs)
        ready |= {node for node in host if set(node.inputs) <= ready}
    assert not waiting
    assert set(graph.outputs) <= ready
    assert made_by.keys() <= inside


def views(nodes):
    return [node for node in nodes if node.op in ("reshape", "nn.batch_flatten")]


def test_operators_that_follow_each_other_are_one_region():
    found = parts(block(block(block(X, "a"), "b"), "c"))
    (region,) = found.regions
    assert [fused.result.name for fused in region.operators] == ["a", "b", "c"]
    assert region.inputs == (X,)
    assert [node.name for node in region.outputs] == ["c"]
    assert found.reasons == {}


def test_a_host_operator_between_makes_two_regions():
    middle = on_host(block(X, "a"))
    found = parts(block(middle, "b"))
    assert names(found.regions) == [["a"], ["b"]]
    assert list(found.reasons) == [middle]
    assert str(found.reasons[middle]) == "no VTA template for maximum on int8"


def test_a_diamond_with_a_host_operator_in_one_branch_is_not_one_region():
    first = block(X, "first")
    left, right = block(first, "left"), on_host(first)
    graph = Graph((X,), (added(left, right, "join"),))
    found = partition(graph, BASELINE)
    assert names(found.regions) == [["first", "left"], ["join"]]
    check_order(graph, found)


def test_a_diamond_of_vta_operators_is_one_region():
    first = block(X, "first")
    graph = Graph((X,), (added(block(first, "left"), block(first, "right"), "join"),))
    assert names(partition(graph, BASELINE).regions) == [["first", "join", "left", "right"]]


def test_a_long_way_round_through_two_regions_is_seen():
    """a -> host -> b -> host -> c, and a -> c directly: c may join neither a nor, then, anything that a waits for."""
    a = block(X, "a")
    b = block(on_host(a, "h1"), "b")
    c = added(a, on_host(b, "h2"), "c")
    graph = Graph((X,), (c,))
    found = partition(graph, BASELINE)
    assert names(found.regions) == [["a"], ["b"], ["c"]]
    check_order(graph, found)


def test_two_branches_that_would_wait_for_each_other_stay_apart():
    y = graph_input("y", X.shape, "int8")
    a, b = block(X, "a"), block(y, "b")
    c = added(a, on_host(b, "h1"), "c")
    d = added(b, on_host(a, "h2"), "d")
    graph = Graph((X, y), (c, d))
    found = partition(graph, BASELINE)
    check_order(graph, found)


def test_an_operator_joins_all_that_it_reads():
    y = graph_input("y", X.shape, "int8")
    found = parts(added(block(X, "a"), block(y, "b"), "c"), inputs=(X, y))
    assert names(found.regions) == [["a", "b", "c"]]
    found = parts(added(block(X, "left"), block(block(X, "right"), "more"), "sum"))
    assert names(found.regions) == [["left", "more", "right", "sum"]]


def test_operators_that_have_nothing_to_do_with_each_other_share_a_region():
    found = parts(block(X, "a"), block(X, "b"))
    assert names(found.regions) == [["a", "b"]]


def test_the_order_of_operands_does_not_matter_for_a_region_to_wait():
    a = block(X, "a")
    b = block(on_host(a), "b")
    for c in (added(a, b, "c"), added(b, a, "c")):
        graph = Graph((X,), (c,))
        found = partition(graph, BASELINE)
        assert names(found.regions) == [["a"], ["b", "c"]]
        check_order(graph, found)


def test_the_host_may_read_a_region_through_a_view():
    image = graph_input("i", (1, 8, 1, 1), "int8")
    a = block(image, "a")
    flat = on_host(call("nn.batch_flatten", [a], "flat"))
    back = call("reshape", [flat], "back", newshape=(1, 8, 1, 1))
    graph = Graph((image,), (added(a, back, "c"),))
    found = partition(graph, BASELINE)
    assert names(found.regions) == [["a"], ["c"]]
    check_order(graph, found)


def test_outputs_are_what_something_outside_reads():
    a = block(X, "a")
    b = block(a, "b")
    found = parts(b, on_host(a))
    (region,) = found.regions
    assert [node.name for node in region.outputs] == ["a", "b"]
    found = parts(a, b)
    assert [node.name for node in found.regions[0].outputs] == ["a", "b"]


def test_a_view_between_operators_needs_no_host():
    image = int8_clip(call("nn.sum_pool2d", [X], "pool", pool_size=(6, 6)), "pool")
    flat = call("nn.batch_flatten", [image], "flat")
    dense = int8_clip(call("nn.dense", [flat, constant(np.ones((5, 8), np.int8))], "dense"), "dense")
    found = parts(dense)
    assert names(found.regions) == [["dense", "pool"]]
    assert found.reasons == {}


def test_a_view_at_the_end_is_the_hosts():
    image = int8_clip(call("nn.sum_pool2d", [X], "pool", pool_size=(6, 6)), "pool")
    flat = call("nn.batch_flatten", [image], "flat")
    found = parts(flat)
    assert found.regions[0].outputs == (image,)
    assert list(found.reasons) == [flat]


def test_a_view_of_a_host_value_is_read_through():
    image = on_host(graph_input("i", (1, 8, 1, 1), "int8"))
    flat = call("nn.batch_flatten", [image], "flat")
    dense = int8_clip(call("nn.dense", [flat, constant(np.ones((5, 8), np.int8))], "dense"), "dense")
    found = parts(dense, inputs=(image.inputs[0],))
    assert found.regions[0].inputs == (image,)


def test_a_vetoed_fused_operator_runs_on_the_host_with_the_reason():
    unwanted = Reason("unwanted", "not wanted")
    b = block(block(X, "a"), "b")
    found = parts(block(b, "c"), veto=lambda fused: unwanted if fused.result.name == "b" else None)
    assert names(found.regions) == [["a"], ["c"]]
    assert set(found.reasons.values()) == {unwanted}
    assert {node.name for node in found.reasons} == {"b"}


def test_a_cast_shared_by_a_fused_operator_and_the_host_is_computed_by_both():
    wide = widened(X)
    end = int8_clip(call("add", [conv(X, KERNEL), wide], "add"), "sum")
    real = call("cast", [wide], "real", dtype="float32")
    found = parts(end, real)
    assert names(found.regions) == [["sum"]]
    assert {node: str(reason) for node, reason in found.reasons.items()} == {
        wide: "feeds a host operator",
        real: "computes in float",
    }


def test_a_graph_without_vta_operators_has_no_region():
    found = parts(on_host(X))
    assert found.regions == ()
    assert len(found.reasons) == 1


def test_a_long_fused_operator_needs_no_recursion():
    value = X
    for index in range(300):
        value = block(value, f"c{index}")
    (region,) = parts(value).regions
    assert len(region.operators) == 300


@st.composite
def mixed_graphs(draw):
    """Values that are made on VTA or on the host from one or two earlier ones."""
    values = [X]
    for index in range(draw(st.integers(1, 14))):
        first, second = (values[draw(st.integers(max(0, len(values) - 4), len(values) - 1))] for _ in range(2))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            values.append(on_host(first, f"h{index}"))
        elif kind == 1:
            values.append(block(first, f"b{index}"))
        else:
            values.append(added(first, second, f"a{index}"))
    return Graph((X,), tuple(values[-2:]))


@settings(deadline=None, max_examples=200)
@given(mixed_graphs())
def test_regions_never_wait_for_themselves(graph):
    check_order(graph, partition(graph, BASELINE))


@pytest.mark.parametrize("count", [2, 5])
def test_a_value_read_by_many_is_stored_once(count):
    a = block(X, "a")
    found = parts(*(block(a, f"b{i}") for i in range(count)))
    (region,) = found.regions
    assert len(region.operators) == count + 1
    assert a not in region.outputs
