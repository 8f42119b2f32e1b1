"""Chains of targets with a requantize unit: one step does what multiplying, rounding, shifting and clipping do elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import wrap32
from vta.ir.graph import Node, attrs_of, call, constant
from vta.ir.ops.quantized.rescale import MOST_SHIFT, RescaleAttributes
from vta.quantization.bounds import added_constant

__all__ = ["clipped_rescale", "looked_up", "rescaled", "shifted_once"]

Array = NDArray[Any]

_UNCHANGED = (1 << (MOST_SHIFT - 1), -1)
"""Multiplier and shift that leave a value as it is."""


def rescaled(
    value: Node,
    multiplier: Any,
    shift: Any,
    name: str,
    *,
    correction: Array | int = 0,
    table: Array | None = None,
    **attributes: Any,
) -> Node:
    """Return (value + correction) * multiplier / 2^(31 + shift) as int8; see the operator.

    What `value` adds last joins the bias.
    """
    bias = np.atleast_1d(np.asarray(correction, np.int64))
    joined = added_constant(value)
    if joined is not None:
        bias, value = bias + joined.reshape(-1).astype(np.int64), value.inputs[0]
    parameters = [constant(_parameter(given), name) for given in (bias, multiplier, shift)]
    if table is not None:
        parameters.append(constant(np.asarray(table, np.int8), name))
    return call(ops.CAST, [call(ops.RESCALE, [value, *parameters], name, **attributes)], name, dtype="int8")


def shifted_once(multiplier: Array, amount: Array) -> tuple[Array, Array] | None:
    """Multiplier and shift of the unit that make (x * multiplier + half) >> amount, or the product itself for no amount.

    None where the multiplier is too large. `amount` is at most 30, or 31 with a multiplier of 1. The unit is to round once.
    """
    wanted, right = np.broadcast_arrays(np.asarray(multiplier, np.int64), np.asarray(amount, np.int64))
    for left in (0, 1):
        raised = np.left_shift(wanted, np.maximum(MOST_SHIFT - left - right, 0))
        if (np.abs(raised) < 1 << MOST_SHIFT).all():
            return raised.reshape(-1), np.full(raised.size, -left)
    return None


def clipped_rescale(node: Node, low: int, high: int, name: str) -> Node | None:
    """The int8 value `node` clipped further, where it ends with a step of the unit; None elsewhere."""
    step = _last_step(node)
    if step is None:
        return None
    attrs = attrs_of(step, RescaleAttributes)
    if len(step.inputs) > 4:
        assert step.inputs[4].value is not None
        inputs = [*step.inputs[:4], constant(np.clip(step.inputs[4].value, low, high), name)]
        return _narrowed(call(ops.RESCALE, inputs, name, **vars(attrs)), name)
    limits = {"a_min": min(max(low, attrs.a_min), attrs.a_max), "a_max": min(max(high, attrs.a_min), attrs.a_max)}
    return _narrowed(call(ops.RESCALE, step.inputs, name, **{**vars(attrs), **limits}), name)


def looked_up(data: Node, table: Array, sole: bool, name: str) -> Node:
    """The int8 value `data` looked up in `table`: by the step that makes it, if nothing else reads it, or by one of its own."""
    step = _last_step(data) if sole else None
    if step is None or len(step.inputs) > 4:
        wide = call(ops.CAST, [data], name, dtype="int32")
        return rescaled(wide, *_UNCHANGED, name, table=table)
    entries = constant(np.asarray(table, np.int8), name)
    return _narrowed(call(ops.RESCALE, [*step.inputs, entries], name, **vars(attrs_of(step, RescaleAttributes))), name)


def _last_step(node: Node) -> Node | None:
    source = node.inputs[0] if node.op == ops.CAST and node.dtype == "int8" else None
    return source if source is not None and source.op == ops.RESCALE else None


def _narrowed(step: Node, name: str) -> Node:
    return call(ops.CAST, [step], name, dtype="int8")


def _parameter(values: Any) -> Array:
    """One value where all are the same."""
    numbers = wrap32(np.asarray(values, np.int64).reshape(-1))
    return numbers[:1] if (numbers == numbers[0]).all() else numbers
