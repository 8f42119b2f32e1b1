"""The reduction that a kernel is built around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from vta.host.kernels.by_element.pointwise import ConstantMaker
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Layout, Value
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage
from vta.host.loop.steps import Step
from vta.host.processors import CpuTarget
from vta.support.dataclass import dataclass

__all__ = ["SUMS", "Anchor", "AnyAnchor", "PlainAnchor", "RowsAnchor", "Site"]

SUMS = "sums"
"""Name of the stage of sums."""


@dataclass(frozen=True)
class Site:
    """Where an anchor is built: the values of its operator's inputs, and what it may make."""

    value: Callable[[int], Value]
    """Of an input; one that is not asked for is none of the kernel's."""
    layout: Layout
    """How the first input lies in memory."""
    make_constant: ConstantMaker
    target: CpuTarget
    tile: Tile | None = None
    """In place of the one that the model ranks first."""
    plain_result: bool = False
    """Whether all that the kernel reads and gives lies row by row, and results are made of the anchor's at the same places."""

    @property
    def lanes(self) -> int:
        """Channels in a block, and values of 32 bits in a register."""
        return self.target.lanes(4)


@dataclass(frozen=True)
class PlainAnchor:
    """Stages that are computed one after the other, row by row, before the kernel's last one reads them."""

    stages: tuple[Stage, ...]
    value: Value
    steps: tuple[Step, ...] = ()
    constants: tuple[tuple[Buffer, NDArray[Any]], ...] = ()
    by_row: PlainAnchor | None = None
    """The same, where all stages are computed for a row along the last axis at a time, which stays in the nearest cache."""


@dataclass(frozen=True)
class RowsAnchor:
    """Sums of an image row by row, some rows of a vector of columns at a time in registers."""

    stages: tuple[Stage, ...]
    value: Value
    steps: tuple[Step, ...]
    """For all stages but the last one, which stores the result."""
    constants: tuple[tuple[Buffer, NDArray[Any]], ...]
    together: int
    """Rows of sums in registers."""
    rows: int
    """Rows, a multiple of those, for which the stages `by_rows` are computed at a time."""
    by_rows: tuple[str, ...] = ()


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
    window: tuple[int, int] | None = None
    """Rows and columns of sums that are made of the same values, if they are: those are computed together.

    Then all stages but the sums are computed for a tile, of as many rows and columns as it has.
    """

    @property
    def whole_rows(self) -> bool:
        """Whether sums are there for rows at a time."""
        return SUMS in self.by_rows


AnyAnchor = Anchor | PlainAnchor | RowsAnchor
