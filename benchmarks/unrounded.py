"""Networks that came quantised beside themselves without any rounding: python -m benchmarks.unrounded --models DIR [NAME...]

DIR, NAME and samples are those of `benchmarks.requantization`. The same weights and biases are taken as real numbers, and no
value between layers is rounded, only clipped where the network clips it. How far the network as it was quantised is from that is
what int8 costs in it anyway; how far ``--requantise shift`` is says what that costs beside it. For both: how often the class is
the same, the signal to noise ratio of what the softmax reads, or of the outputs where there is none, and top-1 where there are
labels. The table goes to standard output, in Markdown.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.models import Entry, chosen, network_options, share_right
from benchmarks.requantization import Samples, print_rows, samples_of, with_shares
from vta.errors import ImportModelError
from vta.frontend import load_model
from vta.ir import names as ops
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph, Node, attrs_of, call, constant, graph_input
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.nn.pool import AvgPool2DAttributes
from vta.ir.ops.quantized.qnn import (
    AddAttributes,
    DequantizeAttributes,
    MeanAttributes,
    ProductAttributes,
    QuantizeAttributes,
    RequantizeAttributes,
    RescaledAttributes,
    base_attributes,
)
from vta.passes.canonicalize import canonicalize
from vta.quantization import is_quantized
from vta.quantization.requantize.by_shift import by_shifts
from vta.runtime.evaluation.compute import compute_widely

__all__ = ["scores", "unrounded"]

Array = NDArray[Any]

_SAME = (ops.TRANSPOSE, ops.RESHAPE, ops.BIAS_ADD)
"""Of levels as of real numbers."""


def scores(graph: Graph) -> Graph:
    """The graph up to what its softmax reads; all of it without one."""
    last = next((node for node in graph.calls() if node.op == ops.QNN_SOFTMAX), None)
    return graph if last is None else Graph(graph.inputs, last.inputs[:1])


def unrounded(graph: Graph) -> Graph:
    """A network of qnn operators with the same values, zero points taken in, as floats: levels that are no whole numbers.

    Raises `KeyError` for an operator that this does not know.
    """
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        if node.op == ops.INPUT:
            done[node] = graph_input(node.name, node.shape, "float32")
        elif node.op == ops.CONSTANT:
            assert node.value is not None
            done[node] = constant(node.value.astype(np.float32), node.name)
        else:
            done[node] = _as_floats(node, [done[source] for source in node.inputs])
    return Graph(tuple(done[node] for node in graph.inputs), tuple(done[node] for node in graph.outputs))


def _as_floats(node: Node, inputs: list[Node]) -> Node:
    attrs, name = node.attrs, node.name
    if isinstance(attrs, ProductAttributes):
        given = [_moved(inputs[0], 1.0, -attrs.input_zero_point, name), inputs[1]]
        if node.op == ops.QNN_DENSE:
            return call(ops.DENSE, given, name)
        return call(ops.CONV2D, given, name, **vars(base_attributes(Conv2DAttributes, attrs)))
    if isinstance(attrs, RequantizeAttributes):
        ratio = np.asarray(attrs.input_scale) / attrs.output_scale
        return _clipped(_moved(inputs[0], ratio, attrs.output_zero_point - attrs.input_zero_point * ratio, name), node)
    if isinstance(attrs, AddAttributes):
        sides = ((attrs.lhs_scale, attrs.lhs_zero_point), (attrs.rhs_scale, attrs.rhs_zero_point))
        ratios = [np.asarray(scale) / attrs.output_scale for scale, _ in sides]
        parts = [_moved(x, ratio, -zero * ratio, name) for x, ratio, (_, zero) in zip(inputs, ratios, sides, strict=True)]
        return _clipped(_moved(call(ops.ADD, parts, name), 1.0, attrs.output_zero_point, name), node)
    if isinstance(attrs, MeanAttributes):
        geometry = {} if "global" in node.op else vars(base_attributes(AvgPool2DAttributes, attrs))
        mean = call(ops.GLOBAL_AVG_POOL2D if "global" in node.op else ops.AVG_POOL2D, inputs, name, **geometry)
        ratio = np.asarray(attrs.input_scale / attrs.output_scale)
        return _clipped(_moved(mean, ratio, attrs.output_zero_point - attrs.input_zero_point * ratio, name), node)
    if isinstance(attrs, QuantizeAttributes):
        return _moved(inputs[0], 1 / np.asarray(attrs.scale), attrs.zero_point, name)
    if isinstance(attrs, DequantizeAttributes):
        scale = np.asarray(attrs.scale)
        return _moved(inputs[0], scale, -attrs.zero_point * scale, name)
    if node.op in _SAME:
        return call(node.op, inputs, name, **vars(attrs))
    raise KeyError(node.op)


def _moved(x: Node, factor: Array | float, offset: Array | float, name: str) -> Node:
    """``x * factor + offset``; each is one number, or one for each channel."""
    along = (1, -1, *(1,) * (len(x.shape) - 2))
    by, more = (constant(np.asarray(value, np.float32).reshape(along), name) for value in (factor, offset))
    return call(ops.ADD, [call(ops.MULTIPLY, [x, by], name), more], name)


def _clipped(x: Node, node: Node) -> Node:
    attrs = attrs_of(node, RescaledAttributes)
    return call(ops.CLIP, [x], node.name, a_min=float(attrs.a_min), a_max=float(attrs.a_max))


def row(folder: Path, entry: Entry, count: int) -> str | None:
    """One line of the table; None for a network that did not come quantised, is refused, or has other operators."""
    try:
        graph = canonicalize(load_model(folder / entry.file))
        if not is_quantized(graph):
            return None
        whole = unrounded(scores(graph))
    except (ImportModelError, KeyError):
        return None
    name, samples = graph.inputs[0].name, samples_of(folder, entry, graph, count)
    shifted, _ = by_shifts(graph, {name: samples.calibration})
    (wanted,) = compute_widely(whole, {name: samples.x.astype(np.float32)}, None)
    cells = [entry.file, "" if samples.y is None else f"{share_right(wanted, samples.y):.1%}"]
    for quantized in (graph, shifted):
        (got,) = compute_widely(scores(quantized), {name: samples.x}, None)
        cells.append(_compared(got, wanted, samples))
    return f"| {' | '.join([*cells, str(len(samples.x))])} |"


def _compared(got: Array, wanted: Array, samples: Samples) -> str:
    # Scores count from what most of them are, not from a zero point.
    middle = np.median(wanted)
    return with_shares(f"{decibels(wanted - middle, got - middle):.1f} dB", got, wanted, samples)


def main() -> int:
    """Print the table; returns the exit status."""
    options = network_options(__doc__).parse_args()
    headers = ["network", "not rounded: top-1", "source: same class; noise; top-1", "shift: same class; noise; top-1", "samples"]
    print_rows(headers, (row(options.models, entry, options.samples) for entry in chosen(options)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
