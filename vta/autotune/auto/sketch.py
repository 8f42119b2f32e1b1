"""Sketches: schedules of which the structure is fixed, and numbers and orders are open."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import permutations
from math import prod

from vta.autotune.auto.limits import Limits
from vta.host.loop.steps import Step
from vta.support.dataclass import dataclass

__all__ = ["Choice", "Choices", "Knob", "Sketch", "divisors", "orders"]

Choice = int | str | tuple[str, ...] | tuple[str, int]
Choices = Mapping[str, Choice]
"""What is chosen for each knob."""

_MOST_ORDERS = 24


@dataclass(frozen=True)
class Knob:
    """Something to choose."""

    name: str
    options: tuple[Choice, ...]


class Sketch(ABC):
    """A way to compute a kernel."""

    name: str
    """Records name it."""
    knobs: tuple[Knob, ...]

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    @property
    def size(self) -> int:
        """How many schedules there are, those that do not fit among them."""
        return prod(len(knob.options) for knob in self.knobs)

    @abstractmethod
    def problem(self, choices: Choices) -> str:
        """Why the processor has no room for a schedule, as far as that can be told without making it; empty if it has."""

    def guess(self, choices: Choices) -> float:
        """A rough cost, to tell the hopeless from the others before a schedule is made; the less the better."""
        return 0.0

    @abstractmethod
    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """The schedule."""


def divisors(whole: int, limit: int | None = None) -> tuple[int, ...]:
    """All divisors up to a limit."""
    return tuple(count for count in range(1, min(whole, limit or whole) + 1) if whole % count == 0)


def orders(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Orders of loops: all, or, of many loops, those that differ in which one is put where."""
    found = list(permutations(names)) if prod(range(1, len(names) + 1)) <= _MOST_ORDERS else _moves(tuple(names))
    return tuple(dict.fromkeys(found))


def _moves(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    found = []
    for at, name in enumerate(names):
        rest = (*names[:at], *names[at + 1 :])
        found += [(*rest[:to], name, *rest[to:]) for to in range(len(names))]
    return found
