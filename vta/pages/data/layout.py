"""Where the groups of a graph are drawn: ranks from above to below, folded into columns where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

from vta.support.dataclass import dataclass

__all__ = ["BOX_HEIGHT", "BOX_WIDTH", "Edge", "Layout", "lay_out"]

BOX_WIDTH, BOX_HEIGHT = 232, 58
_ACROSS, _DOWN = 28, 36
"""Between boxes beside and below each other."""
_COLUMN_GAP = 56
_ASPECT = 1.9
"""Of the whole drawing, width over height, that columns are folded for."""
_FEW_RANKS = 9
_SWEEPS = 4

Point = tuple[float, float]


@dataclass(frozen=True)
class Edge:
    """A line from one group to another, by the points that it bends at."""

    source: int
    target: int
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Layout:
    """The upper left corner of each box, the edges, and the size of the drawing."""

    boxes: tuple[Point, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float


def lay_out(after: Sequence[Sequence[int]]) -> Layout:
    """Place groups, given for each the groups that it depends on, which come before it."""
    ranks = _ranks(after)
    rows: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for index, rank in enumerate(ranks):
        rows[rank].append(index)
    slots = _slots(rows, after)
    per_column = _per_column(rows)
    widths = [max(len(row) for row in rows[first : first + per_column]) for first in range(0, len(rows), per_column)]
    lefts = [sum(_span(width) + _COLUMN_GAP for width in widths[:column]) for column in range(len(widths))]
    boxes: list[Point] = [(0.0, 0.0)] * len(after)
    for rank, row in enumerate(rows):
        column, line = divmod(rank, per_column)
        inset = (_span(widths[column]) - _span(len(row))) / 2
        for index in row:
            x = lefts[column] + inset + slots[index] * (BOX_WIDTH + _ACROSS)
            boxes[index] = (x, line * (BOX_HEIGHT + _DOWN))
    edges = tuple(
        Edge(source, target, _route(boxes[source], boxes[target], ranks[source] // per_column != ranks[target] // per_column))
        for target, sources in enumerate(after)
        for source in sources
    )
    height = min(per_column, len(rows)) * (BOX_HEIGHT + _DOWN) - _DOWN
    return Layout(tuple(boxes), edges, sum(map(_span, widths)) + _COLUMN_GAP * max(0, len(widths) - 1), max(0, height))


def _ranks(after: Sequence[Sequence[int]]) -> list[int]:
    """The longest way from a start to each group."""
    ranks: list[int] = []
    for sources in after:
        ranks.append(max((ranks[source] + 1 for source in sources), default=0))
    return ranks


def _slots(rows: Sequence[list[int]], after: Sequence[Sequence[int]]) -> dict[int, int]:
    """The place of each group in its row, near the places of its neighbours."""
    users: dict[int, list[int]] = {}
    for target, sources in enumerate(after):
        for source in sources:
            users.setdefault(source, []).append(target)
    slots = {index: place for row in rows for place, index in enumerate(row)}
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            centers = {index: _center(after[index] if down else users.get(index, ()), slots, slots[index]) for index in row}
            row.sort(key=lambda index, found=centers: found[index])  # type: ignore[misc]
            slots.update((index, place) for place, index in enumerate(row))
    return slots


def _center(neighbors: Sequence[int], slots: dict[int, int], own: int) -> float:
    return sum(slots[index] for index in neighbors) / len(neighbors) if neighbors else float(own)


def _per_column(rows: Sequence[Sequence[int]]) -> int:
    if len(rows) <= _FEW_RANKS:
        return max(1, len(rows))
    width = max(_span(len(row)) for row in rows) + _COLUMN_GAP
    columns = max(1, round(sqrt(_ASPECT * len(rows) * (BOX_HEIGHT + _DOWN) / width)))
    return ceil(len(rows) / columns)


def _span(boxes: int) -> float:
    return boxes * (BOX_WIDTH + _ACROSS) - _ACROSS


def _route(source: Point, target: Point, other_column: bool) -> tuple[Point, ...]:
    """From the lower side of a box to the upper side of another."""
    start = source[0] + BOX_WIDTH / 2, source[1] + BOX_HEIGHT
    end = target[0] + BOX_WIDTH / 2, target[1]
    if other_column:
        between = target[0] - _COLUMN_GAP / 2
        low, high = start[1] + _DOWN / 2, end[1] - _DOWN / 2
        return start, (start[0], low), (between, low), (between, high), (end[0], high), end
    if end[1] - start[1] > _DOWN + 1:
        # Past boxes that lie between.
        aside = max(source[0], target[0]) + BOX_WIDTH + _ACROSS / 2
        low, high = start[1] + _DOWN / 2, end[1] - _DOWN / 2
        return start, (start[0], low), (aside, low), (aside, high), (end[0], high), end
    return start, end
