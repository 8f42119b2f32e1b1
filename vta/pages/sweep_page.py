"""The page of a sweep: which designs are good, and what each parameter does."""

from __future__ import annotations

from collections.abc import Sequence

from vta.pages.data.stored_sweep import StoredSweep
from vta.pages.draw.designs import draw_designs, draw_effects, draw_pareto
from vta.pages.page import Fact, Page, Section, TablePart
from vta.pages.vega import PageError
from vta.sweep.effects import main_effects
from vta.sweep.picture import title_of
from vta.sweep.ranking import Entry, rank

__all__ = ["sweep_page"]


def sweep_page(stored: StoredSweep, name: str) -> Page:
    """Make the page of a sweep. Raises `PageError` if nothing ran on any design yet."""
    spec = stored.result.spec
    entries = rank(stored.result)
    if not entries:
        raise PageError(f"{name}: no design has all its results yet; a sweep goes on where it stopped")
    axes = list(spec.axes)
    effects = main_effects(entries, spec.axes)
    figures = [
        draw_pareto(entries, "area", "area of arithmetic and memories", spec.pareto),
        draw_pareto(entries, "energy", "energy", spec.pareto),
        draw_designs(entries, axes),
    ]
    sections = [Section("designs", "Designs", tuple(figures))]
    if effects:
        sections.append(Section("effects", "Parameters", (draw_effects(effects),)))
    sections.append(Section("ranking", "Ranking", (_ranking(entries, axes),)))
    if stored.failures:
        sections.append(Section("failures", "Failures", (_failures(stored),)))
    return Page(name, "sweep", f"{title_of(entries, spec)}.", tuple(_facts(stored, entries)), tuple(sections))


def _facts(stored: StoredSweep, entries: Sequence[Entry]) -> list[Fact]:
    best = entries[0]
    front = sum(entry.pareto for entry in entries)
    frugal = min(entries, key=lambda entry: entry.energy_pj)
    small = min(entries, key=lambda entry: entry.area_um2)
    return [
        Fact("fewest cycles", f"{best.cycles:,}", f"{best.milliseconds:,.3f} ms; {_values(best)}"),
        Fact("least energy", f"{frugal.energy_pj / 1e6:,.1f} uJ", _values(frugal)),
        Fact("least area", f"{small.area_um2 / 1e6:,.2f} mm2", _values(small)),
        Fact("on the front", f"{front}", f"of {len(entries)} designs with all results"),
        Fact("combinations", f"{stored.designs:,}", "of which a search ran some")
        if stored.searched
        else Fact("designs", f"{stored.designs:,}", f"legal; {stored.illegal:,} combinations are not"),
        *([Fact("without a result", f"{len(stored.failures)}", "points that failed so far")] if stored.failures else []),
    ]


def _values(entry: Entry) -> str:
    return ", ".join(f"{key} {value}" for key, value in entry.values.items())


def _ranking(entries: Sequence[Entry], axes: Sequence[str]) -> TablePart:
    headers = ("rank", *axes, "cycles", "ms", "MACs busy, %", "of roofline, %", "energy, uJ", "area, mm2", "front")
    rows = tuple(
        (
            place,
            *(entry.values[key] for key in axes),
            entry.cycles,
            entry.milliseconds,
            100 * entry.busy,
            100 * entry.share,
            entry.energy_pj / 1e6,
            entry.area_um2 / 1e6,
            "yes" if entry.pareto else "",
        )
        for place, entry in enumerate(entries, 1)
    )
    about = "Fewest cycles first. Brushes in the figures above leave the rows that they chose."
    return TablePart("ranking", "All designs", headers, rows, tuple(range(1, len(entries) + 1)), about)


def _failures(stored: StoredSweep) -> TablePart:
    return TablePart("failures", "Points without a result", ("config", "workload", "status", "reason"), stored.failures)
