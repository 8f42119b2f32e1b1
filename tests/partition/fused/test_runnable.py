"""Fused operators that a target runs only in part: where they are cut, and that the host goes on."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, NARROW, conv, int8_clip, per_channel, widened
from vta.ir.graph import Graph, call, constant, graph_input
from vta.partition.fused.find import find_fused_operators
from vta.partition.fused.reason import Reason
from vta.partition.fused.runnable import runnable_operators, shortened
from vta.partition.partition import partition

X = graph_input("x", (1, 4, 3, 3), "int8")
PYNQ, TSIM = replace(BASELINE, target="pynq"), replace(BASELINE, target="tsim")
MUL = "The target's ALU has no MUL, so only a tensor operand may be multiplied"


def number(value):
    return constant(np.asarray(value, np.int32))


def step(op, value, operand, name=None):
    return call(op, [value, operand], name or op)


def biased():
    return step("add", conv(X, np.ones((4, 4, 1, 1))), number(7), "bias")


def fused_to(end):
    return find_fused_operators(Graph((X,), (end,)))[0][end]


def runnable(end, hw):
    """The fused operators to run, and the sentences of the reasons."""
    accepted, reasons = runnable_operators(Graph((X,), (end,)), hw, lambda fused: None)
    return accepted, {node: str(reason) for node, reason in reasons.items()}


def test_a_fused_operator_is_cut_before_what_the_target_cannot_do():
    scaled = step("right_shift", step("multiply", biased(), number(77)), number(5))
    end = int8_clip(scaled, "q")
    part = shortened(fused_to(end), PYNQ)
    assert (part.result.name, part.result.dtype, part.anchor.op) == ("bias", "int32", "nn.conv2d")
    assert [node.name for node in part.nodes] == ["conv", "bias"]
    assert part.sources == (X,)
    accepted, reasons = runnable(end, PYNQ)
    assert list(accepted) == [part.result]
    assert {node.op for node, reason in reasons.items() if reason == MUL} == {"multiply", "right_shift", "clip", "cast"}
    whole, reasons = runnable(end, BASELINE)
    assert list(whole) == [end]
    assert reasons == {}


def test_the_cut_is_as_late_as_it_can_be():
    value = step("add", biased(), widened(X))
    value = step("left_shift", value, per_channel([1, 2, 3, 4]), "by_channel")
    end = int8_clip(value, "q")
    part = shortened(fused_to(end), TSIM)
    assert part.result.op == "add"
    assert part.sources == (X,)
    assert "cast" in {node.op for node in part.nodes}, "the operand goes along"


def test_a_branch_stays_whole():
    start = biased()
    branch = step("right_shift", start, number(31), "sign")
    joined = step("add", start, branch, "join")
    end = int8_clip(step("multiply", joined, number(3)), "q")
    part = shortened(fused_to(end), PYNQ)
    assert part.result is start
    assert part.branches == ()


def test_a_root_by_itself_may_be_all_that_runs():
    end = int8_clip(step("multiply", conv(X, np.ones((4, 4, 1, 1))), number(3)), "q")
    assert shortened(fused_to(end), PYNQ).result.op == "nn.conv2d"


@pytest.mark.parametrize(
    ("end", "hw"),
    [
        (int8_clip(step("multiply", step("add", widened(X), widened(X)), number(3)), "q"), PYNQ),
        (int8_clip(step("left_shift", biased(), number(99)), "q"), NARROW),
    ],
    ids=["nothing but moves", "results of 16 bits"],
)
def test_what_is_not_cut(end, hw):
    assert shortened(fused_to(end), hw) is None
    assert runnable(end, hw)[0] == {}


def test_regions_wait_for_the_host_between_parts_of_fused_operators():
    first = int8_clip(step("multiply", biased(), number(77)), "q")
    second = int8_clip(step("multiply", conv(first, np.ones((4, 4, 1, 1)), "conv2"), number(5)), "r")
    graph = Graph((X,), (second,))
    parts = partition(graph, PYNQ)
    assert [[fused.result.name for fused in region.operators] for region in parts.regions] == [["bias"], ["conv2"]]
    assert all(node.dtype == "int32" for region in parts.regions for node in region.outputs)
    assert len(partition(graph, BASELINE).regions) == 1


def test_a_part_may_be_vetoed():
    end = int8_clip(step("multiply", biased(), number(77)), "q")
    accepted, reasons = runnable_operators(
        Graph((X,), (end,)), PYNQ, lambda fused: Reason("size", "too large") if fused.result is not end else None
    )
    assert accepted == {}
    assert {str(reason) for reason in reasons.values()} == {MUL}


def test_what_the_host_computes_after_all_is_joined_there():
    """The fused operator before a concatenation stores int32 on a target without MUL: its int8 values are the host's."""
    scaled = step("right_shift", step("multiply", biased(), number(77)), number(5))
    parts = [int8_clip(scaled, "part"), int8_clip(biased(), "other")]
    joined = call("concatenate", [parts[0], parts[0]], "join", axis=1)
    mixed = call("concatenate", parts, "mixed", axis=1)
    accepted, reasons = runnable(joined, PYNQ)
    assert joined not in accepted
    assert reasons[joined] == "joined, cut or padded on the host, before VTA reads it"
    assert joined in runnable(joined, BASELINE)[0]
    assert mixed in runnable(mixed, PYNQ)[0]
