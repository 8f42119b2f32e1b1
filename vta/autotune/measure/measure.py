"""Measuring candidates: a builder makes programs, a runner times them, and each failure is a result of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from vta.autotune.tunable import Tunable
from vta.records.measurement import ErrorKind, Measurement
from vta.support.dataclass import dataclass

__all__ = [
    "Build",
    "Builder",
    "Candidate",
    "MeasureOption",
    "Releasing",
    "Runner",
    "measure",
]


@dataclass(frozen=True, eq=False)
class Candidate:
    """One schedule of a task, to be measured."""

    task: Tunable
    schedule: Any
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


class Builder(Protocol):
    """Makes programs of candidates."""

    def build(self, candidates: Sequence[Candidate]) -> list[Build]:
        """Build each candidate; what fails says so in its place."""


class Runner(Protocol):
    """Times programs."""

    def run(self, candidates: Sequence[Candidate], builds: Sequence[Build]) -> list[Measurement]:
        """Run each build that has a product; what fails says so in its place."""


@runtime_checkable
class Releasing(Protocol):
    """A runner that holds devices which others wait for."""

    def release(self) -> None:
        """Give the devices back until the next run."""


@dataclass(frozen=True)
class MeasureOption:
    """How to measure. The runner takes what the builder makes."""

    builder: Builder
    runner: Runner


def measure(candidates: Sequence[Candidate], option: MeasureOption) -> list[Measurement]:
    """Build and run candidates; returns one result each, in order."""
    return option.runner.run(candidates, option.builder.build(candidates))
