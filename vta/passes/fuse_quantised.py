"""Float operators between dequantised inputs and a quantised output become operators of the quantised dialect.

That is how networks with QuantizeLinear and DequantizeLinear around float operators are meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.fixed_point import Scale
from vta.ir.graph import CONSTANT, Graph, Node, call, constant, rewrite
from vta.ir.ops.qnn import base_attributes
from vta.passes.fold_constants import fold_constants
from vta.passes.fold_lookups import lookup_of

__all__ = ["fuse_quantised"]

Array = NDArray[Any]

_MOVES = ("reshape", "transpose", "squeeze", "expand_dims", "nn.batch_flatten", "nn.max_pool2d", "nn.upsampling", "strided_slice")
_FULL = (-128, 127)


def fuse_quantised(graph: Graph) -> Graph:
    """Fuse what can be; constants that are still dequantised afterwards become floats. A float graph is returned as it is."""
    if not any(node.op.startswith("qnn.") for node in graph.calls()):
        return graph
    return fold_constants(rewrite(graph, _fused), keep=())


@dataclass(frozen=True)
class _Held:
    """An int8 (or int32) value that stands for real numbers."""

    node: Node
    scale: Scale
    zero_point: int


def _fused(node: Node) -> Node:
    if node.op != "qnn.quantize" or isinstance(node.attrs.scale, tuple) or node.attrs.out_dtype != "int8":
        return node
    body, limits = _without_activation(node.inputs[0], node)
    rule = _RULES.get(body.op) or (_moved if body.op in _MOVES else None)
    return (rule(body, node, limits) if rule else None) or lookup_of(node) or node


def _held(node: Node) -> _Held | None:
    if node.op != "qnn.dequantize":
        return None
    return _Held(node.inputs[0], node.attrs.scale, node.attrs.zero_point)


def _without_activation(value: Node, quantize: Node) -> tuple[Node, tuple[int, int]]:
    """What a relu or clip before the quantisation reads, and the levels that it leaves; others pass unchanged."""
    if value.op not in ("nn.relu", "clip"):
        return value, _FULL
    low, high = (0.0, np.inf) if value.op == "nn.relu" else value.attrs.bounds("float32")
    levels = [np.rint(bound / np.float32(quantize.attrs.scale)) + quantize.attrs.zero_point for bound in (low, high)]
    bounds = int(max(-128, min(127, levels[0]))), int(max(-128, min(127, levels[1])))
    return value.inputs[0], bounds


def _result(quantize: Node, value: Node, scale: Any, zero_point: int, limits: tuple[int, int], name: str) -> Node:
    to = quantize.attrs
    return call(
        "qnn.requantize",
        [value],
        name,
        input_scale=scale,
        input_zero_point=zero_point,
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="even",
        a_min=limits[0],
        a_max=limits[1],
    )


def _integers(node: Node) -> tuple[Array, Any] | None:
    """Constant weights as integers less their zero point, rows first, with their scales; through a transposition."""
    if node.op == "transpose" and len(node.shape) == 2:
        found = _integers(node.inputs[0])
        return None if found is None else (np.ascontiguousarray(found[0].T), found[1])
    held = _held(node)
    if held is None or held.node.value is None or held.node.dtype != "int8":
        return None
    values = held.node.value.astype(np.int16) - held.zero_point
    narrow = not values.size or (values.min() >= -128 and values.max() <= 127)
    return (values.astype(np.int8) if narrow else values), held.scale


def _bias(value: Node) -> tuple[Node, Node | None]:
    """A product and what is added to it: a constant for each channel, if there is one."""
    if value.op == "nn.bias_add" and value.attrs.axis == 1:
        return value.inputs[0], value.inputs[1]
    if value.op == "add" and value.inputs[0].op in ("nn.dense", "nn.matmul") and len(value.inputs[1].shape) == 1:
        return value.inputs[0], value.inputs[1]
    return value, None


def _bias_levels(bias: Node, scales: Any) -> Array | None:
    """Bias constants as int32 at the scale of the products."""
    held = _held(bias)
    if held is not None and held.node.value is not None and np.allclose(held.scale, scales, rtol=1e-5):
        return np.asarray(held.node.value, np.int32)
    real = held.node.value * np.asarray(held.scale) if held is not None and held.node.value is not None else bias.value
    if real is None:
        return None
    return np.clip(np.rint(real / np.asarray(scales, np.float64)), -(2**31), 2**31 - 1).astype(np.int32)


def _weighted(value: Node, quantize: Node, limits: tuple[int, int]) -> Node | None:
    product, bias = _bias(value)
    if product.op not in ("nn.conv2d", "nn.conv2d_transpose", "nn.dense", "nn.matmul"):
        return _added(value, quantize, limits)
    data = _held(product.inputs[0])
    found = _integers(product.inputs[1])
    if data is None or found is None or isinstance(data.scale, tuple) or data.node.dtype != "int8":
        return None
    weight, scale = found
    if product.op == "nn.conv2d_transpose" and isinstance(scale, tuple):
        if product.inputs[1].attrs.axis != 1:
            return None
        # A scale belongs to one output channel of each group.
        scale = scale * product.attrs.groups
    if product.op == "nn.matmul":
        if len(product.inputs[0].shape) != 2 or weight.ndim != 2:
            return None
        weight = np.ascontiguousarray(weight.T)
    products = np.float32(data.scale) * np.asarray(scale, np.float32)
    scales: Any = float(products) if products.ndim == 0 else tuple(float(item) for item in products)
    name = product.name
    attributes = {"input_scale": data.scale, "input_zero_point": data.zero_point, "kernel_scale": scale}
    op = product.op.replace("nn.", "qnn.") if "conv2d" in product.op else "qnn.dense"
    if op != "qnn.dense":
        attributes |= vars(base_attributes(product.op, product.attrs))
    result = call(op, [data.node, constant(weight, name)], name, **attributes)
    if bias is not None:
        levels = _bias_levels(bias, scales)
        if levels is None:
            return None
        result = call("nn.bias_add", [result, constant(levels, name)], name)
    return _result(quantize, result, scales, 0, limits, name)


def _added(value: Node, quantize: Node, limits: tuple[int, int]) -> Node | None:
    if value.op != "add":
        return None
    lhs, rhs = (_held(source) for source in value.inputs)
    if lhs is None or rhs is None or lhs.node.shape != rhs.node.shape or CONSTANT in (lhs.node.op, rhs.node.op):
        return None
    return call(
        "qnn.add",
        [lhs.node, rhs.node],
        value.name,
        lhs_scale=lhs.scale,
        lhs_zero_point=lhs.zero_point,
        rhs_scale=rhs.scale,
        rhs_zero_point=rhs.zero_point,
        output_scale=quantize.attrs.scale,
        output_zero_point=quantize.attrs.zero_point,
        rounding="even",
        a_min=limits[0],
        a_max=limits[1],
    )


def _mean(value: Node, quantize: Node, limits: tuple[int, int]) -> Node | None:
    data = _held(value.inputs[0])
    if data is None or isinstance(data.scale, tuple) or data.node.dtype != "int8":
        return None
    return call(
        "qnn.global_avg_pool2d",
        [data.node],
        value.name,
        input_scale=data.scale,
        input_zero_point=data.zero_point,
        output_scale=quantize.attrs.scale,
        output_zero_point=quantize.attrs.zero_point,
        rounding="even",
        a_min=limits[0],
        a_max=limits[1],
    )


def _moved(value: Node, quantize: Node, limits: tuple[int, int]) -> Node | None:
    """An operator that only moves values, or picks some, works on integers as well."""
    data = _held(value.inputs[0])
    if data is None or isinstance(data.scale, tuple) or data.node.dtype != "int8":
        return None
    moved = call(value.op, [data.node], value.name, **vars(value.attrs))
    return _rescaled(moved, data, quantize, limits, value.name)


def _padded(value: Node, quantize: Node, limits: tuple[int, int]) -> Node | None:
    """A pad with a value that is a level of the output, which has the input's scale."""
    data, to = _held(value.inputs[0]), quantize.attrs
    if data is None or data.node.dtype != "int8" or (data.scale, data.zero_point) != (to.scale, to.zero_point):
        return None
    level = np.rint(np.float32(value.attrs.pad_value) / np.float32(to.scale)) + to.zero_point
    border = int(max(-128, min(127, level)))
    padded = call("nn.pad", [data.node], value.name, pad_width=value.attrs.pad_width, pad_value=border)
    return _rescaled(padded, data, quantize, limits, value.name)


def _rescaled(node: Node, data: _Held, quantize: Node, limits: tuple[int, int], name: str) -> Node:
    """Bring values to the output's scale, where they have not got it already."""
    if (data.scale, data.zero_point) == (quantize.attrs.scale, quantize.attrs.zero_point):
        return node if limits == _FULL else call("clip", [node], name, a_min=limits[0], a_max=limits[1])
    return _result(quantize, node, data.scale, data.zero_point, limits, name)


def _alone(value: Node, quantize: Node, limits: tuple[int, int]) -> Node | None:
    """Dequantised and quantised again, perhaps with an activation between."""
    data = _held(value)
    if data is None or isinstance(data.scale, tuple) or data.node.dtype != "int8":
        return None
    return _rescaled(data.node, data, quantize, limits, quantize.name)


def _joined(value: Node, quantize: Node, limits: tuple[int, int]) -> Node | None:
    parts = [_held(source) for source in value.inputs]
    held = [part for part in parts if part is not None and not isinstance(part.scale, tuple) and part.node.dtype == "int8"]
    if len(held) != len(parts):
        return None
    rescaled = [_rescaled(part.node, part, quantize, limits, value.name) for part in held]
    return call("concatenate", rescaled, value.name, axis=value.attrs.axis)


_RULES: dict[str, Callable[[Node, Node, tuple[int, int]], Node | None]] = {
    **dict.fromkeys(("nn.conv2d", "nn.conv2d_transpose", "nn.dense", "nn.matmul", "nn.bias_add", "add"), _weighted),
    "nn.global_avg_pool2d": _mean,
    "qnn.dequantize": _alone,
    "concatenate": _joined,
    "nn.pad": _padded,
}
