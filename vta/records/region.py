"""Records of schedules that were chosen together for the operators of a region."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice, product
from math import isfinite
from typing import Any

from vta.config.hardware import HardwareConfig
from vta.errors import TuningError
from vta.records.knobs import fitting_schedule
from vta.records.log import Record, RegionPlace, pick_best
from vta.records.objective import FEWEST_CYCLES, Objective
from vta.records.workload import workload_of
from vta.schedule.schedule import Schedule
from vta.tile.operator import RegionOperators, TileOperator

__all__ = [
    "best_choices",
    "choice_records",
    "chosen_schedules",
    "fitting_choice",
    "pick_best_with_regions",
    "ranked_choices",
    "region_identity",
]

_DIGITS = 16
_COMBINATIONS = 64
"""Of lines that claim the same places of a choice, at most, that are looked at."""

Choice = tuple[Record, ...]
"""Of schedules that were chosen together, by position in their region."""


def region_identity(region: RegionOperators, hw: HardwareConfig) -> str:
    """A hash of the workloads of a region in program order, and of which of its tensors each reads and stores."""
    numbers: dict[str, int] = {}
    described: list[Any] = []
    for operator in region.operators:
        wiring = []
        for tensor in operator.tensors:
            shape = tensor.batch, tensor.blocks, tensor.height, tensor.width, tensor.planes
            wiring.append((numbers.setdefault(tensor.name, len(numbers)), *shape))
        described.append((_identity(operator, hw), wiring))
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:_DIGITS]


def _identity(operator: TileOperator, hw: HardwareConfig) -> str:
    tuned = operator.tuned
    return operator.kind if tuned is None else workload_of(tuned, hw).identity


def choice_records(
    records: Sequence[Record], region: str, positions: Sequence[int], cycles: int, energy_pj: float | None = None
) -> list[Record]:
    """The records of schedules chosen together: each of `records` at its position in the region, whose cycles, and energy if it
    matters, they lead to.
    """
    choice = _hash(records, positions)
    return [
        replace(record, place=RegionPlace(region, choice, position, len(records), cycles, energy_pj))
        for position, record in zip(positions, records, strict=True)
    ]


def ranked_choices(records: Iterable[Record], objective: Objective = FEWEST_CYCLES) -> dict[tuple[str, str], list[Choice]]:
    """By config, as `HardwareConfig.model` writes it, and region: the records of its choices by position, the best first.

    A choice of which a record is missing, failed, or says another thing of it than the others, counts for nothing; where energy
    matters, neither does one whose energy is not known.
    """
    found: dict[tuple[str, RegionPlace], dict[int, list[Record]]] = {}
    for record in records:
        if record.place is not None and not record.error:
            places = found.setdefault((record.model, replace(record.place, position=0)), {})
            places.setdefault(record.place.position, []).append(record)
    ranked: dict[tuple[str, str], list[Choice]] = {}
    for (model, place), members in found.items():
        if len(members) == place.operators:
            ranked.setdefault((model, place.region), []).extend(_whole_choices(members, place.choice))

    def worth(choice: Choice) -> tuple[float, int]:
        place, technology = _place(choice[0]), choice[0].technology
        energy = place.energy_pj if technology == objective.technology.name else None
        return objective.value(place.cycles, energy), place.cycles

    known = {key: [choice for choice in choices if isfinite(worth(choice)[0])] for key, choices in ranked.items()}
    return {key: sorted(choices, key=worth) for key, choices in known.items() if choices}


def _whole_choices(members: dict[int, list[Record]], choice: str) -> list[Choice]:
    """The combination of records that `choice` is the hash of; none if one of them was changed."""
    positions = sorted(members)
    combined = product(*(dict.fromkeys(members[position]) for position in positions))
    return list(islice((found for found in islice(combined, _COMBINATIONS) if _hash(found, positions) == choice), 1))


def _hash(records: Sequence[Record], positions: Sequence[int]) -> str:
    entities = json.dumps([(position, record.entity) for position, record in zip(positions, records, strict=True)])
    return hashlib.sha256(entities.encode()).hexdigest()[:_DIGITS]


def best_choices(records: Iterable[Record], objective: Objective = FEWEST_CYCLES) -> dict[tuple[str, str], Choice]:
    """The best choice of each config and region, see `ranked_choices`."""
    return {key: choices[0] for key, choices in ranked_choices(records, objective).items()}


def fitting_choice(
    choices: Iterable[Choice], region: RegionOperators, hw: HardwareConfig
) -> tuple[tuple[Schedule | None, ...] | None, list[str]]:
    """The schedules of the first choice that the region can have, None if there is none; and why those before it cannot."""
    problems: list[str] = []
    for choice in choices:
        schedules = _schedules_or_problem(choice, region, hw)
        if not isinstance(schedules, str):
            return schedules, problems
        problems.append(schedules)
    return None, problems


def _schedules_or_problem(choice: Choice, region: RegionOperators, hw: HardwareConfig) -> tuple[Schedule | None, ...] | str:
    try:
        return chosen_schedules(choice, region, hw)
    except TuningError as error:
        return str(error)


def pick_best_with_regions(records: Iterable[Record], objective: Objective = FEWEST_CYCLES) -> list[Record]:
    """The best record of each config and workload, see `pick_best`, then the best choice for each region."""
    given = list(records)
    chosen = [record for choice in best_choices(given, objective).values() for record in choice]
    return [*(record for record in pick_best(given, objective) if record not in chosen), *chosen]


def chosen_schedules(choice: Sequence[Record], region: RegionOperators, hw: HardwareConfig) -> tuple[Schedule | None, ...]:
    """The schedules of a choice, one for each operator of its region, None for those that have none.

    Raises `TuningError` naming the operator and what does not fit.
    """
    by_position = {_place(record).position: record for record in choice}
    wanted = {index: tuned for index, operator in enumerate(region.operators) if (tuned := operator.tuned) is not None}
    if set(by_position) != set(wanted):
        raise TuningError(f"{region.name}: schedules for operators {sorted(by_position)} of the region, wanted {sorted(wanted)}")
    schedules: list[Schedule | None] = []
    for index in range(len(region.operators)):
        record, schedule = by_position.get(index), None
        if record is not None:
            operator = wanted[index]
            try:
                schedule = fitting_schedule(record.entity, operator, hw)
            except TuningError as error:
                where = f"{record.source}: " if record.source else ""
                raise TuningError(f"{where}{region.name}: {operator.name}: {error}") from None
        schedules.append(schedule)
    return tuple(schedules)


def _place(record: Record) -> RegionPlace:
    assert record.place is not None, "records of a choice have a place in its region"
    return record.place
