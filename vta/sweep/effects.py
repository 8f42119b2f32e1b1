"""Which parameter of a sweep matters: what a change of one value does, averaged over all values of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any

from vta.support.dataclass import dataclass
from vta.support.table import make_table
from vta.sweep.ranking import Entry

if TYPE_CHECKING:
    from vta.support.table import Table

__all__ = ["Effect", "effects_table", "main_effects"]


@dataclass(frozen=True)
class Effect:
    """What going from one value of a key to the next one does; changes are factors less 1, such as -0.2 for a fifth less."""

    key: str
    before: Any
    after: Any
    cycles: float
    energy: float
    area: float
    pairs: int
    """Of designs that differ in this key alone."""
    lut: float | None = None
    """Look-up tables of the sweep's board; None without one, or where those of a design are not known."""
    ff: float | None = None
    """The same of flip-flops."""


def main_effects(entries: Sequence[Entry], axes: Mapping[str, Sequence[Any]]) -> list[Effect]:
    """One effect for each key of `axes` and each pair of neighbouring values, the key that changes cycles most first.

    Changes are geometric means over all pairs of designs that differ in nothing else. Steps without such a pair are left out.
    """
    found = [
        effect
        for key, values in axes.items()
        for before, after in pairwise(values)
        if (effect := _effect(key, before, after, entries)) is not None
    ]
    reach = {key: max((abs(log(1 + effect.cycles)) for effect in found if effect.key == key), default=0.0) for key in axes}
    return sorted(found, key=lambda effect: -reach[effect.key])


def _effect(key: str, before: Any, after: Any, entries: Sequence[Entry]) -> Effect | None:
    by_values = {tuple(entry.values.items()): entry for entry in entries}
    pairs = [
        (entry, other)
        for entry in entries
        if entry.values[key] == before and (other := by_values.get(tuple({**entry.values, key: after}.items()))) is not None
    ]
    if not pairs:
        return None
    cycles, energy, area = (
        _change([(getattr(one, name), getattr(two, name)) for one, two in pairs]) for name in ("cycles", "energy_pj", "area_um2")
    )
    return Effect(key, before, after, cycles, energy, area, len(pairs), _logic(pairs, "lut"), _logic(pairs, "ff"))


def _logic(pairs: Sequence[tuple[Entry, Entry]], kind: str) -> float | None:
    """The change of look-up tables or flip-flops."""
    found = []
    for pair in pairs:
        fits = [entry.design.fit for entry in pair]
        if any(fit is None or fit.source == "counted" for fit in fits):
            return None
        before, after = (getattr(fit.resources, kind) for fit in fits if fit is not None)
        found.append((before, after))
    return _change(found)


def _change(pairs: Sequence[tuple[float, float]]) -> float:
    return exp(sum(log(max(1, after) / max(1, before)) for before, after in pairs) / len(pairs)) - 1


def effects_table(effects: Sequence[Effect]) -> Table:
    """Show what each step does to cycles, energy and area, and to the logic of an FPGA if that is known."""
    logic = [name for name in ("lut", "ff") if any(getattr(effect, name) is not None for effect in effects)]
    rows = [
        (
            effect.key,
            f"{effect.before} -> {effect.after}",
            f"{effect.cycles:+.1%}",
            f"{effect.energy:+.1%}",
            f"{effect.area:+.1%}",
            *(_share(getattr(effect, name)) for name in logic),
            effect.pairs,
        )
        for effect in effects
    ]
    headers = ("key", "change", "cycles", "energy", "area", *(name.upper() for name in logic), "pairs")
    return replace(make_table(headers, rows, "What each parameter does"), compact=True)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1%}"
