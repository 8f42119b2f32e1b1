"""Schedules of kernels out of records: those that were found for what a kernel computes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from vta.errors import TuningError, VTAError
from vta.host.loop.compute import Kernel
from vta.host.loop.compute_text import compute_digest
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.loop.size import local_bytes, longest_vector, written_out
from vta.host.loop.steps import Step
from vta.host.processors import CpuTarget
from vta.records.host.steps import steps_of
from vta.records.host.target import matches
from vta.records.host.timed_again import AUTO_WORKLOAD, is_default, worth_using
from vta.records.log import ranked_records, read_log
from vta.records.record import Record
from vta.records.workload import Workload, tensor_argument

__all__ = ["RecordedSchedules", "compute_workload", "recorded_schedules"]

_LOG = logging.getLogger(__name__)

_MOST_STATEMENTS = 4096
_LONGEST_VECTOR = 256
_MOST_LOCAL_BYTES = 1 << 20


def compute_workload(kernel: Kernel) -> Workload:
    """The workload of what a kernel computes: its inputs and its output, and a digest of all stages."""
    tensors = [tensor_argument(buffer.shape, buffer.dtype) for buffer in (*kernel.inputs, kernel.output)]
    return Workload(AUTO_WORKLOAD, (*tensors, compute_digest(kernel)))


class RecordedSchedules:
    """The best record of a workload and processor whose schedule the kernel can have."""

    def __init__(self, records: Iterable[Record]) -> None:
        found = [record for record in records if record.workload.name == AUTO_WORKLOAD]
        self._ranked: dict[Workload, list[Record]] = {}
        for (_, workload), ranked in ranked_records(worth_using(found)).items():
            self._ranked.setdefault(workload, []).extend(ranked)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._ranked)

    def __call__(self, kernel: Kernel, target: CpuTarget) -> tuple[Step, ...] | None:
        """The steps for a kernel; None where no record fits, or the best one is as it is without records."""
        for record in self._ranked.get(compute_workload(kernel), []):
            if not matches(record.target, target):
                continue
            try:
                if is_default(record):
                    return None
                return _checked(kernel, steps_of(record.entity))
            except VTAError as error:
                _LOG.warning("%s: not used: %s", record.source or "a record", error)
        return None


def _checked(kernel: Kernel, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps that are legal, and make no more code than a compiler can take. Raises `VTAError` for others."""
    program = lower(scheduled(kernel, steps))
    sizes = (
        ("statements that are written out", written_out(program), _MOST_STATEMENTS),
        ("values in a vector", longest_vector(program), _LONGEST_VECTOR),
        ("bytes on the stack", local_bytes(program), _MOST_LOCAL_BYTES),
    )
    for what, size, most in sizes:
        if size > most:
            raise TuningError(f"the schedule has {size:,} {what}; allowed: {most:,}")
    return steps


def recorded_schedules(logs: Sequence[str | Path] = ()) -> RecordedSchedules | None:
    """Schedules of `logs`, None where these have none. Raises `TuningError` if one cannot be read."""
    paths = tuple(map(Path, logs))
    found = _read(paths, tuple(map(_stamp, paths))) if paths else None
    return found if found else None


def _stamp(path: Path) -> tuple[int, int]:
    """What tells a log from what stood there before: a search may append to it. One that is missing is read, which says so."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=8)
def _read(paths: tuple[Path, ...], stamps: tuple[tuple[int, int], ...]) -> RecordedSchedules:
    """The records of logs, which `stamps` tell from what stood there before."""
    return RecordedSchedules(line.record for path in paths for line in read_log(path) if line.record is not None)
