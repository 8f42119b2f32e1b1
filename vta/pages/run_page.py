"""The page of a run of which only the JSON that `vta run` printed is left."""

from __future__ import annotations

from collections.abc import Sequence

from vta.pages.data.cause_groups import Part
from vta.pages.data.names import short_names
from vta.pages.data.run_file import RunFile
from vta.pages.draw.layers import LayerBar, draw_layers, draw_units
from vta.pages.draw.marks import name_axis, single, tooltip
from vta.pages.draw.resources import draw_parts
from vta.pages.figure import Figure, columns_of
from vta.pages.page import ABOUT_ADVICE, Fact, Note, Page, Section, TablePart
from vta.pages.palette import BLUE, GREY, ORANGE, PURPLE, RED, SHORT_NUMBERS

__all__ = ["run_page"]

_CAUSES = ("computes", "waits for another unit", "waits for memory", "the rest")
_KEYS = ("busy", "token", "memory")
_COLORS = (BLUE, ORANGE, RED, GREY)
_MICRO = 1e-6


def run_page(run: RunFile, name: str) -> Page:
    """Make the page of a run."""
    about = (
        "What the compute unit did for each layer; the rest is what overlaps with its neighbours. A compiled network in place of "
        "this file gives the causes to the cycle, and the timeline."
    )
    cycles: list[Figure | Note] = [draw_layers(_bars(run), _CAUSES, about, _COLORS), draw_units(run.units), _spans(run)]
    if run.advice:
        cycles.append(Note("Advice", run.advice, ABOUT_ADVICE))
    energy = {part: value * _MICRO for part, value in run.energy_pj.items()}
    area = {part: value * _MICRO for part, value in run.area_um2.items()}
    resources = (
        draw_parts("area", "Area", f"Arithmetic and memories: {run.technology}.", area, "mm2"),
        draw_parts("energy", "Energy of the run", f"{energy.get('total', 0.0):,.1f} uJ by the same figures.", energy, "uJ"),
        draw_parts(
            "bytes",
            "Bytes moved",
            "Between DRAM and the chip.",
            {part: float(moved) for part, moved in run.bytes_moved.items()},
            "bytes",
        ),
    )
    sections = (
        Section("cycles", "Cycles", tuple(cycles)),
        Section("resources", "Resources", resources),
        Section("tables", "All layers", (_table(run),)),
    )
    return Page(name, "run", f"One run on the cycle engine, preset {run.preset}.", tuple(_facts(run)), sections)


def _bars(run: RunFile) -> list[LayerBar]:
    own = {row.layer: row for row in run.layers if row.where == "vta"}
    bars = []
    for span in sorted(run.spans, key=lambda span: span.last):
        row = own.get(span.operator)
        if row is None:
            continue
        left = row.cycles
        parts: list[Part] = []
        for key, cause in zip(_KEYS, _CAUSES, strict=False):
            cycles = min(left, span.compute[key])
            left -= cycles
            parts.append((cause, cause, cycles))
        bars.append(LayerBar(span.operator, span.region, [*parts, (_CAUSES[-1], _CAUSES[-1], left)]))
    return bars


def _spans(run: RunFile) -> Figure:
    starts = _region_starts(run)
    rows = [
        (span.operator, span.region, starts[span.region] + span.first, starts[span.region] + span.last, span.last - span.first)
        for span in run.spans
    ]
    short = short_names([row[0] for row in rows])
    table = columns_of(("name", "layer", "region", "start", "end", "cycles"), [(short[row[0]], *row) for row in rows])
    spec = single(
        "spans",
        height=max(80, min(900, 18 * len(rows))),
        mark={"type": "bar", "color": PURPLE},
        encoding={
            "y": name_axis("name", [short[row[0]] for row in rows]),
            "x": {"field": "start", "type": "quantitative", "title": "cycles", "axis": {**SHORT_NUMBERS, "tickCount": 6}},
            "x2": {"field": "end"},
            "tooltip": tooltip(
                ("layer", "layer", ""),
                ("region", "region", ""),
                ("start", "from", ","),
                ("end", "to", ","),
                ("cycles", "cycles", ","),
            ),
        },
    )
    about = "From the first instruction of each operator to its last: where bars lie above each other, operators overlap."
    return Figure("spans", "When each layer ran", about, spec, {"spans": table}, columns=3)


def _region_starts(run: RunFile) -> dict[str, int]:
    """Regions one after the other, each as long as its last operator takes."""
    starts: dict[str, int] = {}
    at = 0
    for region in dict.fromkeys(span.region for span in run.spans):
        starts[region] = at
        at += max(span.last for span in run.spans if span.region == region)
    return starts


def _facts(run: RunFile) -> list[Fact]:
    host = [row for row in run.layers if row.where == "host"]
    return [
        Fact(
            "cycles",
            f"{run.cycles:,}",
            f"{run.cycles / run.clock_mhz / 1000:,.3f} ms at {run.clock_mhz:g} MHz, accelerator alone",
        ),
        Fact("layers on the accelerator", f"{len(run.layers) - len(host)}"),
        Fact("layers on the host", f"{len(host)}"),
        Fact("bytes moved", f"{sum(run.bytes_moved.values()):,}"),
        Fact("energy", f"{run.energy_pj.get('total', 0.0) * _MICRO:,.1f} uJ", run.technology),
    ]


def _table(run: RunFile) -> TablePart:
    rows: Sequence[tuple[object, ...]] = [
        (row.layer, row.where, row.region, ", ".join(dict.fromkeys(row.operators)), row.cycles, row.macs, row.why)
        for row in run.layers
    ]
    headers = ("layer", "where", "region", "operators", "cycles", "MACs", "why")
    about = "On the host, cycles are the wall time of the run in cycles of the accelerator's clock."
    return TablePart("layers", "Layers", headers, tuple(rows), tuple(row.layer for row in run.layers), about)
