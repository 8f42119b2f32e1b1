"""Lowers activations of int8 values to integer steps, joined to the fused operator before them where nothing else reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import per_channel, rounding_constant, slope_multiplier, wrap32
from vta.ir.graph import Node, attrs_of, call, constant
from vta.ir.operator import lookup
from vta.ir.ops.quantized.activation import LEAKY_LIMIT, SWISH_LIMIT, HardSwishAttributes, LeakyReluAttributes
from vta.quantization.lowering.rescale import looked_up
from vta.quantization.requantize.piecewise_linear import Lines, lines_of
from vta.quantization.requantize.thresholds import FINAL_SHIFT

__all__ = ["lower_activation"]

Array = NDArray[Any]

_MAX_RIGHT_SHIFT = 15


def lower_activation(node: Node, inputs: tuple[Node, ...], sole: bool, hw: HardwareConfig) -> Node | None:
    """Return the steps for an activation, its inputs lowered already; None leaves it to the host.

    `sole` says that nothing else reads its first input.
    """
    if hw.capabilities.table and _is_table(node, inputs[0]):
        return _by_table(node, inputs[0], sole)
    return _RULES[node.op](node, inputs, sole, hw) if hw.acc_bits >= 32 else None


def _step(op: str, value: Node, operand: Any, name: str) -> Node:
    """A step with a constant: one value, or one for each channel, which lie along axis 1."""
    values = wrap32(np.asarray(operand, np.int64))
    if values.size and (values == values.flat[0]).all():
        values = values.flat[0]
    return call(op, [value, constant(np.asarray(per_channel(values, len(value.shape), 1)), name)], name)


def _shifted(value: Node, amount: int, name: str) -> Node:
    first = min(amount, _MAX_RIGHT_SHIFT)
    for part in (first, amount - first):
        if part:
            value = _step(ops.RIGHT_SHIFT, value, part, name)
    return value


def _narrowed(value: Node, name: str) -> Node:
    return call(ops.CAST, [call(ops.CLIP, [value], name, a_min=-128, a_max=127)], name, dtype="int8")


def _wide(data: Node, name: str) -> Node:
    return data if data.dtype == "int32" else call(ops.CAST, [data], name, dtype="int32")


def _before_cast(data: Node, sole: bool) -> Node | None:
    """The int32 value that the fused operator before narrows to `data`, where that may go on; it fits int8."""
    value = data.inputs[0] if sole and data.op == ops.CAST else None
    if value is None or value.dtype != "int32":
        return None
    shifts = value.op == ops.RIGHT_SHIFT and value.inputs[1].value is not None and (value.inputs[1].value == FINAL_SHIFT).all()
    return value if value.op == ops.CLIP or shifts else None


def _by_table(node: Node, data: Node, sole: bool) -> Node:
    """A function of one int8 value as a table, which its own reference fills."""
    every = np.arange(-128, 128, dtype=np.int8).reshape(1, 1, -1)
    entries = lookup(node.op).reference(node.attrs, every, *(side.value for side in node.inputs[1:]))
    return looked_up(data, entries.reshape(-1), sole, node.name)


def _is_table(node: Node, data: Node) -> bool:
    if data.dtype != "int8" or len(data.shape) < 2 or node.dtype != "int8" or any(side.value is None for side in node.inputs[1:]):
        return False
    return node.op != ops.QNN_LEAKY_RELU or np.size(attrs_of(node, LeakyReluAttributes).alpha) == 1


def _leaky_relu(node: Node, inputs: tuple[Node, ...], sole: bool, hw: HardwareConfig) -> Node | None:
    (data,), name, attrs = inputs, node.name, attrs_of(node, LeakyReluAttributes)
    axis = attrs.axis % len(data.shape)
    if axis != 1:
        return None
    multiplier, shift = slope_multiplier(attrs.alpha)
    steep, gentle = multiplier > np.left_shift(1, shift), multiplier < np.left_shift(1, shift)
    shifts_only = bool(np.isin(multiplier, (0, *(1 << n for n in range(15)))).all()) and multiplier.size == 1
    if data.dtype == "int32":
        value: Node | None = call(ops.CLIP, [data], name, a_min=-LEAKY_LIMIT, a_max=LEAKY_LIMIT - 1)
    else:
        value = _before_cast(data, sole) if hw.capabilities.multiply or shifts_only else None
    if steep.any() and gentle.any():
        start = _wide(data, name) if value is None else value
        below = _sloped(_step(ops.MINIMUM, start, 0, name), multiplier, shift, name)
        return _narrowed(call(ops.ADD, [_step(ops.MAXIMUM, start, 0, name), below], name), name)
    join = ops.MINIMUM if steep.any() else ops.MAXIMUM
    if not multiplier.any():
        return _narrowed(_step(ops.MAXIMUM, _wide(data, name) if value is None else value, 0, name), name)
    if value is None:
        below = _sloped(_wide(data, name), multiplier, shift, name)
        return _narrowed(call(join, [below, call(ops.CAST, [data], name, dtype="int32")], name), name)
    return _narrowed(call(join, [value, _sloped(value, multiplier, shift, name)], name), name)


def _sloped(value: Node, multiplier: Array, shift: Array, name: str) -> Node:
    """(value * multiplier + half) >> shift."""
    if (multiplier == 1).all():
        pass
    elif multiplier.size == 1 and (only := int(multiplier.item())) > 0 and only & (only - 1) == 0:
        value = _step(ops.LEFT_SHIFT, value, only.bit_length() - 1, name)
    else:
        value = _step(ops.MULTIPLY, value, multiplier, name)
    value = _step(ops.ADD, value, rounding_constant(shift, 0), name) if shift.any() else value
    return _step(ops.RIGHT_SHIFT, value, shift, name) if shift.any() else value


def _hard_swish(node: Node, inputs: tuple[Node, ...], sole: bool, hw: HardwareConfig) -> Node | None:
    (data,), name = inputs, node.name
    if not hw.capabilities.multiply:
        return None
    made = attrs_of(node, HardSwishAttributes).constants(data.dtype)
    if data.dtype == "int32":
        value = call(ops.CLIP, [data], name, a_min=-SWISH_LIMIT, a_max=SWISH_LIMIT - 1)
    else:
        value = _before_cast(data, sole) or _wide(data, name)
    share = _step(ops.ADD, _step(ops.MULTIPLY, value, made.factor, name), made.share, name)
    product = call(ops.MULTIPLY, [value, call(ops.CLIP, [share], name, a_min=0, a_max=2 * made.share)], name)
    return _narrowed(_shifted(_step(ops.ADD, product, made.term, name) if made.term else product, made.shift, name), name)


def _lookup(node: Node, inputs: tuple[Node, ...], sole: bool, hw: HardwareConfig) -> Node | None:
    (data, table), name = inputs, node.name
    found = None if table.value is None else lines_of(table.value)
    if found is None or (found.join == ops.ADD and not hw.capabilities.multiply):
        return None
    if found.join == ops.ADD:
        return _two_sides(_before_cast(data, sole) or _wide(data, name), found, name)
    # Only what starts from an int8 tensor is scaled without a multiplier.
    value = _before_cast(data, sole) if hw.capabilities.multiply else None
    first, last = found.lines[0], found.lines[-1]
    total = _step(ops.MULTIPLY, _wide(data, name) if value is None else value, first.factor, name)
    if len(found.lines) > 1:
        other = call(ops.CAST, [data], name, dtype="int32") if value is None else value
        total = _step(ops.ADD, total, first.term - last.term, name)
        total = call(found.join, [total, _step(ops.MULTIPLY, other, last.factor, name)], name)
    total = _shifted(_step(ops.ADD, total, last.term, name), found.shift, name)
    return call(ops.CAST, [call(ops.CLIP, [total], name, a_min=found.low, a_max=found.high)], name, dtype="int8")


def _two_sides(value: Node, found: Lines, name: str) -> Node:
    """Lines that each apply on one side of a value."""
    sides = []
    for limit, line in zip((ops.MINIMUM, ops.MAXIMUM), found.lines, strict=True):
        side = _step(ops.ADD, _step(ops.MULTIPLY, _step(limit, value, found.pivot, name), line.factor, name), line.term, name)
        sides.append(call(ops.CLIP, [_shifted(side, found.shift, name)], name, a_min=found.low, a_max=found.high))
    below, above = sides
    total = call(ops.ADD, [above, _step(ops.ADD, below, -found.middle, name)], name)
    return _narrowed(total, name)


_RULES: dict[str, Callable[[Node, tuple[Node, ...], bool, HardwareConfig], Node | None]] = {
    ops.QNN_LEAKY_RELU: _leaky_relu,
    ops.QNN_HARD_SWISH: _hard_swish,
    ops.QNN_LOOKUP: _lookup,
}
