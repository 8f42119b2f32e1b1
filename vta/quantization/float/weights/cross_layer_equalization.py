"""Evens out the ranges of the channels between layers: what one divides by a factor, those that read it multiply by it.

The function of the network stays the same where operators that commute with positive factors lie between them. An activation
with an upper bound does not, beyond it: factors are such that no channel gets there on the calibration data. After Nagel et al.,
"Data-Free Quantization Through Weight Equalization and Bias Correction", 2019 (section 4.1); here the range of a channel is that
of its activation on calibration data, because weights have a scale for each output channel anyway.

A value that the host computes in float is multiplied there, for nothing beside what the host does anyway. What it joins may be of
different kinds, such as a spectrum and its logarithm, and would be rounded to one scale.

Of few samples that says little: the next one may well have more in a channel, which is then cut off. So ranges are drawn towards
that of all channels, as if some samples more had been seen of which nothing is known but that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, call, constant
from vta.ir.interpreter import evaluate
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.shape import ConcatenateAttributes
from vta.quantization.float.plan.quant_groups import WEIGHTED_OPS, Plan, QuantGroup
from vta.support.dataclass import dataclass

__all__ = ["equalize", "evens_out", "is_depthwise"]

Array = NDArray[Any]

_COMMUTES = frozenset({ops.RELU, ops.LEAKY_RELU, ops.MAX_POOL2D, ops.AVG_POOL2D, ops.GLOBAL_AVG_POOL2D, ops.GLOBAL_MAX_POOL2D})
"""Operators that may stand between two layers: scaling a channel before them or after them is the same."""

_LARGEST_FACTOR = 16.0
_WORTH_A_PRODUCT = 0.5
"""Where no channel would gain a bit the host is not asked to multiply."""
_UNSEEN_SAMPLES = 4
"""So many count for the range of all channels. Of 0, 1, 2 and 4 this was, with 2 to 32 samples of networks with depthwise layers,
the least noisy on others; than 0 it was less noisy by up to 19 dB."""


@dataclass(frozen=True)
class _Pair:
    """A layer whose output channels only other layers read."""

    first: QuantGroup
    readers: tuple[Node, ...]


def equalize(
    graph: Graph, plan: Plan, batches: Iterable[Mapping[str, Array]], which: str = "all", whole: Plan | None = None
) -> Graph:
    """Return `graph` with evened ranges between its pairs of layers; `batches` are calibration data.

    `which` is one of `vta.quantization.config.EQUALIZATIONS`. `plan` says which layers are quantised; `whole`, where given, what
    groups there are with those that stay in float as well. A pair of which one layer is in float counts too: what lies between
    them is rounded.
    """
    pairs, joined = _pairs_between(graph, plan, which, whole), _joined_in_float(graph, plan, which)
    if not pairs and not joined:
        return graph
    ranges = _channel_ranges(graph, [*(pair.first.result for pair in pairs), *joined], batches)
    divide: dict[Node, Array] = {}
    multiply: dict[Node, Array] = {}
    behind = dict[Node, Array]()
    for value, readers in joined.items():
        # The host multiplies by anything.
        factor = _factors(ranges[value], ())
        if np.isfinite(ranges[value]).all() and factor.min() <= _WORTH_A_PRODUCT:
            behind[value] = factor
            multiply |= dict.fromkeys(readers, factor)
    for pair in pairs:
        if not np.isfinite(ranges[pair.first.result]).all():
            continue
        factor = _factors(ranges[pair.first.result], pair.readers)
        bound = None if pair.first.activation is None else pair.first.activation.attrs
        if isinstance(bound, ClipAttributes):
            # No channel may grow beyond the bound on the calibration data.
            factor = np.maximum(factor, np.minimum(ranges[pair.first.result] / bound.a_max, 1))
        divide |= dict.fromkeys((pair.first.anchor, *pair.first.biases), factor)
        multiply |= dict.fromkeys(pair.readers, factor)
    return _scaled(graph, divide, multiply, behind)


def evens_out(graph: Graph, plan: Plan, which: str, whole: Plan | None = None) -> bool:
    """Whether `equalize` may change anything; arguments as there."""
    return bool(_pairs_between(graph, plan, which, whole) or _joined_in_float(graph, plan, which))


def _pairs_between(graph: Graph, plan: Plan, which: str, whole: Plan | None) -> list[_Pair]:
    pairs = [] if which == "none" else _pairs(graph, plan, whole or plan)
    if which == "all":
        return pairs
    return [pair for pair in pairs if len(pair.readers) > 1 or any(map(is_depthwise, (pair.first.anchor, *pair.readers)))]


def _pairs(graph: Graph, plan: Plan, whole: Plan) -> list[_Pair]:
    users, outputs = graph.users(), set(graph.outputs)
    integer = {group.anchor for group in plan.groups.values()}
    pairs = []
    for group in whole.groups.values():
        if group.anchor.op not in (ops.CONV2D, ops.DENSE) or group.addition is not None:
            continue
        sloped = group.activation is not None and group.activation.op == ops.PRELU
        if group.activation is not None and not sloped and not _bends_at_zero(group.activation):
            continue
        value = group.result
        while value not in outputs and len(users[value]) == 1 and users[value][0].op in _COMMUTES and len(value.shape) == 4:
            value = users[value][0]
        readers = users[value]
        rounded = integer.intersection(readers) or (group.anchor in integer and value in plan.integer_use)
        # Slopes of each channel commute as well, but before a single layer evening them out was measured to lose.
        enough = len(readers) > sloped
        if value not in outputs and enough and rounded and all(_weighs(reader, value) for reader in readers):
            pairs.append(_Pair(group, tuple(readers)))
    return pairs


def _joined_in_float(graph: Graph, plan: Plan, which: str) -> dict[Node, tuple[Node, ...]]:
    """Concatenations along channels that the host computes, and the layers, of which some are quantised, that alone read each."""
    joins = [node for node in graph.calls() if node.op == ops.CONCATENATE and node.dtype == "float32" and which != "none"]
    if not joins:
        return {}
    users, outputs, found = graph.users(), set(graph.outputs), dict[Node, tuple[Node, ...]]()
    integer, anchors = _maybe_integer(graph, plan), {group.anchor for group in plan.groups.values()}
    for node in joins:
        channels = attrs_of(node, ConcatenateAttributes).axis in (1, 1 - len(node.shape))
        readers = _readers(node, users, outputs) if channels and node not in integer else ()
        if readers and anchors.intersection(readers) and all(_weighs(reader, reader.inputs[0]) for reader in readers):
            found[node] = readers
    return found


def _readers(value: Node, users: Mapping[Node, list[Node]], outputs: Collection[Node]) -> tuple[Node, ...]:
    """What reads a value, if need be in a shape that has the same channels; none where it is an output, too."""
    if value in outputs:
        return ()
    found: list[Node] = []
    for user in users[value]:
        if user.op != ops.RESHAPE:
            found.append(user)
            continue
        more = _readers(user, users, outputs) if user.shape[:2] == value.shape[:2] else ()
        if not more:
            return ()
        found += more
    return tuple(found)


def _maybe_integer(graph: Graph, plan: Plan) -> set[Node]:
    """Values that may be int8 before a layer reads them: of quantised layers, and what integers compute of such."""
    found = set[Node]()
    for node in graph.calls():
        layer = plan.groups.get(node)
        if layer is not None and layer.anchor.op in (*WEIGHTED_OPS, ops.MATMUL):
            of_integers = node in plan.integer_use
        else:
            of_integers = node in plan.integer_use and not found.isdisjoint(node.inputs)
        function = plan.functions.get(node)
        if of_integers or (function is not None and function.root in found):
            found.add(node)
    return found


def _weighs(reader: Node, value: Node) -> bool:
    """Whether a layer has a weight for each channel of a value, or several."""
    weighted = reader.op == ops.CONV2D or (reader.op == ops.DENSE and len(value.shape) == 2)
    return weighted and reader.inputs[0] is value and reader.inputs[1].value is not None and not _is_grouped(reader)


def _is_grouped(node: Node) -> bool:
    return node.op == ops.CONV2D and attrs_of(node, Conv2DAttributes).groups > 1 and not is_depthwise(node)


def is_depthwise(node: Node) -> bool:
    """Whether a node is a convolution of each channel by itself."""
    return node.op == ops.CONV2D and attrs_of(node, Conv2DAttributes).groups == node.inputs[0].shape[1] > 1


def _bends_at_zero(node: Node) -> bool:
    """Whether an activation commutes with positive factors, but for an upper bound."""
    attrs = node.attrs
    return node.op in _COMMUTES or (isinstance(attrs, ClipAttributes) and attrs.a_min == 0 and np.isfinite(attrs.a_max))


def _channel_ranges(graph: Graph, values: list[Node], batches: Iterable[Mapping[str, Array]]) -> dict[Node, Array]:
    """The range of each channel of some values that is to be expected of other samples, (C,); 0 where there was nothing else.

    It is a weighted geometric mean of the largest magnitude in the channel, which counts for the samples, and of that in all
    channels, which counts for `_UNSEEN_SAMPLES`.
    """
    largest = {value: np.zeros(value.shape[1]) for value in values}
    samples = dict.fromkeys(values, 0)

    def observe(node: Node, value: Array) -> None:
        if node in largest:
            axes = tuple(axis for axis in range(value.ndim) if axis != 1)
            np.maximum(largest[node], np.abs(value).max(axis=axes), out=largest[node])
            samples[node] += len(value)

    for batch in batches:
        evaluate(graph, batch, observe)
    return {value: _expected(found, samples[value]) for value, found in largest.items()}


def _expected(largest: Array, samples: int) -> Array:
    whole = float(largest.max(initial=0.0))
    if whole == 0 or not np.isfinite(whole):
        return largest
    return np.asarray(whole * (largest / whole) ** (samples / (samples + _UNSEEN_SAMPLES)))


def _factors(ranges: Array, readers: Iterable[Node]) -> Array:
    """What each channel is divided by. A depthwise layer has a weight scale for each channel: any factor costs it nothing."""
    live = ranges > 0
    share = np.where(live, ranges, 1.0) / max(float(ranges.max(initial=0.0)), 1e-30)
    shares = [_weight_shares(reader) for reader in readers if not is_depthwise(reader)]
    if not shares:
        factor = share
    else:
        weights = np.max(shares, axis=0)
        factor = np.sqrt(share / np.where(weights > 0, weights, 1.0))
        live &= weights > 0
        factor /= max(float(factor[live].max(initial=0.0)), 1e-30)
    return np.where(live, np.clip(factor, 1 / _LARGEST_FACTOR, 1.0), 1.0)


def _weight_shares(layer: Node) -> Array:
    """For each input channel of a layer its largest weight, as a share of the largest of the same output."""
    weight = layer.inputs[1].value
    assert weight is not None
    rows = np.abs(weight.astype(np.float64)).reshape(*weight.shape[:2], -1).max(axis=2)
    rows /= np.maximum(rows.max(axis=1, keepdims=True), 1e-30)
    return np.asarray(rows.max(axis=0))


def _scaled(graph: Graph, divide: Mapping[Node, Array], multiply: Mapping[Node, Array], behind: Mapping[Node, Array]) -> Graph:
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        if not node.is_call:
            done[node] = node
            continue
        inputs = [done[source] for source in node.inputs]
        if node in divide or node in multiply:
            inputs[1] = _scaled_constant(node, inputs[1], divide.get(node), multiply.get(node))
        same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        done[node] = node if same else call(node.op, inputs, node.name, **vars(node.attrs))
        if node in behind:
            factor = (1 / behind[node]).reshape(1, -1, *(1,) * (len(node.shape) - 2)).astype(node.dtype)
            done[node] = call(ops.MULTIPLY, [done[node], constant(factor, node.name)], node.name)
    return graph.rebuilt(done)


def _scaled_constant(node: Node, operand: Node, by_output: Array | None, by_input: Array | None) -> Node:
    value = operand.value
    assert value is not None
    if node.op not in (ops.CONV2D, ops.DENSE):
        along = (-1,) if node.op == ops.BIAS_ADD else (1, -1, *(1,) * (len(node.shape) - 2))
        assert by_output is not None
        return constant((value / by_output.reshape(along)).astype(value.dtype), operand.name)
    scaled = value.astype(np.float64)
    if by_output is not None:
        scaled = scaled / by_output.reshape(-1, *(1,) * (value.ndim - 1))
    if by_input is not None:
        depthwise = is_depthwise(node)
        along = (-1, *(1,) * (value.ndim - 1)) if depthwise else (1, -1, *(1,) * (value.ndim - 2))
        factor = np.repeat(by_input, value.shape[0] // len(by_input)) if depthwise else by_input
        scaled = scaled * factor.reshape(along)
    return constant(scaled.astype(value.dtype), operand.name)
