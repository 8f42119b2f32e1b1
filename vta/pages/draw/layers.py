"""Cycles of each layer with what they went to, and what each unit did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.pages.data.cause_groups import Part
from vta.pages.data.names import short_names
from vta.pages.draw.marks import categories, name_axis, single, tooltip
from vta.pages.figure import Figure, columns_of
from vta.pages.palette import CAUSE_COLORS, GREY, SHORT_NUMBERS, STATE_COLORS
from vta.support.dataclass import dataclass

__all__ = ["LayerBar", "draw_layers", "draw_units"]

_STEPS = (14, 22)
"""Pixels of a bar, where there are many and where there are few."""
_ROOM = 900
_FEW = 12


@dataclass(frozen=True)
class LayerBar:
    """The cycles of a layer in parts."""

    layer: str
    place: str
    """The region, or the host."""
    parts: Sequence[Part]


def draw_layers(bars: Sequence[LayerBar], groups: Sequence[str], about: str, colors: Sequence[str] = CAUSE_COLORS) -> Figure:
    """One bar a layer, in the order of the program; parts have the colour of their group, one of `groups`."""
    short = short_names([bar.layer for bar in bars])
    rows = [
        (short[bar.layer], bar.layer, bar.place, group, groups.index(group), what, cycles, cycles / _total(bar))
        for bar in bars
        for group, what, cycles in bar.parts
    ]
    spec = single(
        "layers",
        height=_step(len(bars)) * len(bars),
        params=[
            {"name": "chosen_layer", "value": ""},
            {"name": "cause", "select": {"type": "point", "fields": ["group"]}, "bind": "legend"},
        ],
        mark={"type": "bar", "cursor": "pointer"},
        encoding={
            "y": name_axis("name", [short[bar.layer] for bar in bars]),
            "x": {
                "field": "cycles",
                "type": "quantitative",
                "title": "cycles",
                "axis": {**SHORT_NUMBERS, "orient": "top" if len(bars) > _FEW else "bottom", "tickCount": 6},
            },
            "color": categories("group", groups, colors),
            "detail": {"field": "what"},
            "order": {"field": "rank"},
            "opacity": {
                "condition": {
                    "test": {"and": [{"param": "cause"}, "chosen_layer == '' || datum.layer == chosen_layer"]},
                    "value": 1,
                },
                "value": 0.22,
            },
            "tooltip": tooltip(
                ("layer", "layer", ""),
                ("place", "runs in", ""),
                ("group", "cause", ""),
                ("what", "what it is", ""),
                ("cycles", "cycles", ","),
                ("share", "of the layer", ".1%"),
            ),
        },
    )
    table = columns_of(("name", "layer", "place", "group", "rank", "what", "cycles", "share"), rows)
    return Figure("layers", "Cycles per layer and their causes", about, spec, {"layers": table})


def _total(bar: LayerBar) -> int:
    return max(1, sum(cycles for _, _, cycles in bar.parts))


def _step(bars: int) -> int:
    return max(_STEPS[0], min(_STEPS[1], _ROOM // max(1, bars)))


def draw_units(units: Mapping[str, Mapping[str, int]]) -> Figure:
    """One bar a unit over all cycles of the run, in parts by state."""
    states = ("works", "waits for another unit", "waits for memory", "idle")
    keys = ("busy", "token", "memory", "idle")
    rows = [
        (unit, state, index, counts[key], counts[key] / max(1, sum(counts.values())))
        for unit, counts in units.items()
        for index, (key, state) in enumerate(zip(keys, states, strict=True))
        if counts.get(key)
    ]
    spec = single(
        "units",
        height=330,
        mark={"type": "bar"},
        encoding={
            "y": name_axis("unit", list(units)),
            "x": {
                "field": "share",
                "type": "quantitative",
                "stack": "zero",
                "title": "part of all cycles",
                "axis": {"format": ".0%", "tickCount": 5},
                "scale": {"domain": [0, 1]},
            },
            "color": categories("state", states, (*STATE_COLORS, GREY)),
            "order": {"field": "rank"},
            "tooltip": tooltip(
                ("unit", "unit", ""), ("state", "state", ""), ("cycles", "cycles", ","), ("share", "of all", ".1%")
            ),
        },
    )
    about = "Load, compute and store work at the same time; the one that is busy all the time sets the pace."
    return Figure(
        "units",
        "What each unit did",
        about,
        spec,
        {"units": columns_of(("unit", "state", "rank", "cycles", "share"), rows)},
        columns=3,
    )
