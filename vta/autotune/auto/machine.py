"""What the search has to know of a processor or a GPU: which schedules it can have, and what they cost by a model."""

from __future__ import annotations

from typing import Protocol

from vta.autotune.auto.sketch import Sketch
from vta.host.loop.compute import Kernel
from vta.host.loop.nest import Program
from vta.support.dataclass import dataclass

__all__ = ["Figures", "Machine"]


@dataclass(frozen=True)
class Figures:
    """A program by the analytic model of a machine."""

    cycles: float
    """The fewer the better; only those of one kernel are compared."""
    values: tuple[float, ...]
    """For a cost model to learn from; as many for all programs of a machine."""


class Machine(Protocol):
    """A kind of processor."""

    @property
    def text(self) -> str:
        """The target, as records write it."""

    def matches(self, text: str) -> bool:
        """Whether a record's target is this one."""

    def sketches(self, kernel: Kernel) -> tuple[Sketch, ...]:
        """The structures that schedules of a kernel can have."""

    def figures(self, program: Program) -> Figures | None:
        """What a program costs; None if there is no room for it."""
