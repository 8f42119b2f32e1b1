"""What each unit did when: a strip of the whole run to choose from, and what was chosen in detail."""

from __future__ import annotations

from collections.abc import Sequence

from vta.pages.data.names import short_names
from vta.pages.data.unit_spans import STATES, UnitShares, UnitSpans
from vta.pages.data.windows import Window
from vta.pages.draw.marks import categories, cycle_axis, name_axis, single, tooltip
from vta.pages.figure import PER_LEGEND, Columns, Figure, columns_of
from vta.pages.palette import SHORT_NUMBERS, STATE_COLORS

__all__ = ["draw_overview", "draw_timeline", "window_params"]

_LAYERS = "layers"
_LAYER_COLORS = ("#4f5b6e", "#76849a")
"""On which white letters can be read."""
_ROWS = (_LAYERS, "load", "compute", "store", "fetch")


def window_params(end: float) -> list[dict[str, object]]:
    """The signals that say which cycles are shown."""
    return [{"name": "from", "value": 0}, {"name": "to", "value": end}]


def draw_overview(shares: Sequence[UnitShares]) -> Figure:
    """The state of the compute unit over the whole run, with a brush that chooses cycles for the other figures."""
    compute = next(unit for unit in shares if unit.unit == "compute")
    rows = [
        (start, state, index, share)
        for index, (state, parts) in enumerate(compute.shares.items())
        for start, share in zip(compute.edges, (*parts, parts[-1]), strict=True)
    ]
    spec = single(
        "overview",
        height=70,
        params=[{"name": "window", "select": {"type": "interval", "encodings": ["x"]}}],
        mark={"type": "area", "interpolate": "step-after", "cursor": "crosshair", "line": False},
        encoding={
            "x": {
                "field": "start",
                "type": "quantitative",
                "title": "cycles: drag over a stretch to see it in detail",
                "scale": {"domain": [0, compute.edges[-1]], "nice": False},
                "axis": {"grid": False, **SHORT_NUMBERS, "tickCount": 6},
            },
            "y": {
                "field": "share",
                "type": "quantitative",
                "stack": "zero",
                "title": "compute",
                "scale": {"domain": [0, 1]},
                "axis": {"labels": False, "ticks": False, "grid": False},
            },
            "color": categories("state", list(STATES.values()), STATE_COLORS),
            "order": {"field": "rank"},
        },
    )
    about = "How much of each stretch of the run the compute unit works, and what it waits for."
    table = columns_of(("start", "state", "rank", "share"), rows)
    return Figure("overview", "The run at a glance", about, spec, {"overview": table}, controls="cycles")


def draw_timeline(spans: UnitSpans, layers: Sequence[Window], end: int) -> Figure:
    """A row for the layers and one for each unit."""
    states = list(STATES.values())
    spec = single(
        "spans",
        params=window_params(end),
        height=40 * len(_ROWS),
        transform=[{"filter": "datum.end > from && datum.start < to"}],
        encoding={
            "x": cycle_axis("start"),
            "x2": {"field": "end"},
            "y": name_axis("unit", _ROWS) | {"scale": {"domain": list(_ROWS), "paddingInner": 0.25}},
        },
        layer=[
            {
                "mark": {"type": "bar", "clip": True, "strokeWidth": 0},
                "encoding": {
                    "color": categories("state", [*states, "layer", "layer after it"], (*STATE_COLORS, *_LAYER_COLORS))
                    | {"legend": {"title": None, "values": states, "columns": f"{PER_LEGEND}170"}},
                    "tooltip": tooltip(
                        ("layer", "layer", ""),
                        ("unit", "unit", ""),
                        ("state", "state", ""),
                        ("what", "instruction", ""),
                        ("start", "from", ","),
                        ("end", "to", ","),
                        ("cycles", "cycles", ","),
                    ),
                },
            },
            {
                "transform": [
                    {"filter": f"datum.unit == '{_LAYERS}'"},
                    {"calculate": "max(datum.start, from)", "as": "left"},
                    {"calculate": "min(datum.end, to)", "as": "right"},
                    {"calculate": "(datum.left + datum.right) / 2", "as": "middle"},
                    {
                        "calculate": "(datum.right - datum.left) * width / (to - from) > 7 * length(datum.name)"
                        " ? datum.name : ''",
                        "as": "label",
                    },
                ],
                "mark": {"type": "text", "clip": True, "fontSize": 11, "fill": "white", "tooltip": False},
                "encoding": {"x": cycle_axis("middle"), "x2": None, "text": {"field": "label"}},
            },
        ],
    )
    about = "Each row is a unit; the grey bars above say which layer is completed when. Hover over a span to see its instruction."
    if spans.step > 1:
        about += f" The run is long: spans are drawn in steps of {spans.step:,} cycles, each in the state that takes most of it."
    return Figure("timeline", "Timeline per unit", about, spec, {"spans": _table(spans, layers)})


def _table(spans: UnitSpans, layers: Sequence[Window]) -> Columns:
    short = short_names([window.operator for window in layers])
    rows: list[tuple[object, ...]] = [
        (span.unit, span.start, span.end, span.end - span.start, span.state, span.operator, span.what, "") for span in spans.spans
    ]
    shades = ("layer", "layer after it")
    rows += [
        (
            _LAYERS,
            window.start,
            window.end,
            window.end - window.start,
            shades[index % 2],
            window.operator,
            "",
            short[window.operator],
        )
        for index, window in enumerate(layers)
    ]
    return columns_of(("unit", "start", "end", "cycles", "state", "layer", "what", "name"), rows)
