"""Lowers operators with the rounding of TFLite or ONNX Runtime to steps that give the same bytes, with 32-bit steps only.

A result that no steps of ours give exactly is 1 off at some inputs; `Diagnostics` say in which layers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import CompileError
from vta.files.cache import code_digest
from vta.ir import names as ops
from vta.ir.arithmetic.even_rounding import even_levels, even_ratio
from vta.ir.arithmetic.fixed_point import per_channel, wrap32
from vta.ir.arithmetic.tflite_rounding import ADD_LEFT_SHIFT, add_rescaled, mean_multiplier, quantized_multiplier
from vta.ir.diagnostics import INEXACT, WRAPS, Diagnostics
from vta.ir.graph import Node, attrs_of, call, constant
from vta.ir.ops.nn.pool import SumPool2DAttributes
from vta.ir.ops.quantized.qnn import (
    AddAttributes,
    MeanAttributes,
    QnnAvgPool2DAttributes,
    QnnGlobalAvgPool2DAttributes,
    RequantizeAttributes,
    RescaledAttributes,
    base_attributes,
    even_mean_ratio,
    even_sum,
    uniform_window,
)
from vta.quantization.bounds import added_constant, interval
from vta.quantization.lowering.rescale import rescaled
from vta.quantization.requantize.rounding_steps import average_steps, requantized_steps, searched_steps
from vta.quantization.requantize.threshold_fit import fit, fit_once
from vta.quantization.requantize.thresholds import FINAL_SHIFT, Form, ThresholdFit, Thresholds, thresholds_of
from vta.quantization.requantize.unit import UnitParameters, fit_unit, fits_unit
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from vta.quantization.requantize.unit_sums import UnitSum

__all__ = ["Rules", "lower_tflite"]

Array = NDArray[Any]

_SIGN_SHIFT = 31


_STEEPEST = 2.0**16
"""Largest ratio of scales that is lowered; one beyond it leaves nothing but the sign of a value, and is a fault in a file."""


_WORTH_KEEPING = 1000
"""Thresholds of all channels, from which on what is found is kept for later."""
_MADE_BY = (
    "quantization/lowering/tflite",
    "quantization/requantize/rounding_steps",
    "ir/arithmetic/even_rounding",
    "ir/arithmetic/tflite_rounding",
    "ir/ops/quantized/qnn",
)
"""The modules that places of steps follow from."""


@dataclass(frozen=True)
class Rules:
    """How nodes are lowered."""

    multiplies: bool = True
    """Whether the target's ALU does; sums of two tensors do without where it does not."""
    requantizes: bool = False
    """Whether the target has a requantize unit: then a fused operator ends in one step of it."""
    close: bool = False
    """Whether results within 1 of the exact ones do, where that takes fewer steps."""
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    """Told of what there is to say."""


def lower_tflite(node: Node, inputs: tuple[Node, ...], rules: Rules) -> Node | None:
    """Return the fused operator for a node with TFLite's rounding, its inputs lowered already; None leaves it to the host."""
    rule = _RULES.get(node.op)
    return None if rule is None else rule(node, inputs, rules)


def _levels(attrs: RescaledAttributes) -> Array:
    return np.arange(attrs.a_min + 1, attrs.a_max + 1, dtype=np.int64)


def _requantize(node: Node, inputs: tuple[Node, ...], rules: Rules) -> Node | None:
    attrs, value = attrs_of(node, RequantizeAttributes), inputs[0]
    if attrs.out_dtype != "int8" or value.dtype not in ("int8", "int32") or attrs.axis != 1:
        return None
    if value.dtype == "int8":
        value = call(ops.CAST, [value], node.name, dtype="int32")
    least, most = interval(node.inputs[0])
    ratio = np.atleast_1d(np.asarray(attrs.input_scale, np.float64) / attrs.output_scale)
    if ratio.max() > _STEEPEST:
        return None
    ends = [np.atleast_1d(end.reshape(-1)) - attrs.input_zero_point for end in (least, most)]
    if len(ratio) == 1:
        least, most = ends[0].min(keepdims=True), ends[1].max(keepdims=True)
    else:
        least, most = (np.broadcast_to(end, ratio.shape) for end in ends)
    correction = -attrs.input_zero_point
    if rules.requantizes and attrs.rounding != "even":
        multiplier, exponent = quantized_multiplier(ratio)
        exact = UnitParameters(multiplier, -exponent, once=attrs.rounding == "tflite_once")
        if fits_unit(exact, np.maximum(np.abs(least), np.abs(most))):
            return _rescaled(node, value, exact, correction, attrs.output_zero_point)

    def steps() -> Thresholds:
        if attrs.rounding == "even":
            at = _even_steps(attrs, np.atleast_1d(even_ratio(attrs.input_scale, attrs.output_scale)))
            return thresholds_of(attrs.a_min, at, least, most, ratio)
        multiplier, exponent = quantized_multiplier(ratio)
        once = attrs.rounding == "tflite_once"
        at = requantized_steps(_levels(attrs) - attrs.output_zero_point, multiplier, exponent, once=once)
        return thresholds_of(attrs.a_min, at, least, most, ratio, None if once else _delay(exponent))

    def kept(offset: Array) -> ThresholdFit | None:
        numbers = attrs.rounding, attrs.a_min, attrs.a_max, attrs.output_zero_point
        arrays = np.asarray(attrs.input_scale, np.float64), np.asarray(attrs.output_scale, np.float64), least, most
        key = b"\0".join([_code(), repr(numbers).encode(), *(array.tobytes() for array in arrays)])
        return fit_once(steps, key, offset, close=rules.close)

    if rules.requantizes and attrs.rounding == "even":
        found = _on_unit(node, value, steps(), correction, attrs.output_zero_point)
        if found is not None:
            return found
    keeps = len(ratio) * (attrs.a_max - attrs.a_min) >= _WORTH_KEEPING
    find = kept if keeps else lambda offset: fit(steps(), offset, close=rules.close)
    return _ended(node, value, find, len(ratio), correction, rules)


@cache
def _code() -> bytes:
    """What tells versions of the places of steps apart."""
    package = Path(__file__).parents[2]
    return code_digest(*(package / f"{name}.py" for name in _MADE_BY))


def _average(node: Node, inputs: tuple[Node, ...], rules: Rules) -> Node | None:
    attrs = attrs_of(node, QnnAvgPool2DAttributes)
    if not uniform_window(attrs, node.inputs[0].shape):
        return None
    geometry = base_attributes(SumPool2DAttributes, attrs)
    count = attrs.pool_size[0] * attrs.pool_size[1]
    sums = call(ops.SUM_POOL2D, inputs, node.name, **vars(geometry))
    at = average_steps(_levels(attrs), count, unsigned=attrs.rounding == "tflite_unsigned")
    delay = np.array([1.0 / count]) if attrs.rounding == "tflite" else None
    return _thresholds(node, sums, _summed(attrs, at, count, 1.0 / count, 0, delay), 0, rules, zero_point=0)


def _mean(node: Node, inputs: tuple[Node, ...], rules: Rules) -> Node | None:
    attrs, size = attrs_of(node, QnnGlobalAvgPool2DAttributes), node.inputs[0].shape[2:]
    count = size[0] * size[1]
    sums = call(ops.SUM_POOL2D, inputs, node.name, pool_size=size)
    ratio = attrs.input_scale / attrs.output_scale
    if ratio > _STEEPEST:
        return None
    zero = count * attrs.input_zero_point
    if attrs.rounding == "even":
        at = _even_steps(attrs, np.atleast_1d(even_mean_ratio(attrs, count)))
        steps = _summed(attrs, at, count, ratio / count, zero, None)
        return _thresholds(node, sums, steps, -zero, rules, zero_point=attrs.output_zero_point)
    multiplier, exponent = (np.array([part], np.int64) for part in mean_multiplier(ratio, count))
    if rules.requantizes:
        exact = UnitParameters(multiplier, -exponent, once=False)
        if fits_unit(exact, count * 256):
            return _rescaled(node, sums, exact, -zero, attrs.output_zero_point)
    at = requantized_steps(_levels(attrs) - attrs.output_zero_point, multiplier, exponent, once=False)
    return _thresholds(node, sums, _summed(attrs, at, count, ratio / count, zero, _delay(exponent)), -zero, rules)


def _even_steps(attrs: RescaledAttributes, ratio: Array) -> Array:
    levels = _levels(attrs) - attrs.output_zero_point
    return searched_steps(levels, lambda x: even_levels(x, ratio, 0), ratio.astype(np.float64))


def _summed(attrs: MeanAttributes, at: Array, count: int, slope: float, zero: int, delay: Array | None) -> Thresholds:
    ends = np.array([-128 * count - zero], np.int64), np.array([127 * count - zero], np.int64)
    return thresholds_of(attrs.a_min, at, *ends, np.array([slope]), delay)


def _delay(exponent: Array) -> Array:
    """Halves of the second rounding go away from zero: below it, steps are late by one unit of the first rounding."""
    return np.where(exponent < 0, 2.0**exponent, 0.0)


def _rescaled(node: Node, value: Node, parameters: UnitParameters, correction: int, zero_point: int) -> Node:
    """End a fused operator with one step of the requantize unit, which takes value + correction."""
    attrs, name = attrs_of(node, RescaledAttributes), node.name
    return rescaled(
        value,
        parameters.multiplier,
        parameters.shift,
        name,
        correction=np.array([correction], np.int64),
        once=parameters.once,
        zero_point=zero_point,
        a_min=attrs.a_min,
        a_max=attrs.a_max,
    )


def _on_unit(node: Node, value: Node, steps: Thresholds, correction: int, zero_point: int) -> Node | None:
    """End a fused operator with one step of the requantize unit, if that puts every step of value + correction in its place."""
    found = fit_unit(steps, zero_point, steps.slope)
    if found is None or not fits_unit(found, np.maximum(np.abs(steps.least), np.abs(steps.most))):
        return None
    return _rescaled(node, value, found, correction, zero_point)


def _thresholds(
    node: Node, value: Node, steps: Thresholds, correction: int, rules: Rules, zero_point: int | None = None
) -> Node | None:
    """End a fused operator: `steps` say what becomes of value + correction. None if no integers come near it.

    With a `zero_point` the requantize unit may do, where the target has one.
    """
    if rules.requantizes and zero_point is not None:
        found = _on_unit(node, value, steps, correction, zero_point)
        if found is not None:
            return found
    return _ended(node, value, lambda offset: fit(steps, offset, close=rules.close), len(steps.slope), correction, rules)


def _ended(
    node: Node, value: Node, find: Callable[[Array], ThresholdFit | None], channels: int, correction: int, rules: Rules
) -> Node | None:
    """End a fused operator by the integers that `find` gives for what is added to `value`, one value for each channel."""
    joined = added_constant(value)
    offset = np.array([correction], np.int64)
    if joined is not None:
        offset, value = offset + joined.reshape(-1).astype(np.int64), value.inputs[0]
    integers = find(np.broadcast_to(offset, (max(len(offset), channels),)))
    if integers is None:
        return None
    rules.diagnostics.add(WRAPS, node.name, "its steps wrap modulo 2^32 by design")
    inexact = int((~integers.exact).sum())
    if inexact:
        text = f"1 off at some values in {inexact} of {len(integers.exact)} channels"
        rules.diagnostics.add(INEXACT, node.name, text)
    return call(ops.CAST, [_built(value, integers, node.name)], node.name, dtype="int8")


def _built(value: Node, integers: ThresholdFit, name: str) -> Node:
    """The integer steps; see `ThresholdFit`."""

    def step(op: str, data: Node, operand: Any) -> Node:
        return call(op, [data, constant(_operand(operand, len(data.shape)), name)], name)

    started = step(ops.ADD, value, integers.start) if integers.start.any() else value
    clamped = step(ops.MINIMUM, step(ops.MAXIMUM, started, integers.first), integers.last)
    value = step(ops.MULTIPLY, clamped, integers.factor)
    value = value if integers.term is None else step(ops.ADD, value, integers.term)
    if integers.delay is not None:
        below = step(ops.RIGHT_SHIFT, step(ops.ADD, clamped, integers.sign_offset), _SIGN_SHIFT)
        value = call(ops.ADD, [value, step(ops.MULTIPLY, below, integers.delay)], name)
    if integers.form is Form.BRANCH:
        branch = step(ops.RIGHT_SHIFT, clamped, integers.shift) if integers.shift.any() else clamped
        branch = step(ops.MULTIPLY, branch, integers.second)
        value = call(ops.ADD, [value, step(ops.RIGHT_SHIFT, branch, integers.branch_shift)], name)
    elif integers.form is not Form.ONE:
        value = step(ops.MULTIPLY, step(ops.RIGHT_SHIFT, value, integers.shift), integers.second)
        value = step(ops.ADD, value, integers.outer) if integers.outer.any() else value
    return step(ops.RIGHT_SHIFT, value, FINAL_SHIFT)


def _operand(values: Any, rank: int) -> Array:
    """A scalar where all channels agree, else one value for each, shaped to broadcast; taken modulo 2^32."""
    numbers = wrap32(np.atleast_1d(np.asarray(values, np.int64)))
    if (numbers == numbers[0]).all():
        return np.asarray(numbers[0])
    return per_channel(numbers, rank, 1)


def _add(node: Node, inputs: tuple[Node, ...], rules: Rules) -> Node | None:
    from vta.quantization.requantize.pair_sums import FactoredSum, fit_pair

    attrs, name = attrs_of(node, AddAttributes), node.name
    if attrs.out_dtype != "int8" or any(source.value is not None for source in inputs):
        return None
    assert not isinstance(attrs.lhs_scale, tuple)
    scales = (attrs.lhs_scale, attrs.rhs_scale, attrs.output_scale)

    def wanted() -> Array:
        values = np.arange(-128, 128, dtype=np.int64)
        if attrs.rounding.startswith("even"):
            total = even_sum(values[:, None], values[None], attrs)
        else:
            total = add_rescaled((values - attrs.lhs_zero_point)[:, None], (values - attrs.rhs_zero_point)[None], scales)
            total = total + attrs.output_zero_point
        return np.clip(total, attrs.a_min, attrs.a_max)

    ratios = scales[0] / scales[2], scales[1] / scales[2]
    numbers = scales, attrs.lhs_zero_point, attrs.rhs_zero_point, attrs.output_zero_point, attrs.rounding
    key = _code() + repr(numbers).encode()
    if rules.requantizes:
        from vta.quantization.requantize.unit_sums import fit_unit_sum

        unit = fit_unit_sum(wanted, key, ratios, attrs.a_min, attrs.a_max, attrs.output_zero_point)
        if unit is not None:
            return _unit_sum(node, inputs, unit)
        if attrs.rounding == "tflite":
            return _rescaled_sum(node, inputs)
    try:
        found = fit_pair(wanted, key, *ratios, attrs.a_min, attrs.a_max, multiplies=rules.multiplies)
    except CompileError:
        return None
    if isinstance(found, FactoredSum):
        rules.diagnostics.add(WRAPS, name, "its steps wrap modulo 2^32 by design")
        first, second = zip(found.lhs, found.rhs, strict=True)
        value = _with_terms(None, inputs, first, name)
        value = call(ops.ADD, [value, constant(np.int32(found.start), name)], name)
        value = call(ops.MULTIPLY, [value, constant(np.int32(found.factor), name)], name)
        value = _with_terms(value, inputs, second, name)
    else:
        if not found.exact:
            rules.diagnostics.add(INEXACT, name, "1 off at some pairs of values")
        value = _with_terms(None, inputs, (found.lhs, found.rhs), name)
        value = call(ops.ADD, [value, constant(np.int32(found.term), name)], name)
    value = call(ops.RIGHT_SHIFT, [value, constant(np.int32(found.shift), name)], name)
    return call(ops.CAST, [call(ops.CLIP, [value], name, a_min=attrs.a_min, a_max=attrs.a_max)], name, dtype="int8")


def _unit_sum(node: Node, inputs: tuple[Node, ...], found: UnitSum) -> Node:
    """A sum of multiples that the requantize unit rescales."""
    name = node.name
    (first, second), factor = zip(found.lhs, found.rhs, strict=True), found.factor
    value = _with_terms(None, inputs, first, name)
    if factor:
        value = _with_terms(call(ops.MULTIPLY, [value, constant(np.int32(factor), name)], name), inputs, second, name)
    return _rescaled(node, value, found.parameters, found.term, attrs_of(node, AddAttributes).output_zero_point)


def _rescaled_sum(node: Node, inputs: tuple[Node, ...]) -> Node:
    """A sum as TFLite computes it: both operands at a common scale with 20 more bits, then one at the output's."""
    attrs, name = attrs_of(node, AddAttributes), node.name
    assert not isinstance(attrs.lhs_scale, tuple), "sums of two int8 tensors have one scale each"
    twice = 2.0 * max(attrs.lhs_scale, attrs.rhs_scale)
    sides = []
    for source, scale, zero_point in (
        (inputs[0], attrs.lhs_scale, attrs.lhs_zero_point),
        (inputs[1], attrs.rhs_scale, attrs.rhs_zero_point),
    ):
        multiplier, exponent = quantized_multiplier(scale / twice)
        wide = call(ops.CAST, [source], name, dtype="int32")
        parameters = (np.array([value], np.int32) for value in (-zero_point, multiplier, -exponent))
        sides.append(
            call(ops.RESCALE, [wide, *(constant(given, name) for given in parameters)], name, narrow=False, left=ADD_LEFT_SHIFT)
        )
    multiplier, exponent = quantized_multiplier(twice / (2.0**ADD_LEFT_SHIFT * attrs.output_scale))
    return rescaled(
        call(ops.ADD, sides, name),
        multiplier,
        -exponent,
        name,
        zero_point=attrs.output_zero_point,
        a_min=attrs.a_min,
        a_max=attrs.a_max,
    )


def _with_terms(value: Node | None, sources: tuple[Node, ...], factors: tuple[int, ...], name: str) -> Node:
    """`value` plus the sources times their factors, those that are 0 left out where there is something else."""
    for source, factor in zip(sources, factors, strict=True):
        if value is None or factor:
            wide = call(ops.CAST, [source], name, dtype="int32")
            term = call(ops.MULTIPLY, [wide, constant(np.int32(factor), name)], name)
            value = term if value is None else call(ops.ADD, [value, term], name)
    assert value is not None
    return value


_RULES: dict[str, Callable[[Node, tuple[Node, ...], Rules], Node | None]] = {
    ops.QNN_ADD: _add,
    ops.QNN_REQUANTIZE: _requantize,
    ops.QNN_AVG_POOL2D: _average,
    ops.QNN_GLOBAL_AVG_POOL2D: _mean,
}
