"""Searches the schedules of a region's operators together, from a choice that is good for each alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from vta.errors import CompileError
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass

__all__ = ["Choice", "RegionSearch", "SearchLimits"]

Choice = tuple[Schedule | None, ...]
"""A schedule for each operator of a region, None for those that have none."""

_PATIENCE = 12
"""Random changes without a gain, for each operator, after which the search ends."""
_LEAST_PATIENCE = 64


@dataclass(frozen=True)
class SearchLimits:
    """How long to search a region."""

    evaluations: int = 1000
    """Timings of the whole region, at most."""
    seconds: float = 60.0
    seed: int = 0


class RegionSearch:
    """Coordinate descent: one operator after the other takes the schedule with which the whole region costs least.

    First among a few given ones for each operator, round after round until none helps; then changes at random. `cost` is what a
    choice costs, such as its cycles, `cost_near` what only an operator of it costs with those around it: what does not help
    there is not timed as a whole. It is None where a sum of parts says nothing of the whole.
    `neighbour` changes the schedule of an operator a little, or gives None where it cannot.
    """

    def __init__(
        self,
        cost: Callable[[Choice], float],
        cost_near: Callable[[Choice, int], float] | None,
        start: Choice,
        limits: SearchLimits,
        watch: Callable[[RegionSearch], None] | None = None,
    ) -> None:
        self._cost = cost
        self._cost_near = cost_near
        self._near: dict[int, float] = {}
        """Of the best choice, by operator."""
        self._limits = limits
        self._watch = watch
        self._started = time.perf_counter()
        self._tried: set[Choice] = {start}
        self.best = start
        self.best_cost = cost(start)
        self.evaluations = 1

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.perf_counter() - self._started

    @property
    def ended(self) -> bool:
        """Whether a limit is reached."""
        return self.evaluations >= self._limits.evaluations or self.seconds >= self._limits.seconds

    def offer(self, choice: Choice) -> bool:
        """Time a choice, unless a limit is reached or it was timed before, and keep it if it is better than the best."""
        return self._offer(choice, lambda: True)

    def change(self, index: int, schedule: Schedule) -> bool:
        """Offer the best choice with another schedule for one operator."""
        choice = (*self.best[:index], schedule, *self.best[index + 1 :])

        def helps_near() -> bool:
            if self._cost_near is None:
                return True
            if index not in self._near:
                self._near[index] = self._cost_near(self.best, index)
            return self._cost_near(choice, index) < self._near[index]

        return self._offer(choice, helps_near)

    def _offer(self, choice: Choice, promising: Callable[[], bool]) -> bool:
        if choice in self._tried or self.ended:
            return False
        self._tried.add(choice)
        self.evaluations += 1
        try:
            cost = self._cost(choice) if promising() else self.best_cost
        except CompileError:
            return False
        finally:
            if self._watch is not None:
                self._watch(self)
        if cost >= self.best_cost:
            return False
        self.best, self.best_cost = choice, cost
        self._near.clear()
        return True

    def descend(self, candidates: Mapping[int, Sequence[Schedule]]) -> None:
        """Offer every candidate of every operator, given by position and in program order, until a round brings nothing."""
        gained = True
        while gained and not self.ended:
            # All are offered, whatever those before them have brought.
            gained = sum(self.change(index, schedule) for index in candidates for schedule in candidates[index]) > 0

    def wander(self, tuned: Sequence[int], neighbor: Callable[[int, Schedule, np.random.Generator], Schedule | None]) -> None:
        """Change the schedules of operators drawn from `tuned`, until many changes in a row bring nothing."""
        rng = np.random.default_rng(self._limits.seed)
        patience = max(_LEAST_PATIENCE, _PATIENCE * len(tuned))
        fruitless = 0
        while tuned and fruitless < patience and not self.ended:
            fruitless += 1
            index = int(rng.choice(list(tuned)))
            schedule = self.best[index]
            changed = neighbor(index, schedule, rng) if schedule is not None else None
            if changed is not None and self.change(index, changed):
                fruitless = 0
