"""One thing that would make a network faster on the accelerator, with what it is expected to bring."""

from __future__ import annotations

from enum import Enum
from typing import Any

from vta.explanation.causes import Cause
from vta.support.dataclass import dataclass

__all__ = ["Estimate", "Kind", "Suggestion"]


class Kind(Enum):
    """Where a suggestion is to be followed."""

    OPTION = "option"
    """Compile the network again in another way."""
    CONFIG = "config"
    """Change keys of the hardware config."""
    TIMING = "timing"
    """Change the memory around the accelerator."""
    SCHEDULE = "schedule"
    """Look for other schedules."""


class Estimate(Enum):
    """How the cycles of a suggestion were predicted."""

    SAME_PROGRAM = "same program"
    """The program at hand was timed again by the cycle engine."""
    COMPILED = "compiled again"
    """The regions were compiled again, without their data, and timed by the cycle engine."""
    SEARCHED = "short search"
    """A few changes of schedules were timed by the cycle engine; a longer search finds at least as much."""
    COUNTED = "counted"
    """Micro-ops that fall away were counted, and nothing else."""


@dataclass(frozen=True)
class Suggestion:
    """What to change, and what a run is expected to take then."""

    kind: Kind
    name: str
    """Key, parameter or piece of work."""
    change: dict[str, int | str]
    """What to set to what; nothing where work has to be done to find out."""
    causes: tuple[Cause, ...]
    """What it is against."""
    predicted_cycles: int
    """Of a whole run."""
    gain_cycles: int
    """That it saves of the present ones."""
    estimate: Estimate
    how: str
    """What to do, as a clause that names settings in braces, as `vta.report.settings` has them."""

    @property
    def change_text(self) -> str:
        """The settings and their new values; of work that changes none, its name."""
        return ", ".join(f"{name} = {value}" for name, value in self.change.items()) or self.name

    def to_json(self) -> dict[str, Any]:
        """The suggestion under names for scripts, but for `how`, which has to be put into words."""
        return {
            "kind": self.kind.value,
            "name": self.name,
            "change": self.change,
            "causes": [cause.value for cause in self.causes],
            "predicted_cycles": self.predicted_cycles,
            "gain_cycles": self.gain_cycles,
            "estimate": self.estimate.value,
        }
