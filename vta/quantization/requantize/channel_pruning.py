"""Leaves out channels that are the same for every input, and channels that nothing reads.

Training leaves some: a batch normalisation whose scale went to nothing, a filter that its ReLU never lets through. What the
layers before can give, weights and biases, bounds each channel; one whose bounds round to the same integer is a constant. A
convolution that reads it adds a constant for it, which its bias takes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, with_inputs
from vta.ir.operator import lookup
from vta.ir.ops.quantized.qnn import QnnConv2DAttributes
from vta.quantization.requantize.source_layers import SourceLayer, source_layer
from vta.support.dataclass import dataclass

__all__ = ["drop_channels"]

Array = NDArray[Any]
Bools = NDArray[np.bool_]

_PRODUCTS = (ops.QNN_CONV2D, ops.QNN_DENSE)
_BY_CHANNEL = (ops.QNN_AVG_POOL2D, ops.QNN_GLOBAL_AVG_POOL2D, ops.MAX_POOL2D)
"""Operators on int8 that turn each channel into one, a constant into a constant."""
_LARGEST = 2**31 - 1


def drop_channels(graph: Graph, block: int) -> Graph:
    """Return the graph with the channels left out where that takes fewer blocks of `block` channels.

    Layers that round as our own quantiser does stay as they are: their arithmetic follows from the bounds of all weights.
    """
    layers = _layers(graph)
    if not layers:
        return graph
    bounds = _bounds(graph, layers)
    kept = _kept(graph, layers, bounds, block)
    return _rewritten(graph, layers, bounds, kept) if kept else graph


@dataclass(frozen=True, eq=False)
class _Layer(SourceLayer):
    """A layer whose output channels read all input channels, or each the one in its place."""

    @property
    def weight(self) -> Array:
        return self.stored_weight.astype(np.int64)

    @property
    def groups(self) -> int:
        """Of its channels."""
        return self.scales.groups if isinstance(self.scales, QnnConv2DAttributes) else 1

    @property
    def by_channel(self) -> bool:
        """Whether each output channel reads the input channel in its place, and no other."""
        return self.groups > 1 and self.groups == self.source.shape[1] == self.product.shape[1]

    @property
    def padded(self) -> bool:
        return isinstance(self.scales, QnnConv2DAttributes) and any(self.scales.padding)


@dataclass(frozen=True)
class _Bounds:
    """Bounds of the channels of an int8 value, (C,) each."""

    least: Array
    most: Array

    @property
    def constant(self) -> Bools:
        found: Bools = self.least == self.most
        return found


def _layers(graph: Graph) -> dict[Node, _Layer]:
    """The layers of another framework's arithmetic, by their end."""
    users = graph.users()
    found = {}
    for end in graph.calls():
        known = source_layer(end, users, graph)
        if known is None or known.product.op not in _PRODUCTS or known.bias is None:
            continue
        layer = _Layer(known.product, known.bias, known.end)
        if layer.source.dtype == "int8" and (layer.groups == 1 or layer.by_channel):
            found[end] = layer
    return found


def _bounds(graph: Graph, layers: dict[Node, _Layer]) -> dict[Node, _Bounds]:
    """Bounds of the channels of int8 values, as far as they are known."""
    found: dict[Node, _Bounds] = {}
    for node in graph.calls():
        if node in layers:
            found[node] = _layer_bounds(layers[node], found.get(layers[node].source))
        elif node.inputs and node.inputs[0] in found:
            before = found[node.inputs[0]]
            if _is_view(node):
                found[node] = before
            elif node.op in _BY_CHANNEL and before.constant.any():
                found[node] = _image_bounds(node, before)
    return found


def _layer_bounds(layer: _Layer, source: _Bounds | None) -> _Bounds:
    zero, channels = layer.scales.input_zero_point, layer.source.shape[1]
    least = (np.full(channels, -128) if source is None else source.least) - zero
    most = (np.full(channels, 127) if source is None else source.most) - zero
    if layer.padded:
        least, most = np.minimum(least, 0), np.maximum(most, 0)
    # Doubles hold all of these sums exactly, and multiply matrices fast.
    flat = layer.stored_weight.reshape(*layer.stored_weight.shape[:2], -1).astype(np.float64)
    middle, width = (most + least) / 2, (most - least) / 2
    total, size = _taps(flat), _taps(np.abs(flat))
    if layer.by_channel:
        center, spread = total[:, 0] * middle, size[:, 0] * width
    else:
        center, spread = total @ middle, size @ width
    bias = layer.stored_bias
    ends = np.stack([center - spread, center + spread]).astype(np.int64) + bias
    if np.abs(ends).max(initial=0) > _LARGEST:
        return _Bounds(np.full(len(bias), layer.rescaling.a_min), np.full(len(bias), layer.rescaling.a_max))
    image = ends.astype(np.int32).reshape(2, -1, *([1] * (len(layer.end.shape) - 2)))
    rounded = lookup(ops.QNN_REQUANTIZE).reference(layer.end.attrs, image).astype(np.int64).reshape(2, -1)
    return _Bounds(rounded[0], rounded[1])


def _taps(flat: Array) -> Array:
    """Sums of doubles over the last axis, which is short: NumPy's own takes a call for each."""
    return flat[..., 0] if flat.shape[-1] == 1 else np.asarray(flat @ np.ones(flat.shape[-1]))


def _image_bounds(node: Node, before: _Bounds) -> _Bounds:
    """Bounds after an operator on each channel: those that were constant are, and what they become is computed."""
    fill = np.where(before.constant, before.least, 0).astype(np.int8)
    image = np.broadcast_to(fill[None, :, None, None], (1, *node.inputs[0].shape[1:]))
    result = lookup(node.op).reference(node.attrs, np.ascontiguousarray(image)).reshape(len(fill), -1).astype(np.int64)
    still = before.constant & (result.min(axis=1) == result.max(axis=1))
    return _Bounds(np.where(still, result[:, 0], -128), np.where(still, result[:, 0], 127))


def _is_view(node: Node) -> bool:
    """Whether (N, C, 1, 1) becomes (N, C) or back."""
    if node.op not in (ops.RESHAPE, ops.BATCH_FLATTEN, ops.SQUEEZE):
        return False
    before, after = node.inputs[0].shape, node.shape
    return before[:2] == after[:2] and all(size == 1 for size in (*before[2:], *after[2:]))


def _kept(graph: Graph, layers: dict[Node, _Layer], bounds: dict[Node, _Bounds], block: int) -> dict[Node, Array]:
    """The channels that stay, of values that some leave."""
    inside = {node for layer in layers.values() for node in (layer.product, layer.bias)}
    needed: dict[Node, Bools] = {}
    # Values whose channels stay or go together are one group, called after its first value.
    group: dict[Node, Node] = {}
    for node in graph.nodes():
        if node.dtype != "int8" or len(node.shape) not in (2, 4):
            continue
        source = _same_channels(node, layers)
        group[node] = group.get(source, node) if source is not None else node
        # Only layers can give fewer channels.
        needed.setdefault(group[node], np.full(node.shape[1], group[node] is node and node not in layers))
    for node in graph.calls():
        if node in inside or _same_channels(node, layers) is not None:
            continue
        for source in (layers[node].source,) if node in layers else node.inputs:
            if source not in group:
                continue
            reads = _reads(layers[node], bounds.get(source)) if node in layers else True
            needed[group[source]] = needed[group[source]] | reads
    for output in graph.outputs:
        if output in group:
            needed[group[output]] = np.ones_like(needed[group[output]])
    kept: dict[Node, Array] = {}
    for node, name in group.items():
        stay = np.flatnonzero(needed[name])
        stay = stay if len(stay) else np.zeros(1, np.int64)
        if -(-len(stay) // block) < -(-len(needed[name]) // block):
            kept[node] = stay
    return kept


def _same_channels(node: Node, layers: dict[Node, _Layer]) -> Node | None:
    """The value whose channels those of `node` are, one by one."""
    if node in layers:
        return layers[node].source if layers[node].by_channel else None
    if node.is_call and (node.op in _BY_CHANNEL or _is_view(node)) and node.inputs[0].dtype == "int8":
        return node.inputs[0]
    return None


def _reads(layer: _Layer, source: _Bounds | None) -> Bools:
    """The input channels that a layer which reads all of them needs."""
    weight = layer.stored_weight != 0
    taps = weight.reshape(*weight.shape[:2], -1)
    used: Bools = taps[..., 0].any(axis=0) if taps.shape[2] == 1 else taps.any(axis=(0, 2))
    if source is None:
        return used
    taken: Bools = source.constant & (not layer.padded or source.least == layer.scales.input_zero_point)
    return used & ~taken


def _rewritten(graph: Graph, layers: dict[Node, _Layer], bounds: dict[Node, _Bounds], kept: dict[Node, Array]) -> Graph:
    inside = {node for layer in layers.values() for node in (layer.product, layer.bias)}
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        if node in inside:
            continue
        inputs = tuple(done[source] for source in node.inputs if source in done)
        if node in layers:
            layer = layers[node]
            done[node] = _narrowed(layer, done[layer.source], bounds.get(layer.source), kept)
        elif node.op == ops.RESHAPE and node in kept:
            done[node] = call(node.op, inputs, node.name, newshape=(node.shape[0], len(kept[node]), *node.shape[2:]))
        else:
            done[node] = with_inputs(node, inputs)
    return graph.rebuilt(done)


def _narrowed(layer: _Layer, source: Node, known: _Bounds | None, kept: dict[Node, Array]) -> Node:
    """A layer that reads `source`, with the channels that stay."""
    product, bias, end = layer.product, layer.bias, layer.end
    before = kept.get(layer.source)
    after = kept.get(end, np.arange(end.shape[1]))
    if source is layer.source and end not in kept:
        return end
    assert bias is not None
    if before is None and end not in kept:
        total = with_inputs(bias, (with_inputs(product, (source, product.inputs[1])), bias.inputs[1]))
        return with_inputs(end, (total,))
    weight, amount, attrs = layer.stored_weight[after], layer.stored_bias[after], layer.scales
    if layer.by_channel and isinstance(attrs, QnnConv2DAttributes):
        attrs = replace(attrs, groups=len(after))
    elif before is not None:
        stays = np.zeros(weight.shape[1], np.bool_)
        stays[before] = True
        gone = np.flatnonzero(~stays)
        if known is not None:
            values = np.where(known.constant, known.least - attrs.input_zero_point, 0)[gone]
            sums = weight[:, gone].astype(np.int64).reshape(len(weight), len(gone), -1).sum(axis=2)
            amount = amount + sums @ values
        weight = weight[:, before]
    attrs = replace(attrs, kernel_scale=_scales(attrs.kernel_scale, after))
    total = call(product.op, [source, constant(weight, product.inputs[1].name)], product.name, **vars(attrs))
    added = constant(amount.astype(np.int32), bias.inputs[1].name)
    total = call(ops.BIAS_ADD, [total, added], bias.name, **vars(bias.attrs))
    scale = _scales(layer.rescaling.input_scale, after)
    return call(ops.QNN_REQUANTIZE, [total], end.name, **vars(replace(layer.rescaling, input_scale=scale)))


def _scales(scale: Any, channels: Array) -> Any:
    """The scales of some channels."""
    return tuple(np.asarray(scale)[channels].tolist()) if isinstance(scale, tuple) else scale
