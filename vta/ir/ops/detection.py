"""Which boxes are kept: of boxes that overlap much the one with the best score."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import check_flag, check_float, check_int, require, require_dtype, require_rank, wanted
from vta.support.dataclass import dataclass

__all__ = ["DetectionsAttributes", "NonMaxSuppressionAttributes"]

Array = NDArray[Any]
_Overlap = Callable[[Array, Array], Array]
"""Whether each of some boxes overlaps one box too much."""

_CORNERS = 4


def _check_limit(attrs: Attributes, field: str) -> None:
    value = getattr(attrs, field)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or math.isnan(value):
        raise wanted(attrs, field, "a number")
    object.__setattr__(attrs, field, float(value))


@dataclass(frozen=True, kw_only=True)
class NonMaxSuppressionAttributes(Attributes):
    """What is kept of the boxes of each class."""

    most: int
    """Boxes that are kept of a class, at most."""
    iou_threshold: float = 0.0
    """Intersection over union above which the box with the lower score goes."""
    score_threshold: float = -math.inf
    """Boxes whose score is not above it go."""
    center_point: bool = False
    """Whether boxes are (x, y, width, height) around their center, not (y, x, y, x) of two opposite corners."""

    def __post_init__(self) -> None:
        check_int(self, "most", 0)
        check_float(self, "iou_threshold")
        _check_limit(self, "score_threshold")
        check_flag(self, "center_point")


@dataclass(frozen=True, kw_only=True)
class DetectionsAttributes(Attributes):
    """What is kept of boxes, with TFLite's rules."""

    most: int
    """Detections in all."""
    iou_threshold: float
    """Intersection over union above which the box with the lower score goes."""
    score_threshold: float
    """Boxes whose score is below it go."""
    most_of_class: int = 0
    """Detections of each class, classes apart; 0: a box has its best class alone, and boxes of all classes compete."""

    def __post_init__(self) -> None:
        check_int(self, "most", 1)
        check_float(self, "iou_threshold")
        check_float(self, "score_threshold")
        check_int(self, "most_of_class", 0)


def _by_score(scores: Array) -> Array:
    """Positions by falling score; of equal ones the first comes first."""
    return np.argsort(-scores, kind="stable")


def _kept(order: Array, boxes: Array, overlaps: _Overlap, most: int) -> list[int]:
    """The boxes in `order`, without those that overlap one that is kept before them."""
    kept: list[int] = []
    while len(order) and len(kept) < most:
        best, order = int(order[0]), order[1:]
        kept.append(best)
        order = order[~overlaps(boxes[best], boxes[order])]
    return kept


def _corners(boxes: Array) -> Array:
    """Rows (y, x, y, x) with the smaller coordinates first."""
    return np.concatenate([np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])], axis=-1)


def _around(boxes: Array) -> Array:
    """Rows (y, x, y, x) of boxes (x, y, width, height) around a center."""
    x, y, width, height = (boxes[..., at] for at in range(_CORNERS))
    half_width, half_height = width / np.float32(2), height / np.float32(2)
    return np.stack([y - half_height, x - half_width, y + half_height, x + half_width], axis=-1)


def _areas(boxes: Array) -> Array:
    return np.asarray((boxes[..., 3] - boxes[..., 1]) * (boxes[..., 2] - boxes[..., 0]))


def _intersection(box: Array, others: Array) -> Array:
    sizes = np.minimum(box[2:], others[..., 2:]) - np.maximum(box[:2], others[..., :2])
    return np.asarray(np.maximum(sizes, np.float32(0)).prod(axis=-1, dtype=np.float32))


def _overlap(threshold: float) -> _Overlap:
    """Intersection over union, in single precision; boxes without an area overlap nothing."""
    limit = np.float32(threshold)

    def overlaps(box: Array, others: Array) -> Array:
        common = _intersection(box, others)
        area, areas = _areas(box), _areas(others)
        union = area + areas - common
        with np.errstate(all="ignore"):
            ratio = common / union
        return np.asarray((common > 0) & (area > 0) & (areas > 0) & (union > 0) & (ratio > limit))

    return overlaps


def _infer_non_max_suppression(attrs: NonMaxSuppressionAttributes, types: Sequence[TensorType]) -> TensorType:
    boxes, scores = types
    for type_, what in ((boxes, "boxes"), (scores, "scores")):
        require_rank(type_, 3, what)
        require_dtype(type_, ("float32",), what)
    batch, classes, count = scores.shape
    require(boxes.shape == (batch, count, _CORNERS), f"boxes must have shape {(batch, count, _CORNERS)}, got {boxes.shape}")
    return TensorType((batch * classes * min(attrs.most, count), 3), "int64")


@operator(ops.NON_MAX_SUPPRESSION, 2, _infer_non_max_suppression, NonMaxSuppressionAttributes)
def non_max_suppression(attrs: NonMaxSuppressionAttributes, boxes: Array, scores: Array) -> Array:
    """Rows (sample, class, box) of what is kept, of each class by falling score; rows of -1 after them up to the most."""
    batch, classes, count = scores.shape
    edges = _around(boxes) if attrs.center_point else _corners(boxes)
    overlaps = _overlap(attrs.iou_threshold)
    rows = []
    for sample, kind in product(range(batch), range(classes)):
        order = _by_score(scores[sample, kind])
        order = order[scores[sample, kind][order] > attrs.score_threshold]
        rows += [(sample, kind, box) for box in _kept(order, edges[sample], overlaps, attrs.most)]
    result = np.full((batch * classes * min(attrs.most, count), 3), -1, np.int64)
    result[: len(rows)] = np.asarray(rows, np.int64).reshape(-1, 3)
    return result


_COLUMNS = 7
"""Four edges, class, score, and whether there is a detection."""


def _infer_detections(attrs: DetectionsAttributes, types: Sequence[TensorType]) -> TensorType:
    boxes, scores = types
    for type_, what in ((boxes, "boxes"), (scores, "scores")):
        require_rank(type_, 3, what)
        require_dtype(type_, ("float32",), what)
    batch, count, _ = scores.shape
    require(boxes.shape == (batch, count, _CORNERS), f"boxes must have shape {(batch, count, _CORNERS)}, got {boxes.shape}")
    return TensorType((batch, attrs.most, _COLUMNS), "float32")


@operator(ops.DETECTIONS, 2, _infer_detections, DetectionsAttributes)
def detections(attrs: DetectionsAttributes, boxes: Array, scores: Array) -> Array:
    """Of boxes (N, count, 4) and scores (N, count, classes) the detections by falling score, each a row.

    A row has the four edges (y, x, y, x), the class, the score, and 1; rows of 0 fill up to the most.
    """
    result = np.zeros((boxes.shape[0], attrs.most, _COLUMNS), np.float32)
    find = _by_class if attrs.most_of_class else _best_classes
    for sample, (edges, chances) in enumerate(zip(boxes, scores, strict=True)):
        for row, (box, kind) in enumerate(find(attrs, edges, chances)):
            result[sample, row] = (*edges[box], kind, chances[box, kind], 1)
    return result


def _best_classes(attrs: DetectionsAttributes, boxes: Array, scores: Array) -> list[tuple[int, int]]:
    """Each box with its best class; boxes of all classes compete."""
    kinds = scores.argmax(axis=1)
    return [(box, int(kinds[box])) for box in _selected(attrs, boxes, scores.max(axis=1), attrs.most)]


def _by_class(attrs: DetectionsAttributes, boxes: Array, scores: Array) -> list[tuple[int, int]]:
    """The best of all classes, each of which has been thinned out by itself."""
    found: list[tuple[int, int]] = []
    for kind in range(scores.shape[1]):
        found += [(box, kind) for box in _selected(attrs, boxes, scores[:, kind], attrs.most_of_class)]
        chances = np.asarray([scores[place] for place in found], np.float32)
        found = [found[at] for at in _by_score(chances)[: attrs.most]]
    return found


def _selected(attrs: DetectionsAttributes, boxes: Array, scores: Array, most: int) -> list[int]:
    order = _by_score(scores)
    order = order[scores[order] >= np.float32(attrs.score_threshold)]
    return _kept(order, boxes, _overlap(attrs.iou_threshold), most)
