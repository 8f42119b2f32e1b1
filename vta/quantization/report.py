"""How well a quantised graph follows the float graph, layer by layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph, Node
from vta.ir.interpreter import check_inputs, evaluate_node, walk
from vta.ir.ops.quantized.activation import HardSwishAttributes
from vta.ir.ops.quantized.qnn import QuantizeAttributes, RescaledAttributes
from vta.quantization.float.plan.quant_groups import LAYOUT_OPS
from vta.support.dataclass import dataclass

__all__ = ["LayerQuality", "signal_to_noise", "tensor_scales"]

Array = NDArray[Any]

_KEEPS_SCALE = LAYOUT_OPS | {ops.MAX_POOL2D, ops.GLOBAL_MAX_POOL2D, ops.PAD, ops.RELU, ops.CLIP, ops.CONCATENATE}


@dataclass(frozen=True)
class LayerQuality:
    """One row of the report."""

    layer: str
    op: str
    """Operator of the quantised graph that gives the layer's value."""
    scale: float
    """Real value of one step of the int8 value."""
    largest: float
    """Largest magnitude of the float value in the batch."""
    saturated: float
    """Share of the int8 values at -128, unless that stands for zero, or 127."""
    snr_db: float
    """Power of the float value over power of the difference, in decibels; infinite if there is none."""
    own_db: float
    """The same with exact inputs: what this layer and the rounding of its inputs cost, without what came before."""


def tensor_scales(graph: Graph) -> dict[Node, float]:
    """Return the scale of each int8 value of a graph in the quantised dialect, where the operators tell it."""
    return {node: scale for node, (scale, _) in _scales_and_zero_points(graph).items()}


def _scales_and_zero_points(graph: Graph) -> dict[Node, tuple[float, int]]:
    found: dict[Node, tuple[float, int]] = {}
    for node in graph.calls():
        if node.dtype != "int8":
            continue
        attrs = node.attrs
        if isinstance(attrs, RescaledAttributes):
            found[node] = attrs.output_scale, attrs.output_zero_point
        elif isinstance(attrs, HardSwishAttributes):
            found[node] = attrs.output_scale, 0
        elif isinstance(attrs, QuantizeAttributes) and isinstance(attrs.scale, float):
            found[node] = attrs.scale, attrs.zero_point
        elif node.op in _KEEPS_SCALE and node.inputs[0] in found:
            found[node] = found[node.inputs[0]]
    return found


def signal_to_noise(float_graph: Graph, int_graph: Graph, batch: Mapping[str, Array]) -> list[LayerQuality]:
    """Compare the layers of `int_graph`, in the quantised dialect, with those of the same name in `float_graph`, on one batch.

    A layer's value is that of the last node with its name; layers that are within a quant group have no row.
    """
    scales = _scales_and_zero_points(int_graph)
    users = int_graph.users()
    ends = {node.name: node for node in scales if not _continues(node, users[node])}
    wanted = {node: node.name for node in ends.values()}
    integers = {wanted[node]: value for node, value in walk(int_graph, batch) if node in wanted}
    last = {node.name: node for node in float_graph.calls() if node.name in ends}
    float_users = float_graph.users()
    compared = {name: _with_bias(node, float_users) for name, node in last.items()}
    wanted_reals = set(compared.values())
    values = {node: value for node, value in walk(float_graph, batch) if node in wanted_reals}
    reals = {name: values[node] for name, node in compared.items() if node.shape == ends[name].shape}
    alone = _on_exact_inputs(int_graph, batch, {ends[name]: (value, scales[ends[name]]) for name, value in reals.items()})
    return [
        _quality(node, scales[node], integers[name], reals[name], alone[node]) for name, node in ends.items() if name in reals
    ]


def _on_exact_inputs(
    graph: Graph, batch: Mapping[str, Array], exact: Mapping[Node, tuple[Array, tuple[float, int]]]
) -> dict[Node, Array]:
    """The values of the nodes in `exact`, each from exact inputs: those are given, with the scale that they are rounded to."""
    given = check_inputs(graph, batch)
    values: dict[Node, Array] = {}
    found: dict[Node, Array] = {}
    for node in graph.nodes():
        if node.op == ops.INPUT:
            values[node] = given[node]
        elif node.op == ops.CONSTANT:
            assert node.value is not None
            values[node] = node.value
        else:
            values[node] = evaluate_node(node, [values[source] for source in node.inputs])
        if node in exact:
            found[node] = values[node]
            real, (scale, zero_point) = exact[node]
            values[node] = np.clip(np.floor(real / scale + 0.5) + zero_point, -128, 127).astype(np.int8)
    return found


def _continues(node: Node, users: Iterable[Node]) -> bool:
    """Whether only a fused activation reads the value."""
    readers = list(users)
    return bool(readers) and all(user.op in (ops.CLIP, ops.RELU) for user in readers)


def _with_bias(node: Node, users: Mapping[Node, Iterable[Node]]) -> Node:
    """The sum of a layer and its bias, which may have another name, as that of a batch norm; the node itself if it has none."""
    readers = list(users[node])
    return readers[0] if len(readers) == 1 and readers[0].op == ops.BIAS_ADD else node


def _quality(node: Node, levels: tuple[float, int], integers: Array, reals: Array, alone: Array) -> LayerQuality:
    (scale, zero_point), signal = levels, reals.astype(np.float64)
    ends = (integers == 127) | ((integers == -128) & (zero_point > -128))
    largest = float(np.abs(signal).max(initial=0.0))
    ratios = [decibels(signal, (values.astype(np.int64) - zero_point) * scale) for values in (integers, alone)]
    return LayerQuality(node.name, node.op, scale, largest, float(ends.mean()), *ratios)
