"""Designs of a sweep: which are good, and what each parameter does."""

from __future__ import annotations

from collections.abc import Sequence

from vta.pages.draw.marks import categories, name_axis, single, tooltip
from vta.pages.draw.parallel import Axis, Bundle, draw_parallel
from vta.pages.figure import Figure, Spec, columns_of
from vta.pages.palette import BLUE, GREEN, ORANGE, RED, SHORT_NUMBERS, SKY
from vta.sweep.effects import Effect
from vta.sweep.ranking import Entry

__all__ = ["draw_designs", "draw_effects", "draw_pareto"]

_FRONT, _OTHER = "on the front", "others"
_HEIGHT = 330


def draw_pareto(entries: Sequence[Entry], against: str, title: str, criteria: Sequence[str]) -> Figure:
    """Cycles over `against`, ``area`` or ``energy``, with a brush."""
    unit, values = {
        "area": ("mm2", [entry.area_um2 / 1e6 for entry in entries]),
        "energy": ("uJ", [entry.energy_pj / 1e6 for entry in entries]),
    }[against]
    rows = [
        (
            place,
            entry.design.hw.model,
            ", ".join(f"{key} {value}" for key, value in entry.values.items()),
            entry.cycles,
            round(value, 4),
            entry.milliseconds,
            _FRONT if entry.pareto else _OTHER,
        )
        for place, (entry, value) in enumerate(zip(entries, values, strict=True), 1)
    ]
    table = columns_of(("id", "config", "values", "cycles", against, "milliseconds", "kind"), rows)
    spec = single(
        "designs",
        height=_HEIGHT,
        params=[{"name": "picked", "value": []}, {"name": "brush", "select": {"type": "interval"}}],
        mark={"type": "point", "filled": True, "stroke": "white", "strokeWidth": 0.5, "cursor": "crosshair"},
        encoding={
            "x": _measure(against, f"{title}, {unit}"),
            "y": _measure("cycles", "cycles"),
            "color": categories("kind", (_FRONT, _OTHER), (RED, SKY), symbol=None),
            "shape": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": [_FRONT, _OTHER], "range": ["diamond", "circle"]},
                "legend": {"title": None},
            },
            "size": {"condition": {"test": f"datum.kind == '{_FRONT}'", "value": 130}, "value": 60},
            "opacity": {
                "condition": {"test": "length(picked) == 0 || indexof(picked, datum.id) >= 0", "value": 0.9},
                "value": 0.1,
            },
            "order": {"condition": {"test": f"datum.kind == '{_FRONT}'", "value": 1}, "value": 0},
            "tooltip": tooltip(
                ("id", "rank", ","),
                ("values", "values", ""),
                ("cycles", "cycles", ","),
                ("milliseconds", "ms", ",.3f"),
                (against, f"{title}, {unit}", ",.2f"),
                ("config", "config", ""),
            ),
        },
    )
    about = f"Drag over designs to mark them in all figures and in the table. The front is that in {', '.join(criteria)}."
    return Figure(against, f"Cycles over {title}", about, spec, {"designs": table}, columns=3, controls="brush")


def _measure(field: str, title: str) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False, "nice": True, "padding": 12},
        "axis": {**SHORT_NUMBERS, "tickCount": 6},
    }


def draw_designs(entries: Sequence[Entry], axes: Sequence[str]) -> Figure:
    """A line for each design through its parameters and what they cost."""
    columns = [Axis(key, tuple(entry.values[key] for entry in entries), steps=True) for key in axes]
    measures = [
        Axis("cycles", tuple(entry.cycles for entry in entries)),
        Axis("energy, uJ", tuple(round(entry.energy_pj / 1e6, 3) for entry in entries)),
        Axis("area, mm2", tuple(round(entry.area_um2 / 1e6, 3) for entry in entries)),
        Axis("MACs busy, %", tuple(round(100 * entry.busy, 2) for entry in entries)),
    ]
    bundle = Bundle(
        "designs",
        (*columns, *measures),
        tuple(range(1, len(entries) + 1)),
        tuple(f"rank {place}" for place in range(1, len(entries) + 1)),
        len(columns),
        tuple(entry.pareto for entry in entries),
    )
    about = (
        "Each line is a design, coloured by its cycles, red on the front. Drag along an axis to keep the designs that pass "
        "there; several axes go together, a double click clears one."
    )
    return draw_parallel("parallel", "Designs in parallel coordinates", about, [bundle])


def _steps_axis(steps: Sequence[str]) -> Spec:
    """The key above the values, which both are to be read."""
    spec = name_axis("step", steps)
    spec["axis"]["labelExpr"] = "[split(datum.label, ' ')[0], slice(datum.label, indexof(datum.label, ' ') + 1)]"
    return spec


def draw_effects(effects: Sequence[Effect]) -> Figure:
    """What each step of a parameter does to cycles, energy and area."""
    kinds = ("cycles", "energy", "area")
    steps = [f"{effect.key} {effect.before} → {effect.after}" for effect in effects]
    rows = [
        (step, kind, getattr(effect, kind), effect.pairs) for step, effect in zip(steps, effects, strict=True) for kind in kinds
    ]
    spec = single(
        "effects",
        height=44 * len(steps),
        mark={"type": "bar"},
        encoding={
            "y": _steps_axis(steps),
            "yOffset": {"field": "kind", "sort": list(kinds)},
            "x": {"field": "change", "type": "quantitative", "title": "change", "axis": {"format": "+.0%", "tickCount": 5}},
            "color": categories("kind", kinds, (BLUE, ORANGE, GREEN)),
            "tooltip": tooltip(
                ("step", "step", ""), ("kind", "of", ""), ("change", "change", "+.1%"), ("pairs", "pairs of designs", ",")
            ),
        },
    )
    about = "The mean change over all pairs of designs that differ in this parameter alone; to the left is less."
    return Figure(
        "effects", "What each parameter does", about, spec, {"effects": columns_of(("step", "kind", "change", "pairs"), rows)}
    )
