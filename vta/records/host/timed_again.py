"""Records of schedules that were searched without templates: timed more than once, and compared with a default."""

from __future__ import annotations

import math
from collections.abc import Iterable

from vta.records.host.steps import DEFAULT_SKETCH
from vta.records.record import Record
from vta.records.workload import Workload

__all__ = ["AUTO_WORKLOAD", "LEAST_GAIN", "is_default", "last_timed", "worth_using"]

AUTO_WORKLOAD = "auto"
"""Name of workloads that are whatever a kernel of the host computes."""
LEAST_GAIN = 0.02
"""Of the default's time that a schedule must save to take its place: less is within what one comparison is wrong by."""


def last_timed(records: Iterable[Record]) -> list[Record]:
    """The records without earlier ones of schedules that were timed again: the last time, which took longer, counts."""
    kept: dict[object, Record] = {}
    for record in records:
        again = record.workload.name == AUTO_WORKLOAD
        kept[(record.target, record.workload, record.entity) if again else id(record)] = record
    return list(kept.values())


def worth_using(records: Iterable[Record]) -> list[Record]:
    """The last records of schedules, without those that gain too little against their kernel's default, if that has a record."""
    last = last_timed(records)
    defaults: dict[tuple[str, Workload], float] = {}
    for record in last:
        if is_default(record):
            defaults[record.target, record.workload] = record.cost
    return [record for record in last if is_default(record) or record.cost < _limit(record, defaults)]


def is_default(record: Record) -> bool:
    """Whether a record is that of a kernel as it is without records."""
    return record.workload.name == AUTO_WORKLOAD and any(
        (name, value) == ("sketch", DEFAULT_SKETCH) for name, _, value in record.entity
    )


def _limit(record: Record, defaults: dict[tuple[str, Workload], float]) -> float:
    """What a schedule must cost less than; others than these, and those that were compared with nothing, may cost anything."""
    return defaults.get((record.target, record.workload), math.inf) * (1 - LEAST_GAIN)
