"""A figure: its data apart from how Vega-Lite or Vega draws them, so that pages and pictures share both."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from vta.support.dataclass import dataclass

__all__ = ["LABELS", "PER_LEGEND", "WIDTH", "Columns", "Figure", "Spec", "columns_of", "complete_spec"]

Spec = dict[str, Any]
"""A specification of Vega-Lite or Vega, as JSON values."""
Columns = Mapping[str, Sequence[object]]
"""A table, column by column."""

WIDTH = "$width"
"""In a specification: the width that is there, in pixels."""
LABELS = "$labels"
"""In a specification: the most that names beside an axis may take, in pixels."""
PER_LEGEND = "$per-legend "
"""In a specification, before a number: how many entries of so many pixels fit beside each other in a legend."""
_LEGEND_PART = 0.7
_LABELS_PART = 0.36
_MOST_LABELS = 230


@dataclass(frozen=True)
class Figure:
    """One figure of a page."""

    name: str
    """Of its files, and of its place in the page."""
    title: str
    about: str
    """What it shows and how to read it, in a sentence or two."""
    spec: Spec
    """With `WIDTH` and `LABELS` where these are to be filled in, and the tables of `tables` by name."""
    tables: Mapping[str, Columns] = field(default_factory=dict)
    width: int = 900
    """Of its picture, in pixels."""
    least: int = 0
    """Pixels that it needs: where there are fewer, its place scrolls."""
    beside: int = 0
    """Pixels beside what `WIDTH` is for; 0 where the specification fits itself."""
    columns: int = 6
    """Of the six of a page that it takes where there is room."""
    controls: str = ""
    """What the page puts above it: ``cycles`` for buttons that move along the cycles, ``brush`` for what brushes chose."""


def columns_of(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Columns:
    """Rows as columns under `names`."""
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def complete_spec(figure: Figure, width: int) -> Spec:
    """The specification of a figure with its data, for a place `width` pixels wide."""
    spec = copy.deepcopy(figure.spec)
    labels = min(_MOST_LABELS, round(width * _LABELS_PART))
    filled: Spec = _filled(spec, {WIDTH: width - figure.beside, LABELS: labels}, width)
    rows = {name: _rows(table) for name, table in figure.tables.items()}
    if "vega-lite" in filled["$schema"]:
        return {**filled, "datasets": rows}
    filled["data"] = [{**entry, "values": rows[entry["name"]]} if entry["name"] in rows else entry for entry in filled["data"]]
    return filled


def _filled(value: Any, places: Mapping[str, int], width: int) -> Any:
    """What `filled` of the page's script does, too."""
    if isinstance(value, dict):
        return {key: _filled(entry, places, width) for key, entry in value.items()}
    if isinstance(value, list):
        return [_filled(entry, places, width) for entry in value]
    if isinstance(value, str) and value.startswith(PER_LEGEND):
        return max(1, int(width * _LEGEND_PART) // int(value.removeprefix(PER_LEGEND)))
    return places.get(value, value) if isinstance(value, str) else value


def _rows(table: Columns) -> list[dict[str, object]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
