"""Measuring candidates: a builder makes programs, a runner times them, and each failure is a result of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

from vta.autotune.task import Task
from vta.codegen.schedule import Schedule

__all__ = ["Build", "Builder", "Candidate", "ErrorKind", "MeasureOption", "Measurement", "Runner", "failed", "measure"]


class ErrorKind(IntEnum):
    """What became of a trial; numbered as in the published records."""

    NONE = 0
    INSTANTIATION = 1
    """The schedule breaks a limit."""
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN = 8


@dataclass(frozen=True, eq=False)
class Candidate:
    """One schedule of a task, to be measured."""

    task: Task
    schedule: Schedule
    number: int = -1
    """Of the point in the task's space, -1 for one that it does not have."""


@dataclass(frozen=True, eq=False)
class Build:
    """What a builder made of a candidate."""

    product: Any = None
    """What the runner that belongs to the builder takes."""
    error: ErrorKind = ErrorKind.NONE
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Measurement:
    """The result of one trial."""

    costs: tuple[float, ...] = ()
    """Seconds of one run, one entry a repeat; empty if it failed."""
    cycles: int | None = None
    """Clock cycles, where the device counts them."""
    error: ErrorKind = ErrorKind.NONE
    message: str = ""
    seconds: float = 0.0
    """Wall-clock time of building and running."""
    timestamp: float = 0.0

    @property
    def cost(self) -> float:
        """Mean seconds of a run, infinite if it failed."""
        return sum(self.costs) / len(self.costs) if self.costs else float("inf")


class Builder(Protocol):
    """Makes programs of candidates."""

    def build(self, candidates: Sequence[Candidate]) -> list[Build]:
        """Build each candidate; what fails says so in its place."""


class Runner(Protocol):
    """Times programs."""

    def run(self, candidates: Sequence[Candidate], builds: Sequence[Build]) -> list[Measurement]:
        """Run each build that has a product; what fails says so in its place."""


@dataclass(frozen=True)
class MeasureOption:
    """How to measure. The runner takes what the builder makes."""

    builder: Builder
    runner: Runner


def measure(candidates: Sequence[Candidate], option: MeasureOption) -> list[Measurement]:
    """Build and run candidates; returns one result each, in order."""
    return option.runner.run(candidates, option.builder.build(candidates))


def failed(error: ErrorKind, message: str, seconds: float = 0.0) -> Measurement:
    """The result of a trial that failed."""
    return Measurement(error=error, message=message, seconds=seconds, timestamp=time.time())
