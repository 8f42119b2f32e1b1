"""Parallel coordinates: a line through the values of each row, with a brush on each axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from vta.pages.figure import WIDTH, Columns, Figure, Spec, columns_of
from vta.pages.palette import RED, VALUE_RANGE
from vta.pages.vega import VEGA_SCHEMA
from vta.support.dataclass import dataclass

__all__ = ["Axis", "Bundle", "draw_parallel"]

_HEIGHT = 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 44, 58, 14
_HIT = 34
"""Pixels around an axis in which a brush begins."""
_LEAST_BETWEEN = 84
"""Pixels between axes that leave room for their names."""
_TICKS = 4
_SHORTEST_BRUSH = 0.015
_SLACK = 0.02
"""Of an axis: what lies so near the end of a brush is in it."""


@dataclass(frozen=True)
class Axis:
    """One axis, and the value of each row there."""

    title: str
    values: tuple[object, ...]
    """Numbers; or texts and few numbers, which are spread evenly where `steps` is set."""
    steps: bool = False
    texts: tuple[str, ...] = field(default=())
    """How values are written in the box over a line; () for as they are."""


@dataclass(frozen=True)
class Bundle:
    """Rows that share their axes; where there are several, one of them is shown and can be chosen by its name."""

    name: str
    axes: tuple[Axis, ...]
    ids: tuple[object, ...]
    names: tuple[str, ...]
    """Of the rows."""
    cost: int
    """Position of the axis that colours the lines."""
    marked: tuple[bool, ...]
    """Rows that stand out."""


def draw_parallel(name: str, title: str, about: str, bundles: Sequence[Bundle]) -> Figure:
    """A figure of one or several bundles; what its brushes choose is the signal `ranges`, its rows the data set `kept`."""
    most = max(len(bundle.axes) for bundle in bundles)
    tables = {
        "rows": _rows(bundles, most),
        "axes": _axes(bundles),
        "ticks": _ticks(bundles),
    }
    spec: Spec = {
        "$schema": VEGA_SCHEMA,
        "width": WIDTH,
        "height": _HEIGHT,
        "autosize": "none",
        "padding": {"left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM},
        "signals": _signals([bundle.name for bundle in bundles], most),
        "data": [
            *(
                {"name": table, "transform": [{"type": "filter", "expr": "datum.bundle == bundle"}]}
                for table in ("axes", "ticks")
            ),
            {"name": "rows", "transform": [{"type": "filter", "expr": "datum.bundle == bundle"}]},
            {"name": "kept", "source": "rows", "transform": [{"type": "filter", "expr": _inside(most)}]},
        ],
        "scales": [
            {"name": "color", "type": "linear", "domain": [0, 0.5, 1], "range": list(VALUE_RANGE)},
        ],
        "marks": _marks(most),
    }
    return Figure(name, title, about, spec, tables, least=_LEAST_BETWEEN * most, beside=_LEFT + _RIGHT, controls="brush")


def _signals(names: Sequence[str], most: int) -> list[Spec]:
    choice: Spec = {"name": "bundle", "value": names[0]}
    if len(names) > 1:
        choice["bind"] = {"input": "select", "options": list(names), "name": "workload"}
    spans = [f"span({_brush(index)} || [0, 0]) > {_SHORTEST_BRUSH} ? {_brush(index)} : null" for index in range(most)]
    return [
        choice,
        {"name": "picked", "value": []},
        {"name": "count", "update": "length(data('axes'))"},
        *(_brush_signal(index) for index in range(most)),
        {"name": "ranges", "update": f"[{', '.join(spans)}]"},
    ]


def _brush(index: int) -> str:
    return f"brush_{index}"


def _brush_signal(index: int) -> Spec:
    at = "clamp(1 - y() / height, 0, 1)"
    return {
        "name": _brush(index),
        "value": None,
        "on": [
            {"events": f"@hit_{index}:pointerdown", "update": f"[{at}, {at}]"},
            {
                "events": f"[@hit_{index}:pointerdown, window:pointerup] > window:pointermove!",
                "update": f"[{_brush(index)}[0], {at}]",
            },
            {"events": f"@hit_{index}:dblclick", "update": "null"},
            {"events": {"signal": "bundle"}, "update": "null"},
        ],
    }


def _inside(most: int) -> str:
    parts = (
        f"(!ranges[{index}] || (datum.p{index} > extent(ranges[{index}])[0] - {_SLACK} "
        f"&& datum.p{index} < extent(ranges[{index}])[1] + {_SLACK}))"
        for index in range(most)
    )
    return " && ".join(parts)


def _place(index: int) -> str:
    return f"{index} / max(1, count - 1) * width"


def _line(most: int) -> str:
    """The path of a row."""
    parts = [
        f"({index} < count ? '{'M' if not index else 'L'}' + ({_place(index)}) + ',' + (1 - datum.p{index}) * height : '')"
        for index in range(most)
    ]
    return " + ".join(parts)


def _marks(most: int) -> list[Spec]:
    path = {"signal": _line(most)}
    chosen = "length(picked) == 0 || indexof(picked, datum.id) >= 0"
    thin: Spec = {
        "type": "path",
        "name": "lines",
        "from": {"data": "rows"},
        "interactive": False,
        "encode": {
            "update": {
                "path": path,
                "fill": {"value": None},
                "stroke": [{"test": "datum.marked", "value": RED}, {"scale": "color", "field": "cost"}],
                "strokeWidth": {"signal": "datum.marked ? 2.2 : 1.3"},
                "strokeOpacity": {"signal": f"{chosen} ? (datum.marked ? 0.95 : 0.7) : 0.05"},
                "zindex": {"signal": "datum.marked ? 1 : 0"},
            }
        },
    }
    near: Spec = {
        "type": "path",
        "name": "near",
        "from": {"data": "rows"},
        "encode": {
            "update": {
                "path": path,
                "fill": {"value": None},
                "stroke": {"value": "transparent"},
                "strokeWidth": {"value": 8},
                "tooltip": {"signal": f"{chosen} ? datum.about : null"},
            },
            "hover": {"stroke": {"scale": "color", "field": "cost"}, "strokeOpacity": {"value": 0.35}},
        },
    }
    rules: Spec = {
        "type": "rule",
        "from": {"data": "axes"},
        "interactive": False,
        "encode": {
            "update": {
                "x": {"signal": _place_of("datum")},
                "y": {"value": 0},
                "y2": {"signal": "height"},
                "strokeWidth": {"value": 1.2},
            }
        },
    }
    return [thin, near, rules, *(_text_marks()), *(mark for index in range(most) for mark in _brush_marks(index))]


def _place_of(datum: str) -> str:
    return f"{datum}.axis / max(1, count - 1) * width"


def _text_marks() -> list[Spec]:
    inward = f"datum.axis == 0 ? {6 - _LEFT} : datum.axis == count - 1 ? {_RIGHT - 6} : 0"
    titles: Spec = {
        "type": "text",
        "from": {"data": "axes"},
        "interactive": False,
        "encode": {
            "update": {
                "x": {"signal": f"{_place_of('datum')} + ({inward})"},
                "y": {"signal": "datum.axis % 2 ? -34 : -16"},
                "text": {"field": "title"},
                "align": {"signal": "datum.axis == 0 ? 'left' : datum.axis == count - 1 ? 'right' : 'center'"},
                "fontSize": {"value": 12},
                "fontWeight": {"value": 600},
                "limit": {"signal": f"2 * width / max(1, count - 1) + {_LEFT}"},
            }
        },
    }
    ticks: Spec = {
        "type": "text",
        "from": {"data": "ticks"},
        "interactive": False,
        "encode": {
            "update": {
                "x": {"signal": f"{_place_of('datum')} + (datum.axis == count - 1 ? 6 : -6)"},
                "y": {"signal": "(1 - datum.at) * height"},
                "text": {"field": "text"},
                "align": {"signal": "datum.axis == count - 1 ? 'left' : 'right'"},
                "baseline": {"value": "middle"},
                "fontSize": {"value": 11},
                "limit": {"value": 76},
            }
        },
    }
    return [titles, {**ticks, "style": "halo"}, ticks]


def _brush_marks(index: int) -> list[Spec]:
    center = _place(index)
    shown = f"ranges[{index}]"
    return [
        {
            "type": "rect",
            "interactive": False,
            "encode": {
                "update": {
                    "x": {"signal": f"{center} - 8"},
                    "width": {"value": 16},
                    "y": {"signal": f"{shown} ? (1 - max({shown}[0], {shown}[1])) * height : 0"},
                    "y2": {"signal": f"{shown} ? (1 - min({shown}[0], {shown}[1])) * height : 0"},
                    "fill": {"value": "#8894a8"},
                    "fillOpacity": {"signal": f"{shown} ? 0.35 : 0"},
                    "stroke": {"value": "#8894a8"},
                    "strokeOpacity": {"signal": f"{shown} ? 1 : 0"},
                }
            },
        },
        {
            "type": "rect",
            "name": f"hit_{index}",
            "encode": {
                "update": {
                    "x": {"signal": f"{center} - {_HIT // 2}"},
                    "width": {"signal": f"{index} < count ? {_HIT} : 0"},
                    "y": {"value": -6},
                    "y2": {"signal": "height + 6"},
                    "fill": {"value": "transparent"},
                    "cursor": {"value": "ns-resize"},
                }
            },
        },
    ]


def _rows(bundles: Sequence[Bundle], most: int) -> Columns:
    names = ("bundle", "id", "marked", "cost", "about", *(f"p{index}" for index in range(most)))
    rows: list[tuple[object, ...]] = []
    for bundle in bundles:
        places = [_places(axis) for axis in bundle.axes]
        for row, identity in enumerate(bundle.ids):
            own = tuple(places[index][row] if index < len(places) else 0.0 for index in range(most))
            about = {"": bundle.names[row], **{axis.title: _written(axis, row) for axis in bundle.axes}}
            rows.append((bundle.name, identity, bundle.marked[row], places[bundle.cost][row], about, *own))
    return columns_of(names, rows)


def _written(axis: Axis, row: int) -> str:
    value = axis.values[row]
    if axis.texts:
        return axis.texts[row]
    return f"{value:,}" if isinstance(value, int) else str(value)


def _places(axis: Axis) -> list[float]:
    """The height of each value on its axis, from 0 to 1."""
    if axis.steps:
        distinct = _distinct(axis)
        place = {value: index / max(1, len(distinct) - 1) if len(distinct) > 1 else 0.5 for index, value in enumerate(distinct)}
        return [round(place[value], 4) for value in axis.values]
    numbers = [float(value) for value in axis.values if isinstance(value, int | float)]
    low, high = min(numbers), max(numbers)
    return [round((number - low) / (high - low), 4) if high > low else 0.5 for number in numbers]


def _distinct(axis: Axis) -> list[object]:
    values = list(dict.fromkeys(axis.values))
    return sorted(values, key=lambda value: (isinstance(value, str), value if isinstance(value, int | float) else 0, str(value)))


def _axes(bundles: Sequence[Bundle]) -> Columns:
    rows = [(bundle.name, index, axis.title) for bundle in bundles for index, axis in enumerate(bundle.axes)]
    return columns_of(("bundle", "axis", "title"), rows)


def _ticks(bundles: Sequence[Bundle]) -> Columns:
    rows = [
        (bundle.name, index, at, text)
        for bundle in bundles
        for index, axis in enumerate(bundle.axes)
        for at, text in _axis_ticks(axis)
    ]
    return columns_of(("bundle", "axis", "at", "text"), rows)


def _axis_ticks(axis: Axis) -> list[tuple[float, str]]:
    if axis.steps:
        distinct = _distinct(axis)
        last = max(1, len(distinct) - 1)
        step = max(1, len(distinct) // 12)
        return [
            (index / last if len(distinct) > 1 else 0.5, str(value)) for index, value in enumerate(distinct) if index % step == 0
        ]
    numbers = [float(value) for value in axis.values if isinstance(value, int | float)]
    low, high = min(numbers), max(numbers)
    if low == high:
        return [(0.5, _short(low))]
    return [(index / _TICKS, _short(low + (high - low) * index / _TICKS)) for index in range(_TICKS + 1)]


def _short(value: float) -> str:
    """At most three digits and a letter."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
