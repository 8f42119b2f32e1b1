"""Tuning: how the best cost fell, every trial, and the knobs of the good ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from vta.pages.data.tuning_log import Trial, TunedWorkload
from vta.pages.draw.marks import single, tooltip
from vta.pages.draw.parallel import Axis, Bundle, draw_parallel
from vta.pages.figure import LABELS, PER_LEGEND, Figure, Spec, columns_of
from vta.pages.palette import BLUE, CYCLE, ORANGE, RED, SHORT_NUMBERS

__all__ = ["draw_curves", "draw_gains", "draw_knobs", "draw_trials"]

_BUNDLES = 24
"""Workloads whose knobs are shown: those whose best trials gained most."""
_MOST_IN_LEGEND = 24
_MOST_LINES = 60
"""Workloads that a figure can show; a log of records that were picked from others has hundreds."""
_STEPS = 8
"""Values of a knob, up to which they are spread evenly."""
_DASHES = ([1, 0], [7, 3], [2, 2], [10, 3, 2, 3], [4, 4])


def _most_tuned(workloads: Sequence[TunedWorkload]) -> list[TunedWorkload]:
    """Those with results, and of many those with the most trials, in their order."""
    found = [workload for workload in workloads if workload.curve]
    kept = sorted(range(len(found)), key=lambda index: (-found[index].count, index))[:_MOST_LINES]
    return [found[index] for index in sorted(kept)]


def _left_out(workloads: Sequence[TunedWorkload]) -> str:
    rest = sum(bool(workload.curve) for workload in workloads) - _MOST_LINES
    return f" Shown are the {_MOST_LINES} with the most trials; the table has {rest} more." if rest > 0 else ""


def draw_curves(workloads: Sequence[TunedWorkload]) -> Figure:
    """A line for each workload: the best so far over the best of all."""
    found = _most_tuned(workloads)
    rows = [
        (workload.name, workload.identity, trial, round(cost / workload.best, 5), cost)
        for workload in found
        for trial, cost in (*workload.curve, (workload.count, workload.best))
    ]
    names = [workload.name for workload in found]
    worst = max(1.05, *(row[3] for row in rows))
    by_name: Spec = {"field": "name", "type": "nominal"}
    # With more, a line is chosen by a click on it.
    few = len(names) <= _MOST_IN_LEGEND
    choose: Spec = {"name": "workload_name", "select": {"type": "point", "fields": ["name"]}} | (
        {"bind": "legend"} if few else {}
    )
    look = {"title": None, "symbolType": "stroke", "symbolStrokeWidth": 2.5, "columns": f"{PER_LEGEND}330", "labelLimit": 300}
    legend = look if few else None
    spec = single(
        "curves",
        height=320,
        params=[choose],
        mark={"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
        encoding={
            "x": {
                "field": "trial",
                "type": "quantitative",
                "title": "trials",
                "axis": {"grid": False, "tickCount": 8},
                "scale": {"nice": False},
            },
            "y": {
                "field": "ratio",
                "type": "quantitative",
                "title": "best so far / best found",
                "scale": {"type": "log", "nice": False, "domain": [1, worst]},
                "axis": {"format": "~g", "tickCount": 6},
            },
            "color": by_name | {"scale": {"domain": names, "range": list(CYCLE)}, "legend": legend},
            "strokeDash": by_name
            | {
                "scale": {"domain": names, "range": [_DASHES[index // len(CYCLE) % len(_DASHES)] for index in range(len(names))]},
                "legend": legend,
            },
            "opacity": {"condition": {"param": "workload_name", "value": 1}, "value": 0.08},
            "tooltip": tooltip(
                ("identity", "workload", ""), ("trial", "trial", ","), ("cost", "cost", ",.6~g"), ("ratio", "of the best", ".3f")
            ),
        },
    )
    where = "in the legend" if few else "by a click"
    about = f"How soon each workload came near its best schedule. Choose one {where}; a double click on the figure shows all."
    about += _left_out(workloads)
    return Figure(
        "curves", "Tuning curves", about, spec, {"curves": columns_of(("name", "identity", "trial", "ratio", "cost"), rows)}
    )


def draw_gains(workloads: Sequence[TunedWorkload]) -> Figure:
    """The first and the best cost of each workload."""
    found = _most_tuned(workloads)
    rows = [
        (workload.name, workload.identity, kind, cost / workload.first, cost, workload.unit)
        for workload in found
        for kind, cost in (("first", workload.first), ("best", workload.best))
    ]
    x: Spec = {
        "field": "ratio",
        "type": "quantitative",
        "title": "cost over that of the first trial",
        "axis": {"format": ".0%", "tickCount": 6},
        "scale": {"zero": False, "padding": 12},
    }
    names = [workload.name for workload in found]
    y: Spec = {
        "field": "name",
        "type": "nominal",
        "sort": names,
        "axis": {"title": None, "labelLimit": LABELS, "ticks": False, "domain": False},
    }
    spec = single(
        "gains",
        height=max(60, (22 if len(names) <= _MOST_IN_LEGEND else 15) * len(names)),
        encoding={"y": y},
        layer=[
            {"mark": {"type": "line", "strokeWidth": 3, "color": "#9aa5b1"}, "encoding": {"x": x, "detail": {"field": "name"}}},
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "encoding": {
                    "x": x,
                    "color": {
                        "field": "kind",
                        "type": "nominal",
                        "scale": {"domain": ["first", "best"], "range": [ORANGE, BLUE]},
                        "legend": {"title": None, "symbolType": "circle"},
                    },
                    "tooltip": tooltip(
                        ("identity", "workload", ""),
                        ("kind", "trial", ""),
                        ("cost", "cost", ",.6~g"),
                        ("unit", "in", ""),
                        ("ratio", "of the first", ".1%"),
                    ),
                },
            },
        ],
    )
    about = "What tuning gained: from the first trial, as a rule the compiler's own schedule, to the best." + _left_out(workloads)
    return Figure(
        "gains", "First and best", about, spec, {"gains": columns_of(("name", "identity", "kind", "ratio", "cost", "unit"), rows)}
    )


def draw_trials(workloads: Sequence[TunedWorkload]) -> Figure:
    """Every trial of one workload, which is chosen."""
    shown = [workload for workload in workloads if workload.curve]
    rows = [
        (workload.name, trial.number, round(trial.cost, 3), _knobs(trial), trial.number == workload.curve[-1][0])
        for workload in shown
        for trial in workload.trials
        if math.isfinite(trial.cost)
    ]
    names = [workload.name for workload in shown]
    chosen: Spec = {"name": "workload", "value": names[0]}
    if len(names) > 1:
        chosen["bind"] = {"input": "select", "options": names, "name": "workload"}
    units = sorted({workload.unit for workload in shown})
    spec = single(
        "trials",
        height=280,
        params=[chosen],
        transform=[{"filter": "datum.name == workload"}],
        mark={"type": "point", "filled": True, "size": 42, "opacity": 0.75},
        encoding={
            "x": {"field": "trial", "type": "quantitative", "title": "trial", "axis": {"grid": False, "tickCount": 8}},
            "y": {
                "field": "cost",
                "type": "quantitative",
                "title": " or ".join(units),
                "scale": {"type": "log", "nice": False, "padding": 12},
                "axis": {**SHORT_NUMBERS, "tickCount": 6},
            },
            "color": {"condition": {"test": "datum.best", "value": RED}, "value": BLUE},
            "size": {"condition": {"test": "datum.best", "value": 140}, "value": 42},
            "tooltip": tooltip(("trial", "trial", ","), ("cost", "cost", ",.6~g"), ("knobs", "knobs", "")),
        },
    )
    about = "Each dot is a trial of the workload that is chosen below; red is the best. Trials that failed are left out."
    return Figure("trials", "All trials", about, spec, {"trials": columns_of(("name", "trial", "cost", "knobs", "best"), rows)})


def draw_knobs(workloads: Sequence[TunedWorkload]) -> Figure | None:
    """The knobs of the trials of one workload, which is chosen; None where no workload has two trials that differ."""
    ranked = sorted((workload for workload in workloads if workload.curve), key=lambda workload: workload.best / workload.first)
    bundles = [bundle for workload in ranked[:_BUNDLES] if (bundle := _bundle(workload)) is not None]
    if not bundles:
        return None
    about = (
        "Each line is a trial through its knobs to its cost, blue where that is small, red the best. Drag along an axis to keep "
        "the trials that pass there; a double click clears it."
    )
    return draw_parallel("knobs", "What good schedules have in common", about, bundles)


def _bundle(workload: TunedWorkload) -> Bundle | None:
    trials = [trial for trial in workload.trials if math.isfinite(trial.cost)]
    axes = list(_axes(trials))
    if not axes or len(trials) < 2:
        return None
    axes.append(Axis(workload.unit, tuple(round(trial.cost, 3) for trial in trials)))
    names = tuple(f"trial {trial.number}" for trial in trials)
    marked = tuple(trial.number == workload.curve[-1][0] for trial in trials)
    return Bundle(workload.name, tuple(axes), tuple(trial.number for trial in trials), names, len(axes) - 1, marked)


def _axes(trials: Sequence[Trial]) -> Iterator[Axis]:
    """One for each knob that has more than one value, and that all trials have."""
    names = dict.fromkeys(name for trial in trials for name, _ in trial.knobs)
    for name in names:
        values = [dict(trial.knobs).get(name) for trial in trials]
        if None in values or len(set(values)) < 2:
            continue
        numbers = all(isinstance(value, int | float) for value in values)
        yield Axis(name, tuple(values), steps=not numbers or len(set(values)) <= _STEPS)


def _knobs(trial: Trial) -> str:
    return ", ".join(f"{name} {value}" for name, value in trial.knobs)
