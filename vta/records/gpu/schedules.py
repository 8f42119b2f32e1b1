"""Schedules of whole kernels of GPUs out of records, by what the kernels compute."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vta.errors import TuningError, VTAError
from vta.host.loop.compute import Kernel
from vta.host.loop.compute_text import compute_digest
from vta.host.loop.grid import GridLimits, grid_of
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.loop.size import local_bytes, written_out
from vta.host.loop.steps import Step, Tensorize
from vta.records.gpu.tiles import is_of
from vta.records.host.steps import steps_of
from vta.records.host.timed_again import AUTO_WORKLOAD, is_default, worth_using
from vta.records.log import ranked_records, read_log
from vta.records.record import Record

__all__ = ["GpuSchedules", "best_schedules", "recorded_gpu_schedules", "steps_text"]

_LOG = logging.getLogger(__name__)
_MOST_STATEMENTS = 1 << 15


def recorded_gpu_schedules(logs: Sequence[Path], kind: str) -> dict[str, str]:
    """The schedules that logs have for a kind of device, those of the first log first; as `best_schedules` gives them.

    Raises `TuningError` if a log cannot be read.
    """
    found: dict[str, str] = {}
    for path in logs:
        records = [line.record for line in read_log(path) if line.record is not None]
        found = {**best_schedules(records, kind), **found}
    return found


def best_schedules(records: Iterable[Record], target: str) -> dict[str, str]:
    """The steps of the best schedule of each kernel, as JSON, by the digest of what it computes.

    Only records count whose target begins with `target`. A kernel whose default is the best has none.
    """
    found: dict[str, str] = {}
    own = [record for record in records if record.workload.name == AUTO_WORKLOAD and is_of(record.target, target)]
    for (_, workload), ranked in ranked_records(worth_using(own)).items():
        if not is_default(ranked[0]):
            found.setdefault(str(workload.args[-1]), steps_text(ranked[0].entity))
    return found


def steps_text(entity: Sequence[tuple[str, str, Any]]) -> str:
    """The steps of a record as JSON. Raises `TuningError` naming the one that is none."""
    steps_of(entity)
    return json.dumps({name: value for name, _, value in entity}["steps"], separators=(",", ":"))


class GpuSchedules:
    """The steps of kernels, by the digest of what they compute; called with a kernel it gives them, if they can be had."""

    def __init__(self, steps: Mapping[str, str], limits: GridLimits) -> None:
        self._steps = steps
        self._limits = limits

    def __call__(self, kernel: Kernel) -> tuple[Step, ...] | None:
        """The steps; None where there are none for this kernel, or the device has no room for what they make."""
        digest = compute_digest(kernel) if self._steps else ""
        if digest not in self._steps:
            return None
        try:
            return self._checked(kernel, _parsed(self._steps[digest]))
        except VTAError as error:
            _LOG.warning("the schedule of a kernel is not used: %s", error)
            return None

    def _checked(self, kernel: Kernel, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        if not self._limits.tensor and any(isinstance(step, Tensorize) for step in steps):
            raise TuningError("the schedule multiplies matrices of bytes, which the device has no instructions for")
        program = lower(scheduled(kernel, steps))
        for function in program.functions:
            grid_of(function).check(self._limits)
        sizes = (
            ("statements that are written out", written_out(program), _MOST_STATEMENTS),
            ("bytes of each thread", local_bytes(program), self._limits.local_bytes),
        )
        for what, size, most in sizes:
            if size > most:
                raise TuningError(f"the schedule has {size:,} {what}; allowed: {most:,}")
        return steps


def _parsed(text: str) -> tuple[Step, ...]:
    try:
        return steps_of((("steps", "ot", _as_tuples(json.loads(text))),))
    except ValueError as error:
        raise TuningError(f"the steps of a schedule are no JSON: {error}") from None


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
