"""Parts of specifications that several figures have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vta.pages.figure import LABELS, PER_LEGEND, WIDTH, Spec
from vta.pages.palette import SHORT_NUMBERS
from vta.pages.vega import VEGA_LITE_SCHEMA

__all__ = ["categories", "cycle_axis", "name_axis", "single", "tooltip"]

_LETTER, _SYMBOL = 7, 26
"""Pixels of an entry of a legend, for a letter and for the rest."""


def single(table: str, **parts: Any) -> Spec:
    """A specification of one view, as wide as there is room, over one table."""
    return {
        "$schema": VEGA_LITE_SCHEMA,
        "width": WIDTH,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"name": table},
        **parts,
    }


def categories(
    field: str, names: Sequence[str], colors: Sequence[str], title: str | None = None, symbol: str | None = "square"
) -> Spec:
    """The colour of a mark by a field of few values, always in the same colours, with a legend above."""
    legend: Spec = {"title": title}
    if symbol is not None:
        legend["symbolType"] = symbol
    if symbol == "stroke":
        legend["symbolStrokeWidth"] = 3
    # Where there is no room for all beside each other, they stand below each other.
    legend["columns"] = f"{PER_LEGEND}{max(map(len, names)) * _LETTER + _SYMBOL}"
    scale = {"domain": list(names), "range": list(colors[: len(names)])}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}


def name_axis(field: str, order: Sequence[str], title: str | None = None) -> Spec:
    """Names along y, in their order, cut where there is no room."""
    axis = {"title": title, "labelLimit": LABELS, "domain": False, "ticks": False, "labelPadding": 6}
    return {"field": field, "type": "nominal", "sort": list(order), "axis": axis}


def cycle_axis(field: str, title: str | None = "cycles") -> Spec:
    """Cycles along x, from the signal `from` to the signal `to`, which pages move."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domainMin": {"expr": "from"}, "domainMax": {"expr": "to"}, "nice": False, "zero": False},
        "axis": {"grid": False, **SHORT_NUMBERS, "tickCount": 6},
    }


def tooltip(*fields: tuple[str, str, str]) -> list[Spec]:
    """Lines of a box that appears over a mark: field, title, and format ("" for texts)."""
    lines = []
    for field, title, form in fields:
        line: Spec = {"field": field, "title": title, "type": "quantitative" if form else "nominal"}
        if form:
            line["format"] = form
        lines.append(line)
    return lines
