"""What VTA can run: one small rule each. Its docstring is the reason that users read, in reports and in the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import Capabilities
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.partition.fused_operator import FusedOperator, split_operand, value_and_operand
from vta.partition.template_support import template_support, template_supports
from vta.support.dataclass import dataclass

__all__ = ["RULES", "Rule", "all_rules", "broken_rule", "support_rule"]

MAX_MULTIPLIER = 127 * 0x10101
"""Largest integer factor of a tensor operand: three signed digits of base 256."""

Holds = Callable[[FusedOperator, HardwareConfig], bool]


@dataclass(frozen=True)
class Rule:
    """A condition that every fused operator must meet to run on VTA."""

    holds: Holds
    operators: tuple[str, ...]
    """The operators that it can stop; () for any."""
    can_break: Callable[[Capabilities], bool]
    """Whether it can stop anything on a target with these capabilities."""
    by_config: bool
    """Whether it depends on the sizes in the hardware config."""

    @property
    def reason(self) -> str:
        """The condition in a sentence, without its full stop."""
        return (self.holds.__doc__ or self.holds.__name__).strip().rstrip(".")

    def __call__(self, fused: FusedOperator, hw: HardwareConfig) -> bool:
        """Whether `fused operator` meets the condition on `hw`."""
        return self.holds(fused, hw)


def _everywhere(target: Capabilities) -> bool:
    return True


def support_rule(
    *operators: str, can_break: Callable[[Capabilities], bool] = _everywhere, by_config: bool = False
) -> Callable[[Holds], Rule]:
    """Make a rule about `operators` of a function that tells whether a fused operator meets it."""
    return lambda holds: Rule(holds, operators, can_break, by_config)


@support_rule()
def values_are_images_or_vectors(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """Tensors must have shape (N, C, H, W) or (N, C)."""
    return all(len(node.shape) in (2, 4) and min(node.shape) > 0 for node in (fused.result, *fused.sources))


@support_rule(ops.ADD, ops.MULTIPLY, ops.MAXIMUM, ops.MINIMUM)
def operands_have_the_result_shape(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """A tensor operand must have the shape of the result; broadcasting is for constants."""
    for step in _all_steps(fused):
        operand = value_and_operand(step)[1]
        tensor = operand is not None and operand.op != ops.CONSTANT and fused.branch_at(step) is None
        if operand is not None and tensor and split_operand(operand)[0].shape != step.shape:
            return False
        if value_and_operand(step)[0].shape != step.shape:
            return False
    return True


@support_rule(ops.ADD, ops.MULTIPLY, ops.MAXIMUM, ops.MINIMUM, ops.LEFT_SHIFT, ops.RIGHT_SHIFT, ops.BIAS_ADD)
def constants_vary_by_channel_only(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """Constants of integer steps must be scalars or one value per channel."""
    biases = (step for step in _all_steps(fused) if step.op == ops.BIAS_ADD)
    if any(step.attrs.axis % len(step.shape) != 1 for step in biases):
        return False
    return all(_is_channelwise(constant, rank) for constant, rank in _constants(fused))


@support_rule(ops.MULTIPLY, can_break=lambda target: not target.multiply)
def target_multiplies(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """The target's ALU has no MUL, so only a tensor operand may be multiplied."""
    if hw.capabilities.multiply:
        return True
    steps = _all_steps(fused)[1:] if _scales_anchor(fused) else _all_steps(fused)
    return all(step.op != ops.MULTIPLY for step in steps)


@support_rule(ops.MULTIPLY, ops.LEFT_SHIFT)
def operand_factors_are_small(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """The integer factor of a tensor operand must be at most 8355711 in magnitude."""
    factors = [split_operand(operand) for operand in _tensor_operands(fused)]
    if _scales_anchor(fused):
        factors.append((fused.anchor, value_and_operand(fused.epilogue[0])[1], fused.epilogue[0].op))
    for _, factor, op in factors:
        if factor is not None and factor.value is not None:
            largest = int(np.abs(factor.value.astype(np.int64)).max())
            if (1 << largest if op == ops.LEFT_SHIFT else largest) > MAX_MULTIPLIER:
                return False
    return True


@support_rule(ops.LEFT_SHIFT, ops.RIGHT_SHIFT)
def shift_amounts_are_legal(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """Shift amounts must be constants from 0 to 31."""
    amounts = [_constant_value(step) for step in _all_steps(fused) if step.op in (ops.LEFT_SHIFT, ops.RIGHT_SHIFT)]
    factors = [split_operand(operand) for operand in _tensor_operands(fused)]
    amounts += [factor.value for _, factor, op in factors if factor is not None and op == ops.LEFT_SHIFT]
    return all(value is not None and value.min() >= 0 and value.max() <= 31 for value in amounts)


@support_rule(ops.CLIP, ops.MAXIMUM, ops.MINIMUM, by_config=True)
def bounds_fit_the_accumulator(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """A bound must not lift values beyond what the accumulator holds."""
    largest = (1 << (hw.acc_bits - 1)) - 1
    for step in _all_steps(fused):
        if step.op == ops.CLIP:
            low, high = step.attrs.bounds(step.dtype)
        elif (value := _constant_value(step)) is not None and step.op in (ops.MAXIMUM, ops.MINIMUM):
            low = int(value.max()) if step.op == ops.MAXIMUM else 0
            high = int(value.min()) if step.op == ops.MINIMUM else 0
        else:
            continue
        if low > largest or high < -largest - 1:
            return False
    return True


@support_rule(ops.LEFT_SHIFT, can_break=lambda target: not (target.register_shift_left or target.multiply))
def left_shift_by_channel_works(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """The target cannot shift left by a different amount for each channel."""
    if hw.capabilities.register_shift_left or hw.capabilities.multiply:
        return True
    steps = _all_steps(fused)[1:] if _scales_anchor(fused) else _all_steps(fused)
    return all(step.op != ops.LEFT_SHIFT or step.inputs[1].shape == () for step in steps)


@support_rule(by_config=True)
def stored_values_are_int8_or_int32(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """The result must be int8, or int32 with 32-bit accumulators."""
    return fused.result.dtype == "int8" or (fused.result.dtype == "int32" and hw.acc_bits == 32)


@support_rule()
def batch_sizes_agree(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """Every tensor must have the batch size of the result."""
    return all(node.shape[0] == fused.result.shape[0] for node in fused.sources)


@support_rule(ops.CONCATENATE)
def channels_are_joined(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """Tensors are joined along channels only."""
    return fused.anchor.op != ops.CONCATENATE or fused.anchor.attrs.axis % len(fused.anchor.shape) == 1


@support_rule(ops.STRIDED_SLICE)
def slices_step_forward(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """A slice must keep the batch, and go forward over rows and columns."""
    if fused.anchor.op != ops.STRIDED_SLICE:
        return True
    cuts = [range(extent)[cut] for extent, cut in zip(fused.anchor.inputs[0].shape, fused.anchor.attrs.slices(), strict=True)]
    return cuts[0] == range(fused.anchor.shape[0]) and all(cut.step > 0 or len(cut) == 1 for cut in cuts[2:])


RULES: tuple[Rule, ...] = (
    values_are_images_or_vectors,
    operands_have_the_result_shape,
    constants_vary_by_channel_only,
    target_multiplies,
    shift_amounts_are_legal,
    operand_factors_are_small,
    bounds_fit_the_accumulator,
    left_shift_by_channel_works,
    stored_values_are_int8_or_int32,
    batch_sizes_agree,
    channels_are_joined,
    slices_step_forward,
)


def all_rules() -> tuple[Rule, ...]:
    """The rules for all fused operators, then those of templates."""
    return (*RULES, *dict.fromkeys(rule for support in template_supports() for rule in support.rules))


def broken_rule(fused: FusedOperator, hw: HardwareConfig) -> str | None:
    """Return the reason why VTA cannot run `fused operator` on `hw`, or None if it can."""
    template = template_support(fused.anchor.op)
    for rule in (*RULES, *(template.rules if template is not None else ())):
        if not rule(fused, hw):
            return rule.reason
    return None


def _all_steps(fused: FusedOperator) -> tuple[Node, ...]:
    """The steps of a fused operator, then those of its branches."""
    return (*fused.epilogue, *(step for branch in fused.branches for step in branch.steps))


def _scales_anchor(fused: FusedOperator) -> bool:
    """Whether the first step is a constant factor of a cast root, which products with a diagonal matrix can apply."""
    first = fused.epilogue[0] if fused.epilogue else None
    if first is None or fused.anchor.op != ops.CAST or first.op not in (ops.MULTIPLY, ops.LEFT_SHIFT):
        return False
    return _constant_value(first) is not None


def _constant_value(step: Node) -> NDArray[Any] | None:
    """The constant operand of a step, if it has one."""
    operand = value_and_operand(step)[1]
    return None if operand is None else operand.value


def _tensor_operands(fused: FusedOperator) -> Iterator[Node]:
    for step in fused.epilogue:
        operand = value_and_operand(step)[1]
        if operand is not None and operand.op != ops.CONSTANT and fused.branch_at(step) is None:
            yield operand


def _constants(fused: FusedOperator) -> Iterator[tuple[Node, int]]:
    """Constant operands with the rank of the value that they join; a bias is per channel by itself."""
    for step in _all_steps(fused):
        operand = value_and_operand(step)[1]
        if operand is not None and operand.op == ops.CONSTANT and step.op != ops.BIAS_ADD:
            yield operand, len(step.shape)
    for operand in _tensor_operands(fused):
        factor = split_operand(operand)[1]
        if factor is not None:
            yield factor, len(operand.shape)


def _is_channelwise(constant: Node, rank: int) -> bool:
    padded = (1,) * (rank - len(constant.shape)) + constant.shape
    return len(padded) == rank and all(extent == 1 for axis, extent in enumerate(padded) if axis != 1)
