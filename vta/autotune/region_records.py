"""Records of schedules that were chosen together for the operators of a region."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from vta.autotune.entity import schedule_of
from vta.autotune.records import Record, RegionPlace, pick_best
from vta.autotune.workload import workload_of
from vta.codegen.region import sources_of
from vta.codegen.schedule import Schedule, broken_limits, laid_out
from vta.codegen.workload import Operator, RegionOperators, TileOperator
from vta.config import HardwareConfig
from vta.errors import TuningError
from vta.passes.moves import COPY

__all__ = ["best_choices", "choice_records", "chosen_schedules", "is_tuned", "pick_best_with_regions", "region_identity"]

_DIGITS = 16


def is_tuned(operator: Operator) -> TypeGuard[TileOperator]:
    """Whether the schedule of an operator is searched for: it is a tile operator that does more than copy."""
    return isinstance(operator, TileOperator) and operator.kind != COPY


def region_identity(region: RegionOperators, hw: HardwareConfig) -> str:
    """A hash of the workloads of a region in program order, and of which of its tensors each reads and stores."""
    numbers: dict[str, int] = {}
    described: list[Any] = []
    for operator in region.operators:
        wiring = []
        for tensor in (*sources_of(operator), operator.stored):
            shape = tensor.batch, tensor.blocks, tensor.height, tensor.width, tensor.planes
            wiring.append((numbers.setdefault(tensor.name, len(numbers)), *shape))
        described.append((workload_of(operator, hw).identity if is_tuned(operator) else operator.kind, wiring))
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:_DIGITS]


def choice_records(records: Sequence[Record], region: str, positions: Sequence[int], cycles: int) -> list[Record]:
    """The records of schedules chosen together: each of `records` at its position in the region, whose cycles they lead to."""
    entities = json.dumps([(position, record.entity) for position, record in zip(positions, records, strict=True)])
    choice = hashlib.sha256(entities.encode()).hexdigest()[:_DIGITS]
    return [
        replace(record, place=RegionPlace(region, choice, position, len(records), cycles))
        for position, record in zip(positions, records, strict=True)
    ]


def best_choices(records: Iterable[Record]) -> dict[tuple[str, str], tuple[Record, ...]]:
    """By config, as `HardwareConfig.model` writes it, and region: the records of the choice with the fewest cycles, by position.

    A choice of which a record is missing, or failed, counts for nothing.
    """
    found: dict[tuple[str, str, str], dict[int, Record]] = {}
    for record in records:
        if record.place is not None and not record.error:
            found.setdefault((record.model, record.place.region, record.place.choice), {})[record.place.position] = record
    best: dict[tuple[str, str], tuple[Record, ...]] = {}
    for (model, region, _), members in found.items():
        choice = tuple(members[position] for position in sorted(members))
        known = best.get((model, region))
        if len(choice) == _place(choice[0]).operators and (known is None or _cycles(choice) < _cycles(known)):
            best[model, region] = choice
    return best


def pick_best_with_regions(records: Iterable[Record]) -> list[Record]:
    """The cheapest record of each config and workload, see `pick_best`, then the best choice for each region."""
    given = list(records)
    chosen = [record for choice in best_choices(given).values() for record in choice]
    return [*(record for record in pick_best(given) if record not in chosen), *chosen]


def chosen_schedules(choice: Sequence[Record], region: RegionOperators, hw: HardwareConfig) -> tuple[Schedule | None, ...]:
    """The schedules of a choice, one for each operator of its region, None for those that have none.

    Raises `TuningError` naming the operator and what does not fit.
    """
    by_position = {_place(record).position: record for record in choice}
    wanted = {index for index, operator in enumerate(region.operators) if is_tuned(operator)}
    if set(by_position) != wanted:
        raise TuningError(f"{region.name}: schedules for operators {sorted(by_position)} of the region, wanted {sorted(wanted)}")
    schedules: list[Schedule | None] = []
    for index, operator in enumerate(region.operators):
        record = by_position.get(index)
        schedule = None
        if record is not None and is_tuned(operator):
            schedule = schedule_of(record.entity, operator)
            if problems := broken_limits(laid_out(operator, schedule), schedule, hw):
                raise TuningError(f"{region.name}: {operator.name}: {'; '.join(problems)}")
        schedules.append(schedule)
    return tuple(schedules)


def _place(record: Record) -> RegionPlace:
    assert record.place is not None, "records of a choice have a place in its region"
    return record.place


def _cycles(choice: Sequence[Record]) -> int:
    return _place(choice[0]).cycles
