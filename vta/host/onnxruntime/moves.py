"""Operators in ONNX that move, pick and order values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from vta.host.groups import is_view
from vta.host.onnxruntime.writer import ModelWriter, Tensor, refusal
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.detection import NonMaxSuppressionAttributes
from vta.ir.ops.indexed import (
    AxisOfIndices,
    GatherNdAttributes,
    ScatterElementsAttributes,
    ScatterNdAttributes,
    TopKAttributes,
)
from vta.ir.ops.matmul import GroupsAttributes
from vta.ir.ops.nn.windows import WindowsAttributes
from vta.ir.ops.shape import (
    ConcatenateAttributes,
    PadAttributes,
    StridedSliceAttributes,
    TakeAttributes,
    TransposeAttributes,
    UpsamplingAttributes,
)

__all__ = ["MOVES", "view"]

_Rule = Callable[[ModelWriter, Node, Sequence[Tensor]], Tensor]


def view(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    """A value in another shape."""
    assert is_view(node)
    return writer.reshape(inputs[0], node.shape)


def _transpose(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    return writer.transpose(inputs[0], [axis % len(node.shape) for axis in attrs_of(node, TransposeAttributes).axes])


def _transpose2d(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    groups, (batch, channels, _, width) = attrs_of(node, GroupsAttributes).groups, node.inputs[0].shape
    apart = writer.reshape(inputs[0], (batch, groups, channels // groups, width))
    return writer.reshape(writer.transpose(apart, (0, 1, 3, 2)), node.shape)


def _concatenate(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    return writer.apply("Concat", inputs, node.dtype, axis=attrs_of(node, ConcatenateAttributes).axis)


def _strided_slice(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, StridedSliceAttributes)
    axes = range(len(node.shape))
    places = [writer.integers(list(part)) for part in (attrs.begin, attrs.end, axes, attrs.strides)]
    return writer.apply("Slice", [inputs[0], *places], node.dtype)


def _broadcast_to(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    return writer.apply("Expand", [inputs[0], writer.integers(node.shape)], node.dtype)


def _pad(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, PadAttributes)
    widths = writer.integers([pair[side] for side in (0, 1) for pair in attrs.pad_width])
    return writer.apply("Pad", [inputs[0], widths, writer.scalar(attrs.pad_value, node.dtype)], node.dtype)


def _upsampling(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs, (batch, channels, height, width) = attrs_of(node, UpsamplingAttributes), node.inputs[0].shape
    apart = writer.reshape(inputs[0], (batch, channels, height, 1, width, 1))
    full = writer.integers((batch, channels, height, attrs.scale_h, width, attrs.scale_w))
    return writer.reshape(writer.apply("Expand", [apart, full], node.dtype), node.shape)


def _windows(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, WindowsAttributes)
    top, left, bottom, right = attrs.padding
    widths = writer.integers((0, 0, top, left, 0, 0, bottom, right))
    padded = writer.apply("Pad", [inputs[0], widths, writer.scalar(0, node.dtype)], node.dtype)
    axes, steps = writer.integers(_SPATIAL), writer.integers(attrs.strides)
    parts = []
    for tap in product(*map(range, attrs.kernel)):
        begin = [at * dilation for at, dilation in zip(tap, attrs.dilation, strict=True)]
        end = [start + (size - 1) * stride + 1 for start, size, stride in zip(begin, node.shape[2:], attrs.strides, strict=True)]
        parts.append(writer.apply("Slice", [padded, writer.integers(begin), writer.integers(end), axes, steps], node.dtype))
    return writer.apply("Concat", parts, node.dtype, axis=1)


_SPATIAL = (2, 3)


def _take(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    return writer.apply("Gather", inputs, node.dtype, axis=attrs_of(node, TakeAttributes).axis)


def _gather_elements(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    return writer.apply("GatherElements", inputs, node.dtype, axis=attrs_of(node, AxisOfIndices).axis)


def _gather_nd(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    places = _coordinates(writer, node, inputs[1])
    return writer.apply("GatherND", [inputs[0], places], node.dtype, batch_dims=attrs_of(node, GatherNdAttributes).batch_dims)


def _coordinates(writer: ModelWriter, node: Node, places: Tensor) -> Tensor:
    if not node.inputs[1].shape[-1]:
        raise refusal(node, "its positions have no coordinates")
    return writer.cast(places, "int64")


def _scatter_elements(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, ScatterElementsAttributes)
    return writer.apply("ScatterElements", inputs, node.dtype, axis=attrs.axis, reduction=attrs.reduction)


def _scatter_nd(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    places = _coordinates(writer, node, inputs[1])
    reduction = attrs_of(node, ScatterNdAttributes).reduction
    return writer.apply("ScatterND", [inputs[0], places, inputs[2]], node.dtype, reduction=reduction)


def _top_k(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    attrs = attrs_of(node, TopKAttributes)
    data = inputs[0] if inputs[0].dtype in ("float32", "float64", "int64") else writer.cast(inputs[0], "int32")
    return writer.second(
        "TopK", [data, writer.integers([attrs.k])], "int64", axis=attrs.axis, largest=int(attrs.largest), sorted=1
    )


def _non_max_suppression(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    """As many rows as there can be: those after what is kept are -1."""
    attrs = attrs_of(node, NonMaxSuppressionAttributes)
    limits = [writer.scalar(attrs.iou_threshold, "float32"), writer.scalar(attrs.score_threshold, "float32")]
    kept = writer.apply(
        "NonMaxSuppression",
        [*inputs, writer.integers([attrs.most]), *limits],
        "int64",
        center_point_box=int(attrs.center_point),
    )
    filled = writer.apply("Concat", [kept, writer.constant(np.full(node.shape, -1, np.int64))], "int64", axis=0)
    ends = [writer.integers([place]) for place in (0, node.shape[0], 0)]
    return writer.apply("Slice", [filled, *ends], "int64")


MOVES: dict[str, _Rule] = {
    ops.TRANSPOSE: _transpose,
    ops.TRANSPOSE2D: _transpose2d,
    ops.CONCATENATE: _concatenate,
    ops.STRIDED_SLICE: _strided_slice,
    ops.BROADCAST_TO: _broadcast_to,
    ops.PAD: _pad,
    ops.UPSAMPLING: _upsampling,
    ops.WINDOWS: _windows,
    ops.TAKE: _take,
    ops.GATHER_ELEMENTS: _gather_elements,
    ops.GATHER_ND: _gather_nd,
    ops.SCATTER_ELEMENTS: _scatter_elements,
    ops.SCATTER_ND: _scatter_nd,
    ops.TOP_K: _top_k,
    ops.NON_MAX_SUPPRESSION: _non_max_suppression,
}
"""Writes an operator by its name."""
