"""What the compiler hands to the run time: the program of each region and where its tensors lie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, Node
from vta.isa.program import Program
from vta.support.dataclass import dataclass
from vta.support.table import Rows, html_lines

if TYPE_CHECKING:
    from vta.ir.diagnostics import Diagnostic
    from vta.partition.partition import Partition
    from vta.partition.reason import Reason
    from vta.schedule.schedule import Schedule

__all__ = ["MOVE_SUFFIX", "CompiledModule", "OperatorRecord", "Placement", "RegionProgram", "TensorBinding"]

MOVE_SUFFIX = " (move)"
"""Ends the name under which a program counts products of an operator that only bring a tensor into the accumulator."""


@dataclass(frozen=True)
class TensorBinding:
    """A graph value in the DRAM image of a region, packed as (N/b, C/c, H, W, b, c)."""

    node: Node
    """The value; its type gives the logical shape, (N, C, H, W) or (N, C)."""
    symbol: str
    """Name of the program symbol that holds it."""
    planes: int = 1
    """1 for int8; 4 for int32, stored as byte planes, lowest first."""


@dataclass(frozen=True)
class OperatorRecord:
    """One VTA operator of a region, in program order."""

    name: str
    """Its entry in `Program.operators`."""
    kind: str
    """Template: ``conv2d``, ``dense``, ``max_pool2d``, ..."""
    macs: int
    """Multiply-accumulates that the network needs here, without padding."""
    output: TensorBinding
    end: int
    """Instructions [0, end) of the program, run in order, complete the output."""


@dataclass(frozen=True, repr=False)
class RegionProgram:
    """A region of the graph compiled to one program."""

    name: str
    program: Program
    inputs: tuple[TensorBinding, ...]
    outputs: tuple[TensorBinding, ...]
    operators: tuple[OperatorRecord, ...]

    def __repr__(self) -> str:
        size = f"{len(self.operators)} operators, {len(self.program.instructions):,} instructions"
        return f"RegionProgram {self.name!r}: {size}, {self.program.image_bytes:,} bytes"


@dataclass(frozen=True)
class Placement:
    """Where one operator of the graph runs, and why."""

    layer: str
    op: str
    where: str
    """``vta`` or ``host``."""
    reason: str
    """Why it runs on the host, or the VTA operator that it is part of."""


@dataclass(frozen=True, repr=False)
class CompiledModule:
    """A compiled network: the integer graph, the regions that the accelerator runs, and the rest for the host."""

    graph: Graph
    hw: HardwareConfig
    regions: tuple[RegionProgram, ...]
    placements: tuple[Placement, ...]
    """They show as a table."""
    total_macs: int
    """Multiply-accumulates of the whole network, wherever they run."""
    partition: Partition | None = None
    """How the graph was partitioned; None for a module that comes from a file, which does not hold it."""
    schedules: tuple[tuple[Schedule | None, ...], ...] = ()
    """Of the operators of each region, as far as they have one; none for a module that comes from a file."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What passes said of layers; none for a module that comes from a file."""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Why operators run on the host, in the order of the graph; none for a module that comes from a file."""
        if self.partition is None:
            return ()
        reasons = self.partition.reasons
        return tuple(reasons[node] for node in self.graph.calls() if node in reasons)

    def dump(self, level: str) -> str:
        """The text of one level: ``integer``, ``partition``, ``tile`` or ``isa``; of ``graph`` nothing is kept.

        A module that comes from a file has the first and the last. Raises `UsageError` naming the levels that it has.
        """
        # What runs a module from a file needs none of the levels above it.
        from vta.codegen.dump import dump_module

        return dump_module(self, level)

    def __post_init__(self) -> None:
        object.__setattr__(self, "placements", Rows(self.placements))

    def save(self, path: str | Path) -> None:
        """Write the module to a `.vta` file. Raises `ArtifactError` naming the file if it cannot be written."""
        from vta.runtime.artifact.vta_file import save

        save(self, path)

    def __repr__(self) -> str:
        return f"CompiledModule {self.graph.name!r} for {self.hw.model}: {self._summary()}"

    def _repr_html_(self) -> str:
        return html_lines(repr(self), Rows(self.placements))

    def _summary(self) -> str:
        places = [placement.where for placement in self.placements]
        macs = sum(record.macs for region in self.regions for record in region.operators)
        return (
            f"{len(self.regions)} regions, {places.count('vta')} operators on VTA and {places.count('host')} on the host, "
            f"{macs:,} of {self.total_macs:,} multiply-accumulates on VTA"
        )
