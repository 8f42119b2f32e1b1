"""What passes work on: the network at its present level, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from vta.codegen.region_program import RegionProgram
from vta.compiler.schedules import Schedules
from vta.config.hardware import HardwareConfig
from vta.errors import CompileError, EncodingError
from vta.ir.diagnostics import Diagnostics
from vta.ir.graph import Graph, Node
from vta.partition.fused.reason import Reason
from vta.partition.partition import Partition
from vta.runtime.compiled_module import CompiledModule
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.region_lowering import RegionLowering, TileRegion

__all__ = ["Failure", "State"]

Failure = CompileError | EncodingError
"""What goes wrong where a region has no program: a fault of the compiler, since every operator fits by itself."""


@dataclass(frozen=True, kw_only=True)
class State:
    """Grows from pass to pass; a pass returns a new one, so that what it replaced can go."""

    hw: HardwareConfig
    model: Graph | str | Path | None = None
    """What is to be imported; None once it is."""
    shapes: dict[str, tuple[int, ...]] | None = None
    """Of inputs of `model` that it leaves open."""
    calibration: Mapping[str, NDArray[Any]] | None = None
    """Samples for each input, along the first axis."""
    imported: Graph | None = None
    """The graph at the level that it has reached; the arranged integer graph from the partition on."""
    quantized: Graph | None = None
    """A float network in the quantised dialect, before functions of its values became tables; None after the next pass."""
    layers: frozenset[str] | None = None
    """Those that may run on VTA; None: all."""
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    vetoed: Mapping[Node, Reason] = field(default_factory=dict)
    """Results of fused operators that are left to the host after all, and why."""
    lowering: RegionLowering | None = None
    chosen: Schedules | None = None
    partition: Partition | None = None
    tiles: tuple[TileRegion, ...] = ()
    schedules: tuple[tuple[Schedule | None, ...], ...] = ()
    """Of the operators of each region."""
    programs: tuple[RegionProgram | Failure, ...] = ()
    """One for each region."""
    again: str | None = None
    """The pass from which on passes run again, since something was vetoed."""
    module: CompiledModule | None = None

    @property
    def graph(self) -> Graph:
        """The graph; there is one from the import on."""
        assert self.imported is not None, "nothing is imported yet"
        return self.imported

    @property
    def partitioned(self) -> Partition:
        """The partition; there is one from its pass on."""
        assert self.partition is not None, "nothing is partitioned yet"
        return self.partition
