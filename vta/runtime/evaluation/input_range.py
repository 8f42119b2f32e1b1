"""Whether inputs have the magnitude that a quantised network was made for: a forgotten scale ruins all results quietly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.ops.quantized.qnn import QuantizeAttributes

__all__ = ["input_ranges", "scale_warnings"]

_FACTOR = 16.0
"""How much too large or too small inputs must be before something is said: calibration leaves room, and some samples are dark."""
_KEEPS_VALUES = (ops.TRANSPOSE, ops.RESHAPE, ops.PAD, ops.BATCH_FLATTEN, ops.EXPAND_DIMS, ops.SQUEEZE, ops.STRIDED_SLICE)
"""Operators between an input and where it is quantised that do not change magnitudes."""

Range = tuple[float, float]


def input_ranges(graph: Graph) -> dict[str, Range]:
    """The real values that int8 stands for, of each float argument that goes straight into a quantisation."""
    users = graph.users()
    found = {}
    for node in graph.arguments:
        ranges = [_range(user) for user in _quantizers(node, users)] if node.dtype.startswith("float") else []
        if ranges:
            found[node.name] = min(low for low, _ in ranges), max(high for _, high in ranges)
    return found


def scale_warnings(graph: Graph, inputs: Mapping[str, NDArray[Any]]) -> list[str]:
    """A sentence for each input whose values are far larger, or far smaller, than the network's quantisation expects."""
    return [text for name, wanted in input_ranges(graph).items() for text in _complaints(name, wanted, inputs[name])]


def _complaints(name: str, wanted: Range, values: NDArray[Any]) -> Iterator[str]:
    largest, expected = float(np.abs(values).max(initial=0.0)), max(map(abs, wanted))
    reach = f"values of input {name!r} reach {largest:.4g}; the network is quantised for {wanted[0]:.4g} to {wanted[1]:.4g}"
    if np.isfinite(largest) and largest > _FACTOR * expected:
        yield f"{reach}: was a scale (such as 255) forgotten?"
    elif 0 < largest < expected / _FACTOR:
        yield f"{reach}: were they scaled although the network takes them as they are?"


def _quantizers(node: Node, users: Mapping[Node, list[Node]]) -> Iterator[Node]:
    for user in users[node]:
        if user.op == ops.QNN_QUANTIZE:
            yield user
        elif user.op in _KEEPS_VALUES:
            yield from _quantizers(user, users)


def _range(node: Node) -> Range:
    attrs = attrs_of(node, QuantizeAttributes)
    scale, info = float(np.max(attrs.scale)), np.iinfo(attrs.out_dtype)
    return (info.min - attrs.zero_point) * scale, (info.max - attrs.zero_point) * scale
