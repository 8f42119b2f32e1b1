"""Boxes out of their offsets to anchors, and which of them are kept."""

from __future__ import annotations

from typing import Any

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import like
from vta.frontend.tflite.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

_EDGES = 4


def _options(node: Operation) -> dict[str, Any]:
    """The options of an operator that is not TFLite's own: a map without a schema."""
    from flatbuffers import flexbuffers

    try:
        found = flexbuffers.Loads(node.record.custom)
    except Exception:  # The reader meets damage with whatever its arithmetic raises.
        found = None
    if not isinstance(found, dict):
        raise ImportModelError("its options are missing or damaged")
    return found


def _number(options: dict[str, Any], name: str, default: float | None = None) -> float:
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ImportModelError(f"option {name} must be a number, got {value!r:.40}")
    return value


def _parts(node: Operation, rows: Node) -> list[Node]:
    """The four columns of (..., 4)."""
    whole = [(0, size) for size in rows.shape[:-1]]
    return [_columns(node, rows, whole, at, at + 1) for at in range(_EDGES)]


def _columns(node: Operation, rows: Node, whole: list[tuple[int, int]], begin: int, end: int) -> Node:
    begins, ends = (*(first for first, _ in whole), begin), (*(last for _, last in whole), end)
    return node.apply(ops.STRIDED_SLICE, rows, begin=begins, end=ends, strides=(1,) * len(begins))


def _decoded(node: Operation, offsets: Node, anchors: Node, options: dict[str, Any]) -> Node:
    """Boxes (y, x, y, x) from offsets and anchors (y, x, height, width), each in its anchor's units over a scale."""
    y, x, height, width = _parts(node, offsets)
    anchor_y, anchor_x, anchor_height, anchor_width = _parts(node, anchors)
    apply = node.apply

    def center(offset: Node, scale: str, size: Node, middle: Node) -> Node:
        scaled = apply(ops.DIVIDE, offset, like(_number(options, scale), offset))
        return apply(ops.ADD, apply(ops.MULTIPLY, scaled, size), middle)

    def half(offset: Node, scale: str, size: Node) -> Node:
        grown = apply(ops.EXP, apply(ops.DIVIDE, offset, like(_number(options, scale), offset)))
        return apply(ops.MULTIPLY, apply(ops.MULTIPLY, grown, like(0.5, grown)), size)

    middle_y, middle_x = center(y, "y_scale", anchor_height, anchor_y), center(x, "x_scale", anchor_width, anchor_x)
    half_y, half_x = half(height, "h_scale", anchor_height), half(width, "w_scale", anchor_width)
    edges = [
        apply(op, middle, part) for op in (ops.SUBTRACT, ops.ADD) for middle, part in ((middle_y, half_y), (middle_x, half_x))
    ]
    return apply(ops.CONCATENATE, *edges, axis=-1)


def _kept(node: Operation, options: dict[str, Any]) -> dict[str, float]:
    """The attributes of `nn.detections`."""
    most = int(_number(options, "max_detections"))
    apart = bool(options.get("use_regular_nms", False))
    of_box = int(_number(options, "max_classes_per_detection", 1))
    if not apart and of_box != 1:
        raise UnsupportedNodeError(f"max_classes_per_detection {of_box} without use_regular_nms (only 1 can be imported)")
    return {
        "most": most,
        "iou_threshold": _number(options, "nms_iou_threshold"),
        "score_threshold": _number(options, "nms_score_threshold"),
        "most_of_class": int(_number(options, "detections_per_class", 100)) if apart else 0,
    }


def _detections(node: Operation) -> tuple[Node, ...]:
    """Boxes, classes, scores, and how many there are; behind those all are 0.

    Inputs: offsets (N, count, 4), scores (N, count, classes, perhaps one for the background first), anchors (count, 4).
    """
    options = _options(node)
    offsets, scores, anchors = (node.real(at) for at in range(3))
    classes = int(_number(options, "num_classes"))
    if not 0 <= scores.shape[-1] - classes <= 1:
        raise ImportModelError(f"scores of {scores.shape[-1]} classes, the options say {classes}")
    whole = [(0, size) for size in scores.shape[:-1]]
    real = _columns(node, scores, whole, scores.shape[-1] - classes, scores.shape[-1])
    rows = node.apply(ops.DETECTIONS, _decoded(node, offsets, anchors, options), real, **_kept(node, options))
    batch, most, _ = rows.shape
    all_rows = [(0, batch), (0, most)]
    boxes = _columns(node, rows, all_rows, 0, _EDGES)
    kinds, chances, there = (
        node.apply(ops.RESHAPE, _columns(node, rows, all_rows, at, at + 1), newshape=(batch, most)) for at in range(_EDGES, 7)
    )
    return boxes, kinds, chances, node.apply(ops.SUM, there, axis=(1,))


CONVERTERS: dict[str, Converter] = {"CUSTOM (TFLite_Detection_PostProcess)": _detections}
