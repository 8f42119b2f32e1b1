"""Sketches: schedules of which the structure is fixed, and numbers and orders are open."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import permutations
from math import prod

import numpy as np

from vta.host.loop.steps import Step
from vta.support.dataclass import dataclass

__all__ = ["WHOLE", "Choice", "Choices", "Knob", "Sketch", "divisors", "number_of", "order_of", "orders", "part_of"]

Choice = int | str | tuple[str, ...] | tuple[str, int]
Choices = Mapping[str, Choice]
"""What is chosen for each knob."""

WHOLE = ("", 0)
"""No part: all that is summed up is summed up at once."""

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

    @property
    def size(self) -> int:
        """How many schedules there are, those that do not fit among them."""
        return prod(len(knob.options) for knob in self.knobs)

    def drawn(self, rng: np.random.Generator) -> tuple[int, ...]:
        """Which option of each knob, at random; the machine need not have room for it."""
        return tuple(int(rng.integers(len(knob.options))) for knob in self.knobs)

    @abstractmethod
    def problem(self, choices: Choices) -> str:
        """Why the machine has no room for a schedule, as far as that can be told without making it; empty if it has."""

    def guess(self, choices: Choices) -> float:
        """A rough cost, to tell the hopeless from the others before a schedule is made; the less the better."""
        return 0.0

    @abstractmethod
    def steps(self, choices: Choices) -> tuple[Step, ...]:
        """The schedule."""


def divisors(whole: int, limit: int | None = None) -> tuple[int, ...]:
    """All divisors up to a limit."""
    return tuple(count for count in range(1, min(whole, limit or whole) + 1) if whole % count == 0)


def number_of(choices: Choices, name: str) -> int:
    """A choice that is a number."""
    value = choices[name]
    assert isinstance(value, int)
    return value


def order_of(choices: Choices, name: str) -> tuple[str, ...]:
    """A choice that is an order of loops."""
    value = choices[name]
    assert isinstance(value, tuple)
    return tuple(map(str, value))


def part_of(choices: Choices) -> tuple[str, int]:
    """The axis of a reduction that is parted, and how much of it is a part; no axis where all is summed up at once."""
    value = choices["part"]
    assert isinstance(value, tuple)
    return str(value[0]), int(value[1])


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
