"""The reduction that a kernel is built around."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Value
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage
from vta.host.loop.schedule import Step
from vta.support.dataclass import dataclass

__all__ = ["SUMS", "Anchor"]

SUMS = "sums"
"""Name of the stage of sums."""


@dataclass(frozen=True)
class Anchor:
    """A reduction that a kernel is built around: its stages, and what its sums are at any point."""

    stages: tuple[Stage, ...]
    value: Value
    steps: tuple[Step, ...]
    """For all stages but those that store the result."""
    tile: Tile
    constants: tuple[tuple[Buffer, NDArray[Any]], ...]
    """Weights, laid out for the kernel."""
    by_rows: tuple[str, ...] = ()
    """Stages that are computed for a tile's rows at a time; others before the sums are computed whole.

    Those of sums are among them where they are not computed a tile at a time.
    """

    @property
    def whole_rows(self) -> bool:
        """Whether sums are there for rows at a time."""
        return SUMS in self.by_rows
