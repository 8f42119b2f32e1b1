"""Lowers the quantised dialect to the integer operators that VTA has.

Every layer becomes a fused operator: anchor -> int32 steps -> clip -> cast(int8). What an operator adds, the rounding constant
and the zero points end up in one addition. docs/arithmetic.md shows each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.files.second_process import Postponed, SecondProcess
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import (
    add_multipliers,
    multiplier_and_shift,
    per_channel,
    residual_multiplier,
    rounding_constant,
    wrap32,
)
from vta.ir.diagnostics import Diagnostics
from vta.ir.graph import Graph, Node, attrs_of, call, constant, graph_input, rewrite
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.nn.conv import Conv2DAttributes, Conv2DTransposeAttributes, phase_sums, transposed_weight
from vta.ir.ops.nn.norm import AxisAttributes
from vta.ir.ops.nn.pool import AvgPool2DAttributes, SumPool2DAttributes
from vta.ir.ops.quantized.qnn import (
    AddAttributes,
    MeanAttributes,
    ProductAttributes,
    QnnAvgPool2DAttributes,
    RequantizeAttributes,
    RescaledAttributes,
    base_attributes,
    uniform_window,
)
from vta.quantization.bounds import accumulator_bound, added_constant, residual_bound
from vta.quantization.lowering.rescale import clipped_rescale, rescaled, shifted_once
from vta.quantization.lowering.tflite import Rules, lower_tflite

__all__ = ["lower", "with_bounds"]

Array = NDArray[Any]

_WORTH_SPLITTING = 4
"""Operators that rescale, from which on a second process is worth its start."""
_MAX_RIGHT_SHIFT = 15
"""Largest amount of one right shift; a longer one takes two steps."""


def with_bounds(graph: Graph) -> Graph:
    """Give each qnn.requantize and qnn.add of an accumulator that has none the bound that decides its multiplier."""

    def change(node: Node) -> Node:
        attrs = node.attrs
        if not isinstance(attrs, RequantizeAttributes | AddAttributes) or attrs.rounding != "up" or attrs.bound != 0:
            return node
        if isinstance(attrs, RequantizeAttributes):
            bound = accumulator_bound(node.inputs[0]) + abs(attrs.input_zero_point)
        elif node.inputs[0].dtype == "int32":
            bound = residual_bound(node.inputs[0], attrs.rhs_scale, attrs.lhs_scale, attrs.rhs_zero_point)
            bound += abs(attrs.lhs_zero_point)
        else:
            return node
        return replace(node, attrs=replace(attrs, bound=max(bound, 1)))

    return rewrite(graph, change)


def lower(graph: Graph, hw: HardwareConfig, diagnostics: Diagnostics | None = None, *, close: bool = False) -> Graph:
    """Return the graph with integer operators only, besides qnn operators that stay on the host (quantise, dequantise, softmax).

    It computes what ``with_bounds(graph)`` computes, bit for bit; operators with another framework's rounding, but for the layers
    that `diagnostics` are told of: few, unless results within 1 of the exact ones do (`close`). Where the ratio of scales is no
    power of two there is a multiply; a target without one can run only what comes before it.
    """
    can = hw.capabilities
    rules = Rules(can.multiply, can.requantize, close, Diagnostics() if diagnostics is None else diagnostics)
    bounded = with_bounds(graph)
    users = bounded.users()
    done: dict[Node, Node] = {}
    rescaled_nodes = sum(isinstance(node.attrs, RescaledAttributes) for node in bounded.nodes())
    with SecondProcess(rescaled_nodes >= _WORTH_SPLITTING, hands_on=True):
        for node in bounded.nodes():
            inputs = tuple(done[source] for source in node.inputs)
            sole = bool(node.inputs) and len(users[node.inputs[0]]) == 1 and node.inputs[0] not in bounded.outputs
            try:
                done[node] = _lower_node(node, inputs, sole, hw, rules)
            except Postponed:
                done[node] = graph_input(node.name, node.shape, node.dtype)
    return bounded.rebuilt(done)


def _lower_node(node: Node, inputs: tuple[Node, ...], sole: bool, hw: HardwareConfig, rules: Rules) -> Node:
    """Lower one node, its inputs already lowered; `sole` says that nothing else reads its first input."""
    if node.op == ops.QNN_CONV2D:
        return _conv2d(node, inputs, hw)
    if node.op in (ops.QNN_LEAKY_RELU, ops.QNN_HARD_SWISH, ops.QNN_LOOKUP):
        from vta.quantization.lowering.activations import lower_activation

        lowered = lower_activation(node, inputs, sole, hw)
        return replace(node, inputs=inputs) if lowered is None else lowered
    ended, rule = _ENDED_RULES.get(node.op), _RULES.get(node.op)
    if isinstance(node.attrs, RescaledAttributes) and node.attrs.rounding != "up":
        lowered = lower_tflite(node, inputs, rules)
        if lowered is not None:
            return lowered
    elif ended is not None:
        return ended(node, inputs, rules.requantizes)
    elif rule is not None:
        return rule(node, inputs)
    if node.op in (ops.RELU, ops.CLIP) and node.dtype == "int8" and sole:
        merged = _merged_clip(node, inputs[0])
        if merged is not None:
            return merged
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return node
    return replace(node, inputs=inputs)


def _merged_clip(node: Node, source: Node) -> Node | None:
    """Join a clip of int8 values with the clip that ends the fused operator before it."""
    low, high = (0, 127) if node.op == ops.RELU else attrs_of(node, ClipAttributes).bounds("int8")
    if source.op != ops.CAST or source.inputs[0].op != ops.CLIP:
        return clipped_rescale(source, int(low), int(high), node.name)
    before = attrs_of(source.inputs[0], ClipAttributes)
    low, high = (min(max(bound, int(before.a_min)), int(before.a_max)) for bound in (low, high))
    return call(ops.CAST, [call(ops.CLIP, source.inputs[0].inputs, node.name, a_min=low, a_max=high)], node.name, dtype="int8")


def _step(op: str, value: Node, operand: Array, name: str) -> Node:
    return call(op, [value, constant(np.asarray(operand, np.int32), name)], name)


def _channels(values: Any, rank: int, axis: int = 1) -> Array:
    """A scalar if all channels agree, else one value for each, shaped to broadcast."""
    array = np.asarray(values)
    if array.size and (array == array.flat[0]).all():
        return np.asarray(array.flat[0])
    return per_channel(array, rank, axis)


def _wide(node: Node) -> Node:
    return node if node.dtype == "int32" else _cast(node, node.name)


def _add_constant(value: Node, amount: Array, name: str) -> Node:
    """Add `amount` (int64, taken modulo 2^32), joining it with a constant that `value` already adds."""
    total = wrap32(np.asarray(amount, np.int64))
    if not total.any():
        return value
    joined = added_constant(value)
    if joined is not None:
        total = wrap32(joined.astype(np.int64) + total)
        value, name = value.inputs[0], value.name
    return _step(ops.ADD, value, _shaped(total, len(value.shape)), name)


def _shaped(values: Array, rank: int) -> Array:
    """Channel values with the rank of the tensor, or a scalar if they agree."""
    return values.reshape(()) if values.size == 1 else values.reshape((1,) * (rank - values.ndim) + values.shape)


def _scaled(value: Node, multiplier: Array, name: str) -> Node:
    """Multiply by integers: by nothing if all are 1, by a left shift if all are powers of two."""
    if (multiplier == 1).all():
        return value
    if (multiplier <= 0).any():
        return _step(ops.MULTIPLY, value, multiplier, name)
    logs = np.asarray([int(m).bit_length() - 1 for m in multiplier.flat], np.int64).reshape(multiplier.shape)
    if (np.left_shift(1, logs) == multiplier).all() and logs.max(initial=0) <= _MAX_RIGHT_SHIFT:
        return _step(ops.LEFT_SHIFT, value, logs, name)
    return _step(ops.MULTIPLY, value, multiplier, name)


def _shifted(value: Node, shift: Array, name: str) -> Node:
    """Shift right, in two steps where one is too short; a floor of a floor is the floor of the whole."""
    first = np.minimum(shift, _MAX_RIGHT_SHIFT)
    for amount in (first, shift - first):
        if amount.any():
            value = _step(ops.RIGHT_SHIFT, value, amount, name)
    return value


def _narrowed(value: Node, name: str, dtype: str) -> Node:
    if dtype == "int32":
        return value
    return call(ops.CAST, [call(ops.CLIP, [value], name, a_min=-128, a_max=127)], name, dtype="int8")


def _rescaled(
    node: Node, value: Node, ratio: Any, bound: int, unit: bool, *, correction: Array | int, tensor: Node | None = None
) -> Node:
    """The end of a fused operator: (value + tensor + correction) * ratio + zero point, rounded, clipped, narrowed.

    `unit`: the target has a requantize unit.
    """
    attrs, rank = attrs_of(node, RescaledAttributes), len(value.shape)
    axis, dtype = (attrs.axis, attrs.out_dtype) if isinstance(attrs, RequantizeAttributes | AddAttributes) else (1, "int8")
    zero_point = attrs.output_zero_point
    multiplier, shift = (_channels(part, rank, axis) for part in multiplier_and_shift(ratio, bound, abs(zero_point)))
    added = np.asarray(correction, np.int64)
    joined = added_constant(value)
    if joined is not None:
        added, value = added + joined.astype(np.int64), value.inputs[0]
    parameters = shifted_once(multiplier, shift) if unit and dtype == "int8" else None
    if parameters is not None:
        total = value if tensor is None else call(ops.ADD, [value, tensor], node.name)
        return rescaled(total, *parameters, node.name, correction=added.reshape(-1), once=True, zero_point=zero_point)
    amount = added * multiplier + rounding_constant(shift, zero_point)
    if (multiplier == 1).all():
        value = _add_constant(value, amount, node.name)
        value = value if tensor is None else call(ops.ADD, [value, tensor], node.name)
    else:
        value = value if tensor is None else call(ops.ADD, [value, tensor], node.name)
        value = _add_constant(_scaled(value, multiplier, node.name), amount, node.name)
    return _narrowed(_shifted(value, shift, node.name), node.name, dtype)


def _conv2d(node: Node, inputs: tuple[Node, ...], hw: HardwareConfig) -> Node:
    data, weight = inputs
    attrs = base_attributes(Conv2DAttributes, node.attrs)
    zero_point = attrs_of(node, ProductAttributes).input_zero_point
    if zero_point != 0 and any(attrs.padding):
        top, left, bottom, right = attrs.padding
        widths = ((0, 0), (0, 0), (top, bottom), (left, right))
        data = call(ops.PAD, [data], node.name, pad_width=widths, pad_value=zero_point)
        attrs = replace(attrs, padding=(0, 0, 0, 0))
    if hw.capabilities.multiply and _is_scaling(attrs, data, weight):
        assert weight.value is not None
        factors = _shaped(weight.value.astype(np.int64).reshape(1, -1, 1, 1), 4)
        result = _step(ops.MULTIPLY, _cast(data, node.name), factors, node.name)
    else:
        result = call(ops.CONV2D, [data, weight], node.name, **vars(attrs))
    return _less_zero_point(result, weight, zero_point, node.name)


def _conv2d_transpose(node: Node, inputs: tuple[Node, ...]) -> Node:
    attrs = base_attributes(Conv2DTransposeAttributes, node.attrs)
    zero_point = attrs_of(node, ProductAttributes).input_zero_point
    data, weight = inputs
    if zero_point == 0:
        return call(ops.CONV2D_TRANSPOSE, inputs, node.name, **vars(attrs))
    if weight.value is None:
        return replace(node, inputs=inputs)
    # Where the input ends outputs meet fewer weights. With zero points around it they all meet those of their phase.
    border = _border(attrs, node)
    if any(border):
        top, left, bottom, right = border
        data = call(ops.PAD, [data], node.name, pad_width=((0, 0), (0, 0), (top, bottom), (left, right)), pad_value=zero_point)
        (above, before, below, after), (down, across) = attrs.padding, attrs.strides
        cut = above + top * down, before + left * across, below + bottom * down, after + right * across
        attrs = replace(attrs, padding=cut)
    positions = transposed_weight(weight.value.astype(np.int64), attrs.groups).sum(axis=1)[:, ::-1, ::-1]
    offsets = -zero_point * phase_sums(positions, attrs)
    if (offsets == offsets[:, :1, :1]).all():
        result = call(ops.CONV2D_TRANSPOSE, [data, weight], node.name, **vars(attrs))
        return _add_constant(result, per_channel(offsets[:, 0, 0], 4, 1), node.name)
    return call(ops.CONV2D_TRANSPOSE, [data, weight, constant(wrap32(offsets), node.name)], node.name, **vars(attrs))


def _border(attrs: Conv2DTransposeAttributes, node: Node) -> tuple[int, int, int, int]:
    """Rows and columns around the input of a transposed convolution at which outputs look: top, left, bottom, right."""
    before, after = [], []
    for axis in (0, 1):
        reach, stride = (node.inputs[1].shape[2 + axis] - 1) * attrs.dilation[axis], attrs.strides[axis]
        first = reach - attrs.padding[axis]
        last = (node.shape[2 + axis] - 1 + attrs.padding[axis]) // stride
        before.append(max(0, first // stride))
        after.append(max(0, last - node.inputs[0].shape[2 + axis] + 1))
    return before[0], before[1], after[0], after[1]


def _is_scaling(attrs: Conv2DAttributes, data: Node, weight: Node) -> bool:
    """Whether a convolution only multiplies each channel by a constant, which the ALU does too."""
    return (
        weight.value is not None
        and weight.shape == (data.shape[1], 1, 1, 1)
        and attrs.groups == data.shape[1]
        and attrs.strides == (1, 1)
        and not any(attrs.padding)
    )


def _cast(node: Node, name: str) -> Node:
    return call(ops.CAST, [node], name, dtype="int32")


def _less_zero_point(result: Node, weight: Node, zero_point: int, name: str) -> Node:
    """Take off what the input's zero point added to each channel."""
    if zero_point == 0:
        return result
    if weight.value is None:
        raise ValueError(f"{name}: an input zero point needs constant weights")
    sums = weight.value.astype(np.int64).sum(axis=tuple(range(1, weight.value.ndim)))
    return _add_constant(result, per_channel(-zero_point * sums, len(result.shape), 1), name)


def _dense(node: Node, inputs: tuple[Node, ...]) -> Node:
    product = call(ops.DENSE, inputs, node.name)
    return _less_zero_point(product, inputs[1], attrs_of(node, ProductAttributes).input_zero_point, node.name)


def _bias_add(node: Node, inputs: tuple[Node, ...]) -> Node:
    value, bias = inputs
    if node.dtype != "int32" or bias.value is None:
        return replace(node, inputs=inputs)
    axis = attrs_of(node, AxisAttributes).axis
    return _add_constant(value, per_channel(bias.value.astype(np.int64), len(node.shape), axis), node.name)


def _requantize(node: Node, inputs: tuple[Node, ...], unit: bool) -> Node:
    attrs = attrs_of(node, RequantizeAttributes)
    ratio = np.asarray(attrs.input_scale, np.float64) / attrs.output_scale
    return _rescaled(node, _wide(inputs[0]), ratio, attrs.bound, unit, correction=-attrs.input_zero_point)


def _add(node: Node, inputs: tuple[Node, ...], unit: bool) -> Node:
    attrs, (lhs, rhs), name = attrs_of(node, AddAttributes), inputs, node.name
    tensor = _cast(rhs, name)
    if lhs.dtype == "int32":
        multiplier = _channels(residual_multiplier(attrs.rhs_scale, attrs.lhs_scale), len(node.shape), attrs.axis)
        correction = -attrs.lhs_zero_point - attrs.rhs_zero_point * multiplier
        ratio = np.asarray(attrs.lhs_scale, np.float64) / attrs.output_scale
        scaled = _scaled(tensor, multiplier, name)
        return _rescaled(node, lhs, ratio, attrs.bound, unit, correction=correction, tensor=scaled)
    assert not isinstance(attrs.lhs_scale, tuple)
    ml, mr, shift = add_multipliers(attrs.lhs_scale / attrs.output_scale, attrs.rhs_scale / attrs.output_scale)
    scaled = _scaled(_cast(lhs, name), np.asarray(ml), name)
    amounts = np.asarray(shift, np.int64)
    parameters = shifted_once(np.ones(1, np.int64), amounts) if unit and attrs.out_dtype == "int8" else None
    if parameters is not None:
        total = call(ops.ADD, [scaled, _scaled(tensor, np.asarray(mr), name)], name)
        offset = np.asarray(-attrs.lhs_zero_point * ml - attrs.rhs_zero_point * mr)
        return rescaled(total, *parameters, name, correction=offset, once=True, zero_point=attrs.output_zero_point)
    constant_term = rounding_constant(amounts, attrs.output_zero_point) - attrs.lhs_zero_point * ml - attrs.rhs_zero_point * mr
    total = call(ops.ADD, [_add_constant(scaled, constant_term, name), _scaled(tensor, np.asarray(mr), name)], name)
    return _narrowed(_shifted(total, amounts, name), name, attrs.out_dtype)


def _avg_pool2d(node: Node, inputs: tuple[Node, ...], unit: bool) -> Node:
    attrs = attrs_of(node, QnnAvgPool2DAttributes)
    if not uniform_window(attrs, node.inputs[0].shape):
        real = call(ops.QNN_DEQUANTIZE, inputs, node.name, scale=attrs.input_scale, zero_point=attrs.input_zero_point)
        pooled = call(ops.AVG_POOL2D, [real], node.name, **vars(base_attributes(AvgPool2DAttributes, attrs)))
        return call(ops.QNN_QUANTIZE, [pooled], node.name, scale=attrs.output_scale, zero_point=attrs.output_zero_point)
    return _average(node, inputs[0], vars(base_attributes(SumPool2DAttributes, attrs)), unit)


def _global_avg_pool2d(node: Node, inputs: tuple[Node, ...], unit: bool) -> Node:
    return _average(node, inputs[0], {"pool_size": node.inputs[0].shape[2:]}, unit)


def _average(node: Node, data: Node, geometry: dict[str, Any], unit: bool) -> Node:
    attrs = attrs_of(node, MeanAttributes)
    sums = call(ops.SUM_POOL2D, [data], node.name, **geometry)
    count = geometry["pool_size"][0] * geometry["pool_size"][1]
    ratio = np.float64(attrs.input_scale / (attrs.output_scale * count))
    bound = count * (128 + abs(attrs.input_zero_point))
    return _rescaled(node, sums, ratio, bound, unit, correction=-count * attrs.input_zero_point)


_RULES: dict[str, Callable[[Node, tuple[Node, ...]], Node]] = {
    ops.QNN_CONV2D_TRANSPOSE: _conv2d_transpose,
    ops.QNN_DENSE: _dense,
    ops.BIAS_ADD: _bias_add,
}
_ENDED_RULES: dict[str, Callable[[Node, tuple[Node, ...], bool], Node]] = {
    ops.QNN_REQUANTIZE: _requantize,
    ops.QNN_ADD: _add,
    ops.QNN_AVG_POOL2D: _avg_pool2d,
    ops.QNN_GLOBAL_AVG_POOL2D: _global_avg_pool2d,
}
