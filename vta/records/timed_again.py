"""Records of schedules that were timed more than once: those of searches without templates."""

from __future__ import annotations

from collections.abc import Iterable

from vta.records.record import Record

__all__ = ["AUTO_WORKLOAD", "last_timed"]

AUTO_WORKLOAD = "auto"
"""Name of workloads that are whatever a kernel of the host computes."""


def last_timed(records: Iterable[Record]) -> list[Record]:
    """The records without earlier ones of schedules that were timed again: the last time, which took longer, counts."""
    kept: dict[object, Record] = {}
    for record in records:
        again = record.workload.name == AUTO_WORKLOAD
        kept[(record.target, record.workload, record.entity) if again else id(record)] = record
    return list(kept.values())
