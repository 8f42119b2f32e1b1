"""What schedules are judged by: cycles, energy, or a product of both."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field
from functools import cached_property
from pathlib import Path

from vta.config.technology import Technology
from vta.errors import TuningError
from vta.records.record import Record
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = ["FEWEST_CYCLES", "Objective", "check_technologies"]

_DIFFERING = ("cycles", "time", "energy")
"""Criteria of a sweep in which schedules of one config differ. Time is at one clock, so that it ranks as cycles do."""
_ALIKE = ("area", "bus", "bytes", "macs", "accuracy")
_LARGEST_POWER = 100


@dataclass(frozen=True)
class Objective:
    """The product of criteria, each to a power; less is better."""

    powers: tuple[tuple[str, float], ...] = (("cycles", 1.0),)
    """Some of cycles, time and energy, each above 0."""
    technology: Technology = field(default_factory=Technology)
    """Whose figures make energy of what a run counts."""

    @classmethod
    def parse(cls, text: str, technology: Technology | None = None) -> Objective:
        """From a text such as ``energy`` or ``cycles=1,energy=2``: criteria of a sweep, with their powers, 1 if left out.

        Raises `TuningError` naming the part that is wrong.
        """
        powers: dict[str, float] = {}
        for part in text.split(","):
            name, _, power = part.strip().partition("=")
            _check_name(name, part)
            if name in powers:
                raise TuningError(f"objective: {name} is given twice")
            powers[name] = _power(power or "1", part)
        return cls(tuple(powers.items()), technology or Technology())

    @cached_property
    def time_power(self) -> float:
        """That of cycles and time together."""
        return sum(power for name, power in self.powers if name != "energy")

    @cached_property
    def energy_power(self) -> float:
        """0 if energy does not matter."""
        return dict(self.powers).get("energy", 0.0)

    @property
    def has_energy(self) -> bool:
        """Whether energies have to be known."""
        return self.energy_power > 0

    @property
    def text(self) -> str:
        """As `parse` reads it."""
        return ",".join(name if power == 1 else f"{name}={power:g}" for name, power in self.powers)

    def value(self, time: float, energy_pj: float | None) -> float:
        """What is to be small. `time` is in cycles or seconds, whichever is compared; infinite if an energy is not known."""
        if not self.has_energy:
            return time
        if energy_pj is None or not math.isfinite(time):
            return math.inf
        return float(time**self.time_power * energy_pj**self.energy_power)

    def of(self, record: Record) -> float:
        """That of a record; infinite if it failed, or its energy is not known by the figures of this technology."""
        known = record.energy_pj if record.technology == self.technology.name else None
        return self.value(record.cost, known)


FEWEST_CYCLES = Objective()
"""What records are ranked by where nothing else is said: what they cost in time."""


def check_technologies(records: Iterable[Record], objective: Objective, source: str | Path) -> None:
    """Raises `TuningError` if energies of records are by the figures of another technology than that of `objective`."""
    if not objective.has_energy:
        return
    for record in records:
        if record.technology and record.technology != objective.technology.name:
            raise TuningError(
                f"{record.source or source}: its energy is by the figures of {shown(record.technology)}, not of "
                f"{shown(objective.technology.name)}: they cannot be compared; use the same technology, or another log"
            )


def _check_name(name: str, part: str) -> None:
    if name in _ALIKE:
        raise TuningError(
            f"objective: {name} is the same for all schedules of a config; allowed: {', '.join(_DIFFERING)}; "
            f"a sweep ranks configs by {name}"
        )
    if name not in _DIFFERING:
        raise TuningError(f"objective: {shown(part)}; allowed: {', '.join(_DIFFERING)}, or powers such as cycles=1,energy=2")


def _power(text: str, part: str) -> float:
    try:
        power = float(text)
    except ValueError:
        power = math.nan
    if not 0 < power <= _LARGEST_POWER:
        raise TuningError(f"objective: {shown(part)}; allowed: powers above 0, up to {_LARGEST_POWER}")
    return power
