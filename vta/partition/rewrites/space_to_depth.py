"""Makes images of few channels fill their blocks: neighbouring columns become channels.

A block of output channels has 16 lanes. Where an image has 8 channels, half of what GEMM and ALU do for it is lost. If its
columns 2j and 2j + 1 are stored as channels of column j, there are half as many rows to work on. A convolution of such an image
is one with other weights: output column and input column within their blocks pick the kernel's column. A convolution of stride
2 has the next image whole again, so that only layers up to that one change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, call, constant, with_inputs
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.shape import PadAttributes
from vta.isa.instruction import DEPTHWISE_TAPS
from vta.partition.fused.find import find_fused_operators
from vta.partition.fused.fused_operator import FusedOperator
from vta.partition.fused.support_rules import broken_rule

__all__ = ["fold_columns"]

_IMAGE_RANK = 4
_RESCALE_INPUTS = 4
"""Without a table."""


def fold_columns(graph: Graph, hw: HardwareConfig) -> Graph:
    """Return the graph with images of at most half a block of channels stored with their columns as channels, where all that
    read them can. It computes what it did.
    """
    narrow = [node for node in graph.calls() if _is_image(node) and 2 * node.shape[1] <= hw.block]
    if not narrow:
        return graph
    found, _ = find_fused_operators(graph)
    fused_operators = {
        fused.unpadded: fused for fused in found.values() if broken_rule(fused, hw) is None and _may_fold(fused, hw)
    }
    users = graph.users()
    folds: dict[Node, int] = {}
    for node in narrow:
        if node not in fused_operators or node in folds:
            continue
        factor = 2
        while 2 * factor * node.shape[1] <= hw.block:
            factor *= 2
        while factor > 1:
            more = dict(folds)
            if _folded_from(node, factor, fused_operators, users, set(graph.outputs), more):
                folds = more
                break
            factor //= 2
    return _rewritten(graph, fused_operators.values(), folds) if folds else graph


def _is_image(node: Node) -> bool:
    return node.op == ops.CAST and node.dtype == "int8" and len(node.shape) == _IMAGE_RANK


def _may_fold(fused: FusedOperator, hw: HardwareConfig) -> bool:
    """Whether a fused operator is a convolution of one image with constant steps.

    One that DEPTHWISE computes takes fewer products as it is.
    """
    root = fused.anchor
    if root.op != ops.CONV2D or len(fused.sources) != 1 or not _is_image(fused.unpadded):
        return False
    if any(fused.sources[0] in node.inputs for node in fused.nodes if node is not root):
        return False  # A sum with the image itself is of two images that may be stored each in its own way.
    groups, channels = attrs_of(root, Conv2DAttributes).groups, root.inputs[0].shape[1]
    depthwise = groups == channels == root.shape[1]
    return groups == 1 or (depthwise and not (hw.capabilities.depthwise and root.inputs[1].shape[3] == DEPTHWISE_TAPS))


def _folded_from(
    first: Node,
    factor: int,
    fused_operators: dict[Node, FusedOperator],
    users: dict[Node, list[Node]],
    outputs: set[Node],
    folds: dict[Node, int],
) -> bool:
    """Enter the image `first` and those after it that must fold with it into `folds`; returns whether all can."""
    roots = {fused.anchor: result for result, fused in fused_operators.items()}
    pending = [(first, factor)]
    while pending:
        node, factor = pending.pop()
        if node in folds:
            if folds[node] != factor:
                return False
            continue
        if node not in fused_operators or node in outputs or node.shape[3] % factor:
            return False
        root = fused_operators[node].anchor
        before = folds.get(_unpadded(root.inputs[0]), 1)
        if (attrs_of(root, Conv2DAttributes).strides[1] * factor) % before or not _fits(fused_operators[node], before, factor):
            return False
        folds[node] = factor
        results = _results_after(node, factor, fused_operators, users, outputs, roots)
        if not results:
            return False
        for result, after in results:
            if after > 1:
                pending.append((result, after))
            elif folds.get(result, 1) != 1:
                return False
    return True


def _results_after(
    node: Node,
    factor: int,
    fused_operators: dict[Node, FusedOperator],
    users: dict[Node, list[Node]],
    outputs: set[Node],
    roots: dict[Node, Node],
) -> list[tuple[Node, int]]:
    """The images made of `node`, folded by `factor`, and how they are folded then; empty if something cannot read it so."""
    readers = list(users[node])
    if len(readers) == 1 and readers[0].op == ops.PAD:
        pad = readers[0]
        readers = users[pad]
        if pad in outputs or len(readers) != 1 or any(map(any, attrs_of(pad, PadAttributes).pad_width[:2])):
            return []
    results = []
    for reader in readers:
        result = roots.get(reader)
        if result is None:
            return []
        stride = attrs_of(reader, Conv2DAttributes).strides[1]
        after = max(1, factor // stride)
        if (stride * after) % factor or not _fits(fused_operators[result], factor, after):
            return []
        results.append((result, after))
    return results


def _fits(fused: FusedOperator, before: int, after: int) -> bool:
    root = fused.anchor
    mixed = root.inputs[0].op == ops.PAD and (
        attrs_of(root, Conv2DAttributes).padding[1] or attrs_of(root, Conv2DAttributes).padding[3]
    )
    return not mixed and root.shape[3] % after == 0 and _geometry(root, before, after) is not None


def _geometry(root: Node, before: int, after: int) -> tuple[int, int, int, int, int] | None:
    """Of a convolution between images folded by `before` and `after`: stride, kernel columns, padding left and right in
    folded columns, and how far the first column of the kernel is into the first block. None if its output has other columns.
    """
    attrs, kernel = attrs_of(root, Conv2DAttributes), root.inputs[1].shape[3]
    left = _left_padding(root)
    width = _unpadded(root.inputs[0]).shape[3]
    stride = attrs.strides[1] * after // before
    blocks_left = -(-left // before)
    shift = blocks_left * before - left
    reach = attrs.strides[1] * (after - 1) + (kernel - 1) * attrs.dilation[1] + shift
    columns = reach // before + 1
    need = stride * (root.shape[3] // after - 1) + columns - width // before - blocks_left
    if need < 0 and (-need) // stride > 0:
        return None
    return stride, columns, blocks_left, max(need, 0), shift


def _left_padding(root: Node) -> int:
    """Columns left of the image that a convolution reads, its own zeros or those of the pad before it."""
    own = attrs_of(root, Conv2DAttributes).padding[1]
    return attrs_of(root.inputs[0], PadAttributes).pad_width[3][0] if root.inputs[0].op == ops.PAD else own


def _unpadded(node: Node) -> Node:
    return node.inputs[0] if node.op == ops.PAD else node


def _rewritten(graph: Graph, fused_operators: Iterable[FusedOperator], folds: dict[Node, int]) -> Graph:
    roots: dict[Node, tuple[int, int]] = {}
    factors: dict[Node, int] = {}
    for fused in fused_operators:
        before, after = folds.get(_unpadded(fused.anchor.inputs[0]), 1), folds.get(fused.unpadded, 1)
        if before * after > 1:
            roots[fused.anchor] = before, after
            factors.update({node: after for node in fused.nodes if node.dtype == "int32" or node is fused.unpadded})
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        if node in roots:
            source = done[_unpadded(node.inputs[0])]
            done[node] = _convolution(node, source, *roots[node])
        elif node in factors and node.op != ops.CONSTANT:
            inputs = [_tiled(source, factors[node]) if source in _by_channel(node) else done[source] for source in node.inputs]
            done[node] = with_inputs(node, tuple(inputs))
        else:
            done[node] = with_inputs(node, tuple([done[source] for source in node.inputs]))
    return graph.rebuilt(done)


def _by_channel(node: Node) -> tuple[Node, ...]:
    """The constants of a step that may have a value for each channel; a table has none."""
    inputs = node.inputs[:_RESCALE_INPUTS] if node.op == ops.RESCALE else node.inputs
    return tuple(source for source in inputs if source.op == ops.CONSTANT)


def _tiled(node: Node, factor: int) -> Node:
    """A constant with one value for each channel, for channels that hold several columns."""
    assert node.value is not None
    if factor == 1 or node.value.size == 1:
        return node
    axis = int(np.argmax(node.value.shape))
    repeats = [factor if position == axis else 1 for position in range(node.value.ndim)]
    return constant(np.tile(node.value, repeats), node.name)


def _convolution(root: Node, source: Node, before: int, after: int) -> Node:
    """The convolution between folded images; channel p * C + c holds column p of channel c."""
    geometry = _geometry(root, before, after)
    assert geometry is not None
    stride, columns, left, right, shift = geometry
    attrs, weight = attrs_of(root, Conv2DAttributes), root.inputs[1].value
    assert weight is not None
    outputs, _, height, kernel = weight.shape
    channels = root.inputs[0].shape[1]
    dense = weight
    if attrs.groups > 1:
        dense = np.zeros((outputs, channels, height, kernel), weight.dtype)
        dense[np.arange(outputs), np.arange(outputs)] = weight[:, 0]
    folded = np.zeros((after, outputs, before, channels, height, columns), weight.dtype)
    for p in range(after):
        for k in range(kernel):
            block, inside = divmod(attrs.strides[1] * p + k * attrs.dilation[1] + shift, before)
            folded[p, :, inside, :, :, block] = dense[:, :, :, k]
    folded = folded.reshape(after * outputs, before * channels, height, columns)
    top, _, bottom, _ = attrs.padding
    pad = root.inputs[0]
    padding = (top, left, bottom, right)
    if pad.op == ops.PAD:
        rows = attrs_of(pad, PadAttributes).pad_width[2]
        widths = ((0, 0), (0, 0), rows, (left, right))
        source = call(ops.PAD, [source], pad.name, **vars(replace(attrs_of(pad, PadAttributes), pad_width=widths)))
        padding = (top, 0, bottom, 0)
    new = replace(
        attrs,
        strides=(attrs.strides[0], stride),
        padding=padding,
        dilation=(attrs.dilation[0], 1),
        groups=1,
        taps=attrs.taps or prod(weight.shape[1:]),
    )
    return call(ops.CONV2D, [source, constant(folded, root.inputs[1].name)], root.name, **vars(new))
