"""What can be tuned: a task with a space of schedules, whatever computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vta.ir.graph import Graph, Node
from vta.records.measurement import Measurement
from vta.records.record import Record
from vta.records.workload import Workload

__all__ = ["SearchSpace", "Tunable", "layers_text", "uses_of"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class SearchSpace(Protocol):
    """Schedules, numbered from 0. A position says which choice of each knob a schedule has."""

    dims: tuple[int, ...]
    """Choices of each knob."""

    @property
    def size(self) -> int:
        """How many schedules there are."""

    def positions(self, numbers: Sequence[int] | Ints) -> Ints:
        """Positions, shape (n, knobs)."""

    def numbers(self, positions: Ints) -> Ints:
        """Numbers of positions; -1 for those that are no schedule."""

    def schedule(self, number: int) -> Any:
        """A schedule by its number."""

    def find(self, schedule: Any) -> int | None:
        """The number of a schedule; None if it is not there."""

    def random(self, rng: np.random.Generator, count: int) -> Ints:
        """Numbers at random."""

    def rejections(self) -> str:
        """What was left out, and why, as a text."""


class Tunable(Protocol):
    """One task."""

    @property
    def space(self) -> SearchSpace:
        """The schedules to choose from."""

    @property
    def name(self) -> str:
        """A short name of the workload."""

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run; 0 for operators without products."""

    @property
    def least_seconds(self) -> float:
        """What a run takes at least, by a model."""

    def default(self) -> Any:
        """The schedule that is taken where nothing was tuned."""

    def features(self, kind: str, numbers: Ints) -> Floats:
        """What cost models see of schedules, shape (n, columns): `kind` is knob, itervar or curve."""

    def schedule_of(self, record: Record) -> Any:
        """The schedule of a record of this task. Raises `TuningError` if the task cannot have it."""

    def is_of(self, record: Record) -> bool:
        """Whether a record is one of this task, on what it is tuned for."""

    def record(self, schedule: Any, number: int, result: Measurement, device: str) -> Record:
        """The record of a trial."""


def uses_of(graph: Graph, workload_of: Callable[[Node], Workload | None]) -> dict[Workload, list[Node]]:
    """The operators of a network by their workload, in the order of its first use; those that have none left out."""
    found: dict[Workload, list[Node]] = {}
    for node in graph.calls():
        if (workload := workload_of(node)) is not None:
            found.setdefault(workload, []).append(node)
    return found


def layers_text(layers: Sequence[str], otherwise: str) -> str:
    """The layers that a task is for, to be shown; `otherwise` where it knows none."""
    if not layers:
        return otherwise
    return layers[0] + (f" and {len(layers) - 1} more" if len(layers) > 1 else "")
