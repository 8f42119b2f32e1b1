"""Procedures as loop nests: what they say, run one scalar at a time, and which operators they are of."""

import numpy as np
import pytest

from tests.host.examples import values_of
from vta.errors import CompileError
from vta.host.gpu.printing.dialects import OPENCL
from vta.host.gpu.printing.printer import gpu_source
from vta.host.groups import find_groups
from vta.host.kernels.procedures.build import build_procedure
from vta.host.kernels.procedures.rules import is_procedure
from vta.host.llvm.target import cpu_target
from vta.host.loop.interpret import run_program
from vta.host.loop.text import program_text
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate_node

BOXES, SCORES = graph_input("x", (2, 9, 4)), graph_input("y", (2, 3, 9))
LIMITS = {"iou_threshold": 0.2, "score_threshold": 0.0}
PLACES, UPDATES = constant(np.int32([[2], [0], [2], [-1]])), graph_input("y", (4, 5))
EXAMPLES = {
    "suppression": call(ops.NON_MAX_SUPPRESSION, [BOXES, SCORES], most=4, **LIMITS),
    "best classes": call(ops.DETECTIONS, [BOXES, graph_input("y", (2, 9, 3))], most=5, **LIMITS),
    "by class": call(ops.DETECTIONS, [BOXES, graph_input("y", (2, 9, 3))], most=5, most_of_class=2, **LIMITS),
    "sorted": call(ops.TOP_K, [graph_input("x", (2, 64), "int8")], k=64),
    "sums": call(ops.SCATTER_ND, [graph_input("x", (3, 5)), PLACES, UPDATES], reduction="add"),
}
WIDE, NARROW = cpu_target("x86_64-linux-gnu", "icelake-server"), cpu_target("armv7-linux-gnueabihf")


@pytest.mark.parametrize("target", [WIDE, NARROW], ids=["x86_64", "armv7"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_nests_give_what_references_give(name, target):
    node = EXAMPLES[name]
    made = build_procedure(node, target)
    rng = np.random.default_rng(1)
    values = {item: values_of(item, rng) for item in made.sources}
    got = run_program(made.program, [*values.values(), *made.constants])
    want = evaluate_node(node, [item.value if item.value is not None else values[item] for item in node.inputs])
    np.testing.assert_array_equal(got, want)


def test_loops_as_long_as_what_was_found():
    text = program_text(build_procedure(EXAMPLES["suppression"], NARROW).program)
    assert " in min(9, counted):" in text
    assert "function list" in text


def test_few_values_are_counted_and_known_places_are_gathered():
    x = graph_input("x", (3, 63))
    assert not is_procedure(call(ops.TOP_K, [x], k=3))
    assert is_procedure(call(ops.TOP_K, [x], k=3, axis=0)) is False
    places = constant(np.int32([[1]]))
    assert not is_procedure(call(ops.SCATTER_ND, [x, places, graph_input("y", (1, 63))]))
    assert is_procedure(call(ops.SCATTER_ND, [x, graph_input("p", (1, 1), "int32"), graph_input("y", (1, 63))]))


def test_nothing_joins_a_procedure():
    x = graph_input("x", (64,))
    order = call(ops.TOP_K, [call(ops.NEGATIVE, [x])], k=64)
    graph = Graph((x,), (call(ops.NEGATIVE, [order]),))
    groups = find_groups(graph.calls(), graph.users(), graph.outputs)
    assert [[node.op for node in group.nodes] for group in groups] == [[ops.NEGATIVE], [ops.TOP_K], [ops.NEGATIVE]]


def test_gpus_get_none():
    for node in EXAMPLES.values():
        graph = Graph(tuple(item for item in node.inputs if item.value is None), (node,))
        groups = find_groups(graph.calls(), graph.users(), graph.outputs, procedures=False)
        assert not any(group.procedure for group in groups)
    with pytest.raises(CompileError, match="GPU"):
        gpu_source(build_procedure(EXAMPLES["suppression"], WIDE).program, OPENCL)
