"""What VTA can run: one small rule each. Its docstring is the reason that users read, in reports and in the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import Capabilities
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.matmul import GroupsAttributes
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.nn.norm import AxisAttributes
from vta.ir.ops.quantized.rescale import RescaleAttributes
from vta.ir.ops.shape import StridedSliceAttributes
from vta.partition.fused.fused_operator import FusedOperator, is_channelwise, split_operand, value_and_operand
from vta.partition.fused.reason import Reason
from vta.partition.fused.template_support import template_support, template_supports
from vta.support.dataclass import dataclass

__all__ = ["RULES", "Breach", "Rule", "all_rules", "broken_rule", "support_rule"]

_PARAMETERS = 4
"""Inputs of a rescale that has no table."""
MAX_MULTIPLIER = 127 * 0x10101
"""Largest integer factor of a tensor operand: three signed digits of base 256."""


@dataclass(frozen=True)
class Breach:
    """What breaks a rule."""

    node: Node
    value: str = ""
    """What was found, where the sentence of the rule does not say it."""


Check = Callable[[FusedOperator, HardwareConfig], Breach | None]


@dataclass(frozen=True)
class Rule:
    """A condition that every fused operator must meet to run on VTA."""

    check: Check
    operators: tuple[str, ...]
    """The operators that it can stop; () for any."""
    can_break: Callable[[Capabilities], bool]
    """Whether it can stop anything on a target with these capabilities."""
    by_config: bool
    """Whether it depends on the sizes in the hardware config."""
    advice: str
    """What to do about it; "" where nothing helps."""

    @property
    def name(self) -> str:
        """Its identity: `Reason.rule` of what it stops."""
        return self.check.__name__

    @property
    def text(self) -> str:
        """The condition in a sentence, without its full stop."""
        return (self.check.__doc__ or self.name).strip().rstrip(".")

    def against(self, fused: FusedOperator, hw: HardwareConfig) -> Reason | None:
        """Why `fused` does not meet the condition on `hw`; None if it does."""
        breach = self.check(fused, hw)
        return None if breach is None else Reason(self.name, self.text, breach.node, breach.value, self.advice)


def _everywhere(target: Capabilities) -> bool:
    return True


def support_rule(
    *operators: str,
    can_break: Callable[[Capabilities], bool] = _everywhere,
    by_config: bool = False,
    advice: str = "",
) -> Callable[[Check], Rule]:
    """Make a rule about `operators` of a function that finds what breaks it in a fused operator."""
    return lambda check: Rule(check, operators, can_break, by_config, advice)


@support_rule()
def values_are_images_or_vectors(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """Tensors must have shape (N, C, H, W) or (N, C)."""
    for node in (fused.result, *fused.sources):
        if len(node.shape) not in (2, 4) or min(node.shape) <= 0:
            return Breach(node, str(node.type))
    return None


@support_rule(ops.ADD, ops.MULTIPLY, ops.MAXIMUM, ops.MINIMUM)
def operands_have_the_result_shape(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """A tensor operand must have the shape of the result, or one value for each sample and channel."""
    for step in fused.steps:
        value, operand = value_and_operand(step)
        operands = [value]
        if operand is not None and operand.op != ops.CONSTANT and fused.branch_at(step) is None:
            operand = split_operand(operand)[0]
            operands += [] if is_channelwise(operand.shape, step.shape) else [operand]
        for node in operands:
            if node.shape != step.shape:
                return Breach(step, f"{node.type} for {step.type}")
    return None


@support_rule(ops.ADD, ops.MULTIPLY, ops.MAXIMUM, ops.MINIMUM, ops.LEFT_SHIFT, ops.RIGHT_SHIFT, ops.BIAS_ADD)
def constants_vary_by_channel_only(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """Constants of integer steps must be scalars or one value per channel."""
    for step in fused.steps:
        if step.op == ops.BIAS_ADD and (axis := attrs_of(step, AxisAttributes).axis) % len(step.shape) != 1:
            return Breach(step, f"one value along axis {axis}")
    for constant, rank in _constants(fused):
        if not _is_channelwise(constant, rank):
            return Breach(constant, str(constant.type))
    return None


@support_rule(
    ops.MULTIPLY,
    can_break=lambda target: not target.multiply,
    advice='requantize="shift" rescales by shifts, which this target can do; results then differ slightly',
)
def target_multiplies(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """The target's ALU has no MUL, so only a tensor operand may be multiplied."""
    if hw.capabilities.multiply:
        return None
    steps = fused.steps[1:] if _scales_anchor(fused) else fused.steps
    return next((Breach(step) for step in steps if step.op == ops.MULTIPLY), None)


@support_rule(ops.RESCALE, can_break=lambda target: not target.requantize, by_config=True)
def config_requantizes(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """The config must have the requantize unit, and the table unit for what is looked up."""
    for step in (*fused.steps, *fused.tensor_operands):
        if step.op == ops.RESCALE and not hw.capabilities.requantize:
            return Breach(step, "REQUANTIZE_UNIT = 0")
        if step.op == ops.RESCALE and len(step.inputs) > _PARAMETERS and not hw.capabilities.table:
            return Breach(step, "TABLE_UNIT = 0")
    return None


@support_rule(ops.RESCALE)
def rescaling_is_by_constants(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """Bias, multiplier, shift and table of a rescale must be constants, and a narrow one the last step before an int8 result."""
    for step in (*fused.steps, *fused.tensor_operands):
        if step.op != ops.RESCALE:
            continue
        if any(given.value is None for given in step.inputs[1:]):
            return Breach(step, "not constant")
        last = bool(fused.epilogue) and step is fused.epilogue[-1]
        if attrs_of(step, RescaleAttributes).narrow and not (last and fused.result.dtype == "int8"):
            return Breach(step, "a narrow one elsewhere")
    return None


@support_rule(ops.MULTIPLY, ops.LEFT_SHIFT)
def operand_factors_are_small(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """The integer factor of a tensor operand must be at most 8355711 in magnitude."""
    factors = list(fused.operand_factors)
    if _scales_anchor(fused):
        factors.append((fused.anchor, fused.operands[fused.epilogue[0]], fused.epilogue[0].op))
    for node, factor, op in factors:
        if factor is not None and factor.value is not None:
            largest = int(np.abs(factor.value.astype(np.int64)).max())
            largest = 1 << largest if op == ops.LEFT_SHIFT else largest
            if largest > MAX_MULTIPLIER:
                return Breach(node, str(largest))
    return None


@support_rule(ops.LEFT_SHIFT, ops.RIGHT_SHIFT)
def shift_amounts_are_legal(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """Shift amounts must be constants from 0 to 31."""
    amounts = [(step, _constant_value(fused, step)) for step in fused.steps if step.op in (ops.LEFT_SHIFT, ops.RIGHT_SHIFT)]
    amounts += [(node, factor.value) for node, factor, op in fused.operand_factors if factor is not None and op == ops.LEFT_SHIFT]
    for node, value in amounts:
        if value is None:
            return Breach(node, "not constant")
        if value.min() < 0 or value.max() > 31:
            return Breach(node, str(int(value.min() if value.min() < 0 else value.max())))
    return None


@support_rule(ops.CLIP, ops.MAXIMUM, ops.MINIMUM, by_config=True)
def bounds_fit_the_accumulator(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """A bound must not lift values beyond what the accumulator holds."""
    largest = (1 << (hw.acc_bits - 1)) - 1
    for step in fused.steps:
        if step.op == ops.CLIP:
            low, high = attrs_of(step, ClipAttributes).bounds(step.dtype)
        elif (value := _constant_value(fused, step)) is not None and step.op in (ops.MAXIMUM, ops.MINIMUM):
            low = int(value.max()) if step.op == ops.MAXIMUM else 0
            high = int(value.min()) if step.op == ops.MINIMUM else 0
        else:
            continue
        if low > largest:
            return Breach(step, f"{low}, at most {largest}")
        if high < -largest - 1:
            return Breach(step, f"{high}, at least {-largest - 1}")
    return None


@support_rule(
    ops.LEFT_SHIFT,
    can_break=lambda target: not (target.register_shift_left or target.multiply),
    advice="one scale for all channels of a layer needs no such shift",
)
def left_shift_by_channel_works(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """The target cannot shift left by a different amount for each channel."""
    if hw.capabilities.register_shift_left or hw.capabilities.multiply:
        return None
    steps = fused.steps[1:] if _scales_anchor(fused) else fused.steps
    return next((Breach(step) for step in steps if step.op == ops.LEFT_SHIFT and step.inputs[1].shape != ()), None)


@support_rule(by_config=True, advice="a config with 32-bit accumulators stores int32 results")
def stored_values_are_int8_or_int32(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """The result must be int8, or int32 with 32-bit accumulators."""
    dtype = fused.result.dtype
    if dtype == "int8" or (dtype == "int32" and hw.acc_bits == 32):
        return None
    return Breach(fused.result, f"{dtype}, with {hw.acc_bits} bits")


@support_rule()
def batch_sizes_agree(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """Every tensor must have the batch size of the result."""
    batch = fused.result.shape[0]
    return next((Breach(node, f"{node.shape[0]} for {batch}") for node in fused.sources if node.shape[0] != batch), None)


@support_rule(ops.STRIDED_SLICE)
def slices_step_forward(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """A slice must keep the batch, and go forward over rows and columns."""
    anchor = fused.anchor
    if anchor.op != ops.STRIDED_SLICE:
        return None
    cuts = [
        range(extent)[cut]
        for extent, cut in zip(anchor.inputs[0].shape, attrs_of(anchor, StridedSliceAttributes).slices(), strict=True)
    ]
    if cuts[0] != range(anchor.shape[0]):
        return Breach(anchor, f"{len(cuts[0])} of a batch of {anchor.inputs[0].shape[0]}")
    backward = [cut.step for cut in cuts[2:] if cut.step < 0 and len(cut) > 1]
    return Breach(anchor, f"step {backward[0]}") if backward else None


@support_rule(ops.MATMUL2D, ops.TRANSPOSE2D, by_config=True)
def stored_tensors_are_weights(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """A tensor serves as weights with BATCH 1 and 32-bit accumulators, if channels and columns of each group fill blocks."""
    anchor = fused.anchor
    if anchor.op not in (ops.MATMUL2D, ops.TRANSPOSE2D):
        return None
    if hw.batch != 1 or hw.acc_bits != 32:
        return Breach(anchor, f"BATCH {hw.batch}, {hw.acc_bits} bits")
    weights, attrs = anchor.inputs[-1], anchor.attrs
    groups = attrs.groups if isinstance(attrs, GroupsAttributes) else 1
    channels, columns = weights.shape[1] // groups, weights.shape[3]
    return None if channels % hw.block == columns % hw.block == 0 else Breach(anchor, f"{channels} and {columns}")


@support_rule(ops.MATMUL2D)
def products_of_tensors_end_alike(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """A product of two tensors must become an int8 by constants that are the same for all channels."""
    if fused.anchor.op != ops.MATMUL2D:
        return None
    if fused.result.dtype != "int8" or fused.output_padding is not None:
        return Breach(fused.result, fused.result.op)
    sources = [source for step in fused.steps for source in step.inputs if source.op == ops.CONSTANT]
    several = [source for source in sources if len(source.shape) > 0 and source.shape[-1:] != (256,) and max(source.shape) > 1]
    return next((Breach(found, str(found.type)) for found in (*several, *fused.tensor_operands)), None)


RULES: tuple[Rule, ...] = (
    values_are_images_or_vectors,
    operands_have_the_result_shape,
    constants_vary_by_channel_only,
    target_multiplies,
    config_requantizes,
    rescaling_is_by_constants,
    shift_amounts_are_legal,
    operand_factors_are_small,
    bounds_fit_the_accumulator,
    left_shift_by_channel_works,
    stored_values_are_int8_or_int32,
    batch_sizes_agree,
    slices_step_forward,
    stored_tensors_are_weights,
    products_of_tensors_end_alike,
)


def all_rules() -> tuple[Rule, ...]:
    """The rules for all fused operators, then those of templates."""
    return (*RULES, *dict.fromkeys(rule for support in template_supports() for rule in support.rules))


def broken_rule(fused: FusedOperator, hw: HardwareConfig) -> Reason | None:
    """Return the reason why VTA cannot run `fused` on `hw`, or None if it can."""
    template = template_support(fused.anchor.op)
    rules = RULES if template is None else (*RULES, *template.rules)
    return next((reason for rule in rules if (reason := rule.against(fused, hw)) is not None), None)


def _scales_anchor(fused: FusedOperator) -> bool:
    """Whether the first step is a constant factor of a cast root, which products with a diagonal matrix can apply."""
    first = fused.epilogue[0] if fused.epilogue else None
    if first is None or fused.anchor.op != ops.CAST or first.op not in (ops.MULTIPLY, ops.LEFT_SHIFT):
        return False
    return _constant_value(fused, first) is not None


def _constant_value(fused: FusedOperator, step: Node) -> NDArray[Any] | None:
    """The constant operand of a step, if it has one."""
    operand = fused.operands[step]
    return None if operand is None else operand.value


def _constants(fused: FusedOperator) -> Iterator[tuple[Node, int]]:
    """Constant operands with the rank of the value that they join; a bias is per channel by itself."""
    for step, operand in fused.operands.items():
        if operand is not None and operand.op == ops.CONSTANT and step.op != ops.BIAS_ADD:
            yield operand, len(step.shape)
    for operand, (_, factor, _) in zip(fused.tensor_operands, fused.operand_factors, strict=True):
        if factor is not None:
            yield factor, len(operand.shape)


def _is_channelwise(constant: Node, rank: int) -> bool:
    padded = (1,) * (rank - len(constant.shape)) + constant.shape
    return len(padded) == rank and all(extent == 1 for axis, extent in enumerate(padded) if axis != 1)
