"""Int8 values with the scale and zero point that they stand for, and the integer operators on them."""

from __future__ import annotations

import math

import numpy as np

from vta.errors import CompileError
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import round_half_up, slope_multiplier
from vta.ir.graph import Node, attrs_of, call, topological
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.quantized.activation import SWISH_LIMIT
from vta.passes.folding.fold_lookups import lookup_of
from vta.quantization.float.plan.functions import Function
from vta.support.dataclass import dataclass

__all__ = ["Levels", "clipped", "dequantized", "hard_swish", "is_shift", "level_of", "narrowed", "rebuilt", "table_of"]

_LARGEST_LEVEL = 127


@dataclass(frozen=True)
class Levels:
    """An int8 value that stands for itself, less its zero point, times `scale`."""

    node: Node
    scale: float
    zero_point: int = 0


def hard_swish(function: Function, source: Levels, scale: float) -> Node | None:
    """The integer operator for a hard swish with what is done to it; None for other functions, or where no integers do it."""
    if function.swish is None:
        return None
    factor, offset = function.swish
    scales_of = {"input_scale": source.scale, "output_scale": scale}
    try:
        return call(ops.QNN_HARD_SWISH, [source.node], function.result.name, **scales_of, factor=factor, offset=offset)
    except CompileError:
        return None


def narrowed(source: Levels) -> Levels:
    """The tensor as int8."""
    if source.node.dtype == "int8":
        return source
    scale = source.scale * SWISH_LIMIT / 128
    scales_of = {"input_scale": source.scale, "output_scale": scale, "bound": SWISH_LIMIT * 128}
    return Levels(call(ops.QNN_REQUANTIZE, [source.node], source.node.name, **scales_of), scale)


def table_of(function: Function, source: Levels, scale: float) -> Node:
    """The table of a function of an int8 value, whose results have `scale`."""
    name = function.result.name
    done = {function.root: call(ops.QNN_DEQUANTIZE, [source.node], name, scale=source.scale)}
    for part in topological([function.result]):
        if part in function.nodes:
            done[part] = rebuilt(part, [done.get(operand, operand) for operand in part.inputs])
    table = lookup_of(call(ops.QNN_QUANTIZE, [done[function.result]], name, scale=scale))
    assert table is not None, f"{name}: a function of one value has a table"
    return table


def is_shift(slope: float) -> bool:
    """Whether the slope of a rectifier is 0 or a power of two from 1 down."""
    multiplier, _ = slope_multiplier(slope)
    return 0 <= slope <= 1 and int(multiplier) in (0, 1)


def rebuilt(node: Node, inputs: list[Node]) -> Node:
    """The same operator on other inputs."""
    if all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        return node
    return call(node.op, inputs, node.name, **vars(node.attrs))


def clipped(node: Node, value: Node, scale: float, zero_point: int) -> Node:
    """An activation that only clips, on int8."""
    attrs = ClipAttributes(a_min=0, a_max=np.inf) if node.op == ops.RELU else attrs_of(node, ClipAttributes)
    levels = [np.floor(bound / scale + 0.5) + zero_point for bound in (attrs.a_min, attrs.a_max)]
    bounds = [int(np.clip(level, -128, 127)) for level in levels]
    return call(ops.CLIP, [value], node.name, a_min=bounds[0], a_max=bounds[1])


def level_of(value: float, tensor: Levels) -> int | None:
    """The level of a tensor that stands for a value; None beyond those that int8 has."""
    if not math.isfinite(value):
        return None
    level = int(round_half_up(value / tensor.scale)) + tensor.zero_point
    return level if tensor.zero_point - _LARGEST_LEVEL <= level <= _LARGEST_LEVEL and level >= -128 else None


def dequantized(tensor: Levels, name: str) -> Node:
    """The tensor as real numbers."""
    return call(ops.QNN_DEQUANTIZE, [tensor.node], name, scale=tensor.scale, zero_point=tensor.zero_point)
