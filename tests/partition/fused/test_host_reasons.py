"""Why operators that are in no fused operator run on the host."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, NARROW
from vta.ir.graph import Graph, call, constant, graph_input
from vta.partition.partition import partition

F = graph_input("f", (1, 4), "float32")
X = graph_input("x", (1, 4), "int8")
PYNQ = replace(BASELINE, target="pynq")


def reason(node, hw=BASELINE):
    inputs = tuple(source for source in Graph((), (node,)).nodes() if source.op == "input")
    return partition(Graph(inputs, (node,)), hw).reasons[node]


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        (call("sigmoid", [F], "s"), "computes in float: VTA has no template for sigmoid"),
        (call("multiply", [F, F], "m"), "computes in float: VTA has no template for multiply of two tensors"),
        (call("multiply", [F, constant(np.float32(2))], "m"), "computes in float"),
        (call("nn.relu", [F], "r"), "computes in float"),
        (call("qnn.quantize", [F], "q", scale=0.5), "border between float and integer values"),
        (call("negative", [X], "n"), "no VTA template for negative on int8"),
        (
            call("qnn.lookup", [X, constant(np.arange(256).astype(np.int8))], "l"),
            "no VTA template for qnn.lookup on int8: its table is neither one line nor two",
        ),
    ],
)
def test_the_sentence_names_the_cause(node, sentence):
    found = reason(node)
    assert str(found) == sentence
    assert found.node is node


def test_a_layer_in_float_can_be_quantized():
    found = reason(call("nn.dense", [F, constant(np.ones((3, 4), np.float32))], "d"))
    assert (found.rule, bool(found.advice)) == ("left_in_float", True)


def test_what_a_target_cannot_multiply_is_no_lack_of_a_template():
    swish = call("qnn.hard_swish", [X], "h", input_scale=0.1, output_scale=0.1)
    assert str(reason(swish, PYNQ)) == "The target's ALU has no MUL, which qnn.hard_swish takes"
    assert reason(swish).rule == reason(swish, replace(NARROW, target="pynq")).rule == "no_template"
