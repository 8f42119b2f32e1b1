"""Splits weights that do not fit 8 bits among two input channels, where a block of input channels has lanes that nothing uses.

Unsigned weights less their zero point can have 9 bits, and products with what is beyond 8 bits take a second pass over all
places. Few weights of a network are so wide. Where a block has room beside the channels that they read, these are given twice:
the weight is the sum of the two that the same value is multiplied with. The layer before computes a channel twice by having its
weights twice, in lanes that would be empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, call, constant
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.shape import PadAttributes

__all__ = ["split_wide_weights"]

Ints = NDArray[np.int64]

_LEAST, _MOST = -128, 127
_RESCALE_PARAMETERS = slice(1, 4)


def split_wide_weights(graph: Graph, hw: HardwareConfig) -> Graph:
    """Return the graph with convolutions whose wide weights are split, where all that comes before can give their channels twice.

    It computes what it did. Only results that the requantize unit scales are given twice, and windows that the host makes.
    """
    if not hw.capabilities.requantize:
        return graph
    users, outputs = graph.users(), frozenset(graph.outputs)
    again: dict[Node, Ints] = {}
    for node in graph.calls():
        wide = _wide_channels(node)
        if wide is not None and 0 < len(wide) <= -node.inputs[0].shape[1] % hw.block:
            found = _given_twice(node.inputs[0], users, outputs)
            if found and not again.keys() & set(found):
                again.update(dict.fromkeys(found, wide))
    return _rewritten(graph, again) if again else graph


def _wide_channels(node: Node) -> Ints | None:
    """The input channels of a convolution with a weight that 8 bits do not hold; None if two cannot hold it or it has groups."""
    if node.op != ops.CONV2D or node.inputs[1].value is None or attrs_of(node, Conv2DAttributes).groups != 1:
        return None
    weight = node.inputs[1].value
    if weight.dtype != np.int16 or int(np.abs(weight.astype(np.int64)).max(initial=0)) > 2 * _MOST:
        return None
    return np.flatnonzero(((weight < _LEAST) | (weight > _MOST)).any(axis=(0, 2, 3)))


def _given_twice(value: Node, users: Mapping[Node, list[Node]], outputs: frozenset[Node]) -> list[Node]:
    """The values that get more channels if `value` does: itself, and those before it; empty if one of them cannot."""
    found = [value]
    while True:
        node = found[-1]
        if len(users[node]) != 1 or node in outputs:
            return []
        source = node.inputs[0] if node.is_call else None
        if node.op == ops.WINDOWS:
            return found
        if source is None:
            return []
        if node.op == ops.CONV2D:
            groups = attrs_of(node, Conv2DAttributes).groups
            if node.inputs[1].value is None or groups not in (1, node.shape[1]):
                return []
            if groups == 1:
                return found
            if source.shape[1] != groups:
                return []
        elif not _keeps_channels(node):
            return []
        found.append(source)


def _keeps_channels(node: Node) -> bool:
    """Whether a node on the way from products to the next layer works on each channel by itself, with constant parameters."""
    if node.op == ops.RESCALE:
        return all(parameter.value is not None for parameter in node.inputs[1:])
    if node.op == ops.PAD:
        return not any(map(any, attrs_of(node, PadAttributes).pad_width[:2]))
    return node.op == ops.CAST


def _rewritten(graph: Graph, again: Mapping[Node, Ints]) -> Graph:
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        inputs = [done[source] for source in node.inputs]
        changed = any(new is not old for new, old in zip(inputs, node.inputs, strict=True))
        if node in again:
            channels = np.concatenate([np.arange(node.shape[1]), again[node]])
            done[node] = _with_channels(node, inputs, channels, again)
        elif node.op == ops.CONV2D and node.inputs[0] in again:
            done[node] = _convolution(node, inputs[0], _split(node, again[node.inputs[0]]))
        else:
            done[node] = call(node.op, inputs, node.name, **vars(node.attrs)) if changed else node
    return graph.rebuilt(done)


def _with_channels(node: Node, inputs: list[Node], channels: Ints, again: Mapping[Node, Ints]) -> Node:
    """A value with these of its channels, in order; its input has them already if it is in `again`."""
    if node.op == ops.WINDOWS:
        whole = call(ops.WINDOWS, inputs, node.name, **vars(node.attrs))
        return call(ops.TAKE, [whole, constant(channels, node.name)], node.name, axis=1)
    if node.op == ops.CONV2D:
        weight = _split(node, again[node.inputs[0]]) if _is_dense(node) and node.inputs[0] in again else node.inputs[1].value
        assert weight is not None, "only constant weights are given twice"
        return _convolution(node, inputs[0], weight[channels])
    if node.op == ops.RESCALE:
        inputs[_RESCALE_PARAMETERS] = [_taken(parameter, channels) for parameter in inputs[_RESCALE_PARAMETERS]]
    return call(node.op, inputs, node.name, **vars(node.attrs))


def _is_dense(node: Node) -> bool:
    return attrs_of(node, Conv2DAttributes).groups == 1


def _taken(parameter: Node, channels: Ints) -> Node:
    """A parameter of one value, or of one for each channel."""
    assert parameter.value is not None
    return parameter if parameter.value.size == 1 else constant(parameter.value[channels], parameter.name)


def _split(node: Node, wide: Ints) -> NDArray[np.integer]:
    """The weights of a convolution, shape (O, I + k, KH, KW), with a second part of those of the channels `wide`."""
    weight = node.inputs[1].value
    assert weight is not None
    second = weight[:, wide] // 2
    # Of weights that fit, nothing is in the second part: blocks of them stay zero.
    second = np.where((weight[:, wide] < _LEAST) | (weight[:, wide] > _MOST), second, 0)
    first = weight.copy()
    first[:, wide] -= second
    return np.concatenate([first, second], axis=1).astype(np.int8)


def _convolution(node: Node, source: Node, weight: NDArray[np.integer]) -> Node:
    """The convolution with other weights; what the network needs of it stays what it was."""
    attrs = attrs_of(node, Conv2DAttributes)
    old = node.inputs[1].value
    assert old is not None
    new = replace(
        attrs,
        groups=attrs.groups if attrs.groups == 1 else source.shape[1],
        taps=attrs.taps or prod(old.shape[1:]),
        copies=attrs.copies + len(weight) - len(old),
    )
    return call(ops.CONV2D, [source, constant(weight, node.inputs[1].name)], node.name, **vars(new))
