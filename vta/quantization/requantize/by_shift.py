"""Weights of networks that came quantised, on scales for which every requantisation is a shift.

Activations keep their scales and zero points. A layer's weights are brought to the scale `scale_out / (scale_in * 2^n)`, with
which its accumulators become results by a shift of n bits: one step, where another framework's multiplier takes two to seven, and
one that targets without a multiplier have too. What it costs is that the weights are rounded a second time. A sum of a layer's
results and another tensor is taken of the accumulators, before the only rounding.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import per_channel
from vta.ir.diagnostics import INEXACT, Diagnostic
from vta.ir.graph import Graph, Node, attrs_of, call, constant
from vta.ir.ops.nn.conv import transposed_weight
from vta.ir.ops.nn.pool import SumPool2DAttributes
from vta.ir.ops.quantized.conv_transpose import QnnConv2DTransposeAttributes
from vta.ir.ops.quantized.qnn import (
    AddAttributes,
    MeanAttributes,
    QnnAvgPool2DAttributes,
    RequantizeAttributes,
    RescaledAttributes,
    base_attributes,
    uniform_window,
)
from vta.quantization.float import scales
from vta.quantization.float.calibration.calibrate import ChannelMeans, batches_of
from vta.quantization.float.calibration.input_moments import Moments, PatchMoments
from vta.quantization.float.calibration.observe import observed_batches
from vta.quantization.float.one_thread import on_one_thread
from vta.quantization.float.weights.bias_correction import mean_loss
from vta.quantization.float.weights.weighted_layer import ROUNDERS, Rounder
from vta.quantization.requantize.source_layers import SourceLayer, source_layer
from vta.support.dataclass import dataclass

__all__ = ["by_shifts"]

Array = NDArray[Any]

_LARGEST = 127
_MOST_SHIFT = 30
_ROUNDED_UP = {"rounding": "up", "a_min": -128, "a_max": 127}
"""Of a requantisation as our own quantiser has it; what clips its results comes behind it."""
_LEAST_MULTIPLIER = 64
"""Of a tensor that joins accumulators: rounding it then moves no value by more than one level."""


def by_shifts(
    graph: Graph, data: Mapping[str, Array] | None = None, *, multiplies: bool = True, rounding: str = "compensated"
) -> tuple[Graph, list[Diagnostic]]:
    """Return the graph with weights of which results are shifted, and what is to be said of each layer that has some.

    Layers that our own quantiser made, and those whose accumulators something else reads, stay as they are. With `data`, samples
    of each input along the first axis, biases make up for what rounding the weights takes off the results on average over them.
    Weights are rounded in the way of that name (`ROUNDINGS`), where there is one for such data.
    Averages and changes of scale become shifts where the target does not multiply (`multiplies`), within 1 of what they were.
    """
    with on_one_thread():
        return _by_shifts(graph, data, multiplies, ROUNDERS.get(rounding))


def _by_shifts(
    graph: Graph, data: Mapping[str, Array] | None, multiplies: bool, rounder: Rounder | None
) -> tuple[Graph, list[Diagnostic]]:
    users, done, said = graph.users(), dict[Node, Node](), list[Diagnostic]()
    layers = {node: layer for node in graph.calls() if (layer := _layer_of(node, users, graph)) is not None}
    sums = {node: total for node in graph.calls() if (total := _sum(node, layers, users, graph)) is not None}
    taken_up = {total.layer.end for total in sums.values()}
    seen = _Seen({}, {}, rounder) if data is None else _observed(graph, data, layers.values(), rounder)
    for node in graph.nodes():
        if node in layers or node in sums:
            said.append(Diagnostic(INEXACT, node.name, "weights rounded again, so that its results are shifted"))
        if node in taken_up:
            continue
        if node in sums:
            done[node] = _shifted_sum(sums[node], done, seen)
            continue
        if node in layers:
            done[node] = _shifted(layers[node], done, seen)
            continue
        inputs = [done[source] for source in node.inputs]
        if not multiplies and (result := _shifted_average(node, inputs) or _rescaled(node, inputs)) is not None:
            done[node] = result
            said.append(Diagnostic(INEXACT, node.name, "1 off at some values, so that its results are shifted"))
        elif all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
            done[node] = node
        else:
            done[node] = replace(node, inputs=tuple(inputs))
    return graph.rebuilt(done), said


@dataclass(frozen=True)
class _Seen:
    """What the products of layers read on the samples, as real numbers."""

    means: Mapping[Node, Array]
    """The mean of each channel."""
    moments: Mapping[Node, Moments]
    rounder: Rounder | None
    """How weights are rounded by these; None: each to the nearest."""


@dataclass(frozen=True)
class _Sum:
    """An addition of what a layer gives, which nothing else reads, and another tensor."""

    layer: SourceLayer
    other: Node
    other_scale: float
    other_zero_point: int
    kernel: Array
    """The scales of the layer's weights."""
    end: Node


def _layer_of(end: Node, users: dict[Node, list[Node]], graph: Graph) -> SourceLayer | None:
    layer = source_layer(end, users, graph)
    return layer if layer is not None and layer.rescaling.input_zero_point == 0 else None


def _sum(end: Node, layers: Mapping[Node, SourceLayer], users: dict[Node, list[Node]], graph: Graph) -> _Sum | None:
    """The addition `end` of a layer's results, if the other tensor can be brought to the scale of the accumulators."""
    attrs = end.attrs
    if not isinstance(attrs, AddAttributes) or end.dtype != "int8" or attrs.rounding == "up":
        return None
    assert not isinstance(attrs.lhs_scale, tuple)
    sides = (attrs.lhs_scale, attrs.lhs_zero_point), (attrs.rhs_scale, attrs.rhs_zero_point)
    # The later of two layers: by then the other one's results are there.
    for place in (1, 0):
        source, other = end.inputs[place], end.inputs[1 - place]
        layer = layers.get(source)
        alone = len(users[source]) == 1 and source not in graph.outputs
        if layer is not None and alone and other.value is None and not layer.rescaling.clips:
            other_scale, other_zero_point = sides[1 - place]
            kernel = _kernel(layer, attrs.output_scale)
            kernel = scales.widened_for_residual(kernel, layer.scales.input_scale, other_scale)
            accumulator = layer.scales.input_scale * kernel
            if not scales.residual_representable(other_scale, accumulator, exact=False, least=_LEAST_MULTIPLIER):
                return None
            return _Sum(layer, other, other_scale, other_zero_point, kernel, end)
    return None


def _shifted_sum(total: _Sum, done: dict[Node, Node], seen: _Seen) -> Node:
    attrs = attrs_of(total.end, AddAttributes)
    result = call(
        ops.QNN_ADD,
        [_accumulators(total.layer, total.kernel, done, seen), done[total.other]],
        total.end.name,
        lhs_scale=scales.as_scale(total.layer.scales.input_scale * total.kernel),
        rhs_scale=total.other_scale,
        rhs_zero_point=total.other_zero_point,
        output_scale=attrs.output_scale,
        output_zero_point=attrs.output_zero_point,
    )
    return _clipped(result, total.end)


def _shifted(layer: SourceLayer, done: dict[Node, Node], seen: _Seen) -> Node:
    end = layer.end
    kernel = _kernel(layer, layer.rescaling.output_scale)
    accumulator = scales.as_scale(layer.scales.input_scale * kernel)
    attributes = vars(end.attrs) | {"input_scale": accumulator} | _ROUNDED_UP
    return _clipped(call(ops.QNN_REQUANTIZE, [_accumulators(layer, kernel, done, seen)], end.name, **attributes), end)


def _shifted_average(node: Node, inputs: list[Node]) -> Node | None:
    """Sums of windows times a factor of one product, of which averages are shifted."""
    attrs = node.attrs
    if not isinstance(attrs, MeanAttributes) or attrs.rounding == "up" or node.dtype != "int8":
        return None
    data = node.inputs[0]
    if not isinstance(attrs, QnnAvgPool2DAttributes):
        geometry = SumPool2DAttributes(pool_size=(data.shape[2], data.shape[3]))
    elif uniform_window(attrs, data.shape):
        geometry = base_attributes(SumPool2DAttributes, attrs)
    else:
        return None
    count = prod(geometry.pool_size)
    ratio = attrs.input_scale / (attrs.output_scale * count)
    shift = int(np.floor(np.log2(_LARGEST / ratio)))
    factor = round(ratio * 2.0**shift)
    if not (0 <= shift <= _MOST_SHIFT and 1 <= factor <= _LARGEST):
        return None
    sums = call(ops.SUM_POOL2D, inputs, node.name, **vars(replace(geometry, factor=factor)))
    zeros = {"input_zero_point": factor * count * attrs.input_zero_point, "output_zero_point": attrs.output_zero_point}
    scale = attrs.output_scale * 2.0**-shift
    return _clipped(
        call(ops.QNN_REQUANTIZE, [sums], node.name, input_scale=scale, output_scale=attrs.output_scale, **zeros), node
    )


def _rescaled(node: Node, inputs: list[Node]) -> Node | None:
    """The change of an int8 tensor's scale: the GEMM core multiplies by its factor."""
    attrs = node.attrs
    if not isinstance(attrs, RequantizeAttributes) or inputs[0].dtype != "int8" or node.dtype != "int8" or attrs.rounding == "up":
        return None
    return _clipped(call(ops.QNN_REQUANTIZE, inputs, node.name, **vars(attrs) | _ROUNDED_UP), node)


def _kernel(layer: SourceLayer, output_scale: float) -> Array:
    """The scale of each output channel's weights with which results of `output_scale` are shifted."""
    return scales.shifted_kernel_scales(_weight(layer), layer.scales.input_scale, output_scale, per_channel=True)


def _weight(layer: SourceLayer) -> Array:
    """The weights as real numbers, output channel first."""
    product = layer.product
    values = layer.stored_weight
    if product.op == ops.QNN_CONV2D_TRANSPOSE:
        values = transposed_weight(values, attrs_of(product, QnnConv2DTransposeAttributes).groups)
    factor = layer.accumulator_scale / layer.scales.input_scale
    return np.asarray(values * per_channel(factor, values.ndim, 0))


def _accumulators(layer: SourceLayer, kernel: Array, done: dict[Node, Node], seen: _Seen) -> Node:
    """The layer's products and bias with weights of the scales `kernel`."""
    product, weight = layer.product, _weight(layer)
    moments = seen.moments.get(product)
    rounded = _rounded(weight, kernel) if moments is None or seen.rounder is None else seen.rounder(weight, kernel, moments)
    bias = layer.stored_bias * layer.accumulator_scale
    if product in seen.means:
        bias = bias + mean_loss(product, weight, rounded, kernel, seen.means[product])
    if product.op == ops.QNN_CONV2D_TRANSPOSE:
        rounded = transposed_weight(rounded, attrs_of(product, QnnConv2DTransposeAttributes).groups)
    attributes = vars(product.attrs) | {"kernel_scale": scales.as_scale(kernel)}
    total = call(product.op, [done[product.inputs[0]], constant(rounded, product.inputs[1].name)], product.name, **attributes)
    amount = scales.quantized_bias(bias, layer.scales.input_scale * kernel)
    return call(ops.BIAS_ADD, [total, constant(amount, product.name)], product.name) if amount.any() else total


def _observed(graph: Graph, data: Mapping[str, Array], layers: Iterable[SourceLayer], rounder: Rounder | None) -> _Seen:
    of_product = {layer.product: layer.scales for layer in layers}
    products = list(of_product)
    means, moments = ChannelMeans({product.inputs[0] for product in products}), PatchMoments(products)
    deque(observed_batches(graph, batches_of(graph, data), [means, moments]), maxlen=0)
    levels = means.values()
    real = {
        product: (levels[product.inputs[0]] - attrs.input_zero_point) * attrs.input_scale for product, attrs in of_product.items()
    }
    return _Seen(real, moments.values(), rounder)


def _clipped(result: Node, end: Node) -> Node:
    attrs = attrs_of(end, RescaledAttributes)
    return call(ops.CLIP, [result], end.name, a_min=attrs.a_min, a_max=attrs.a_max) if attrs.clips else result


def _rounded(weight: Array, kernel: Array) -> NDArray[np.int8]:
    """The weights as int8, their sum over each kernel as near to what it was as rounding single weights the other way makes it.

    Inputs have means, mostly of one sign: what rounding adds to a sum of products on average is about the mean times that sum.
    """
    levels = (weight / per_channel(kernel, weight.ndim, 0)).reshape(len(weight), -1)
    nearest = scales.nearest_levels(levels)
    error = levels - nearest
    missing = np.rint(error.sum(axis=1)).astype(np.int64)
    for row in np.flatnonzero(missing):
        sign = np.sign(missing[row])
        order = np.argsort(-sign * error[row], kind="stable")
        order = order[np.abs(nearest[row, order] + sign) <= _LARGEST][: abs(missing[row])]
        nearest[row, order] += sign
    return np.asarray(nearest.reshape(weight.shape), np.int8)
