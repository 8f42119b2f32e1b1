"""The rules that say what VTA can run: each with what it lets pass and what it stops."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, NARROW, conv, int8_clip, per_channel, widened
from vta.config.targets import TARGETS
from vta.ir.graph import Graph, call, constant, graph_input
from vta.partition.fused.find import find_fused_operators
from vta.partition.fused.fused_operator import ANCHORS, INT8_OPERATORS, STEPS
from vta.partition.fused.support_rules import RULES, all_rules, broken_rule
from vta.partition.fused.template_support import template_supports

X = graph_input("x", (2, 4, 3, 5), "int8")
PYNQ, TSIM = replace(BASELINE, target="pynq"), replace(BASELINE, target="tsim")
BROADCAST = "A tensor operand must have the shape of the result, or one value for each sample and channel"
CHANNELWISE = "Constants of integer steps must be scalars or one value per channel"
MULTIPLY = "The target's ALU has no MUL, so only a tensor operand may be multiplied"
FACTOR = "The integer factor of a tensor operand must be at most 8355711 in magnitude"
SHIFTS = "Shift amounts must be constants from 0 to 31"
BOUNDS = "A bound must not lift values beyond what the accumulator holds"
LEFT = "The target cannot shift left by a different amount for each channel"


def accumulated():
    return conv(X, np.ones((4, 4, 1, 1)))


def number(value):
    return constant(np.asarray(value, np.int32))


def broken(value, hw=BASELINE):
    end = int8_clip(value, "q") if value.dtype == "int32" else value
    fused_operators, _ = find_fused_operators(Graph((X,), (end,)))
    reason = broken_rule(fused_operators[end], hw)
    return None if reason is None else reason.text


def offence(value, hw=BASELINE):
    """What was found, and the operator that has it."""
    end = int8_clip(value, "q") if value.dtype == "int32" else value
    reason = broken_rule(find_fused_operators(Graph((X,), (end,)))[0][end], hw)
    return reason.value, reason.node.name


def step(op, operand, value=None):
    return call(op, [value or accumulated(), operand], op)


def test_every_rule_has_a_reason_to_read():
    sentences = [rule.check.__doc__ for rule in all_rules()]
    assert all(sentence and sentence.endswith(".") and "\n" not in sentence for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_every_rule_is_about_operators_of_fused_operators():
    known = {*ANCHORS, *STEPS, *INT8_OPERATORS, "nn.pad", *(support.graph_operator for support in template_supports())}
    assert all(set(rule.operators) <= known for rule in all_rules())


def test_a_rule_about_targets_breaks_on_those_alone():
    by_target = {rule.name: [name for name in TARGETS if rule.can_break(TARGETS[name].capabilities)] for rule in RULES}
    assert by_target["target_multiplies"] == ["tsim", "pynq", "ultra96", "zcu104", "de10nano"]
    assert by_target["left_shift_by_channel_works"] == ["tsim", "de10nano"]
    assert by_target["batch_sizes_agree"] == list(TARGETS)


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4), (1, 2, 3, 4, 5)])
def test_values_are_images_or_vectors(shape):
    x = graph_input("v", shape, "int8")
    assert broken(call("nn.relu", [x], "relu")) == "Tensors must have shape (N, C, H, W) or (N, C)"


def test_a_tensor_operand_has_the_shape_of_the_result():
    assert broken(step("add", widened(X))) is None
    assert broken(step("add", widened(graph_input("s", (2, 4, 1, 1), "int8")))) is None
    small = widened(graph_input("s", (2, 4, 1, 5), "int8"))
    assert broken(step("add", small)) == BROADCAST


def test_a_factor_must_not_broadcast_its_tensor_to_the_shape_of_the_result():
    plane = widened(graph_input("p", (2, 1, 3, 5), "int8"))
    scaled = call("multiply", [plane, per_channel([1, 2, 3, 4])], "scale")
    assert scaled.shape == X.shape
    assert broken(step("add", scaled)) == BROADCAST
    assert broken(scaled) == BROADCAST


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ((), None),
        ((1,), None),
        ((1, 4, 1, 1), None),
        ((4, 1, 1), None),
        ((1, 1, 1, 5), CHANNELWISE),
        ((2, 1, 1, 1), CHANNELWISE),
        ((3, 5), CHANNELWISE),
    ],
)
def test_constants_vary_by_channel_only(shape, reason):
    assert broken(step("add", number(np.ones(shape)))) == reason
    assert broken(step("add", call("multiply", [widened(X), number(np.ones(shape))], "scale"))) == reason


@pytest.mark.parametrize(("axis", "count", "reason"), [(1, 4, None), (-3, 4, None), (3, 5, CHANNELWISE), (0, 2, CHANNELWISE)])
def test_a_bias_is_along_the_channels(axis, count, reason):
    assert broken(call("nn.bias_add", [accumulated(), number(np.ones(count))], "bias", axis=axis)) == reason


def test_only_operands_are_multiplied_where_the_alu_cannot():
    assert broken(step("multiply", number(3))) is None
    assert broken(step("multiply", number(3)), PYNQ) == MULTIPLY
    assert broken(step("multiply", widened(X)), PYNQ) == MULTIPLY
    assert broken(step("add", call("multiply", [widened(X), number(3)], "scale")), PYNQ) is None
    first = call("multiply", [widened(X), number(3)], "scale")
    assert broken(first, PYNQ) is None
    assert broken(step("multiply", number(3), first), PYNQ) == MULTIPLY


@pytest.mark.parametrize(("factor", "reason"), [(8355711, None), (-8355711, None), (8355712, FACTOR), (-(1 << 31), FACTOR)])
def test_factors_of_operands_have_three_digits(factor, reason):
    scaled = call("multiply", [widened(X), number(factor)], "scale")
    assert broken(step("add", scaled)) == reason
    assert broken(scaled) == reason


def test_shifted_operands_are_factors_too():
    for amount, reason in ((22, None), (23, FACTOR), (31, FACTOR)):
        assert broken(step("add", call("left_shift", [widened(X), number(amount)], "scale"))) == reason


@pytest.mark.parametrize("op", ["left_shift", "right_shift"])
def test_shift_amounts_are_legal(op):
    assert broken(step(op, number(31))) is None
    assert broken(step(op, number(32))) == SHIFTS
    assert broken(step(op, number(-1))) == SHIFTS


def test_shift_amounts_of_operands_are_legal():
    assert broken(step("add", call("left_shift", [widened(X), per_channel([-1, 0, 0, 0])], "scale"))) == SHIFTS
    assert broken(call("left_shift", [widened(X), number(-1)], "scale")) == SHIFTS


def test_bounds_fit_the_accumulator():
    for op, inside, outside in (("maximum", 32767, 32768), ("minimum", -32768, -32769)):
        assert broken(step(op, number(outside))) is None
        assert broken(step(op, number(inside)), NARROW) is None
        assert broken(step(op, number(-outside)), NARROW) is None
        assert broken(step(op, number(outside)), NARROW) == BOUNDS
    clip = call("clip", [accumulated()], "clip", a_min=-40000, a_max=70000)
    assert broken(clip, NARROW) is None
    assert broken(call("clip", [accumulated()], "clip", a_min=40000, a_max=70000), NARROW) == BOUNDS


def test_left_shifts_by_channel_need_a_signed_register():
    shift = step("left_shift", per_channel([0, 1, 2, 3]))
    assert broken(shift) is None
    assert broken(shift, PYNQ) is None
    assert broken(shift, TSIM) == LEFT
    assert broken(step("left_shift", number(3)), TSIM) is None


def test_wide_results_need_wide_accumulators():
    end = accumulated()
    fused_operators, _ = find_fused_operators(Graph((X,), (end,)))
    assert broken_rule(fused_operators[end], BASELINE) is None
    reason = broken_rule(fused_operators[end], NARROW)
    assert str(reason) == "The result must be int8, or int32 with 32-bit accumulators: int32, with 16 bits"


def test_batch_sizes_agree():
    flat = call("reshape", [X], "r", newshape=(1, 120))
    dense = call("nn.dense", [flat, constant(np.ones((3, 120), np.int8))], "d")
    assert broken(dense) is None, "it reads the reshaped value, not the image of another batch size"


def test_a_reason_says_what_was_found_and_where():
    assert offence(step("right_shift", number(35))) == ("35", "right_shift")
    assert offence(step("right_shift", number(-2))) == ("-2", "right_shift")
    assert offence(step("add", call("multiply", [widened(X), number(8355712)], "scale"))) == ("8355712", "x")
    assert offence(call("clip", [accumulated()], "clip", a_min=40000, a_max=70000), NARROW) == ("40000, at most 32767", "clip")
    assert offence(call("clip", [accumulated()], "clip", a_min=-70000, a_max=-40000), NARROW) == (
        "-40000, at least -32768",
        "clip",
    )


def test_a_reason_reads_as_the_rule_with_what_was_found():
    end = int8_clip(step("right_shift", number(35)), "q")
    reason = broken_rule(find_fused_operators(Graph((X,), (end,)))[0][end], BASELINE)
    assert str(reason) == "Shift amounts must be constants from 0 to 31: 35"
    assert reason.rule == "shift_amounts_are_legal"


def test_what_a_target_lacks_comes_with_advice():
    advised = {rule.name for rule in RULES if rule.advice}
    assert {
        rule.name
        for rule in RULES
        if rule.can_break(TARGETS["tsim"].capabilities) and not rule.can_break(TARGETS["sim"].capabilities)
    } <= advised
