"""What a short search for other schedules finds."""

from __future__ import annotations

from vta.autotune.region.search import Choice, RegionSearch, SearchLimits
from vta.autotune.region.tune import changed_schedule
from vta.autotune.space import Space
from vta.codegen.region_timing import RegionTimer
from vta.compiler.schedules import Schedules
from vta.errors import TuningError
from vta.explanation.what_if import WhatIf
from vta.records.shipped import ShippedSchedules
from vta.schedule.choose import choose_schedule
from vta.schedule.roofline import roofline_of
from vta.schedule.schedule import Schedule
from vta.tile.operator import RegionOperators

__all__ = ["searched_cycles"]

_FASTEST = ShippedSchedules(fastest=True)
_MOST, _LEAST = 240, 24
"""Schedules that are tried in all regions together."""
_INSTRUCTIONS = 1_500_000
"""That all tries together have: large programs get fewer tries."""
_OPERATORS = 8
"""Of a region: those farthest from their rooflines are changed."""
_SECONDS = 600.0
"""No search takes so long; the same network gets the same answer."""


def searched_cycles(what_if: WhatIf) -> int:
    """The cycles with the schedules that a short search finds, which begins with those that compiling takes by default."""
    tries = min(_MOST, max(_LEAST, _INSTRUCTIONS // max(1, what_if.instructions)))
    share = tries // max(1, len(what_if.regions))
    return what_if.relative(sum(_searched(region, what_if, share) for region in what_if.regions))


def _searched(region: RegionOperators, what_if: WhatIf, evaluations: int) -> int:
    hw = what_if.hw
    timer = RegionTimer(region, hw, what_if.timing)
    start = what_if.default_choice(region)
    search = RegionSearch(timer.cycles, timer.cycles_near, start, SearchLimits(evaluations, _SECONDS))
    search.offer(Schedules(_FASTEST, hw).of_region(region))
    candidates: dict[int, list[Schedule]] = {}
    for index in _farthest(region, what_if, timer, start):
        operator = region.operators[index].tuned
        if operator is not None:
            known = _FASTEST.find(operator, hw)
            candidates[index] = [*([known] if known else []), choose_schedule(operator, hw)]
    search.descend(candidates)
    spaces: dict[int, Space] = {}
    for index in candidates:
        operator = region.operators[index].tuned
        try:
            if operator is not None:
                spaces[index] = Space([operator], hw)
        except TuningError:
            continue
    search.wander(tuple(spaces), lambda index, schedule, rng: changed_schedule(spaces[index], schedule, rng))
    return round(search.best_cost)


def _farthest(region: RegionOperators, what_if: WhatIf, timer: RegionTimer, choice: Choice) -> list[int]:
    """Positions of the operators that take most cycles above their rooflines where they stand."""
    above = {}
    for index, operator in enumerate(region.operators):
        if operator.tuned is not None:
            least = roofline_of(operator.tuned, what_if.hw, what_if.timing.bus_bytes).cycles
            above[index] = timer.cycles_near(choice, index) - least
    return sorted(sorted(above, key=lambda index: -above[index])[:_OPERATORS])
