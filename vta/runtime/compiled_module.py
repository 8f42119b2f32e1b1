"""A compiled network, as the compiler makes it and a `.vta` file holds it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vta.codegen.region_program import Placement, RegionProgram
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph
from vta.runtime.artifact.vta_file import Contents, read_contents, write_contents
from vta.support.dataclass import dataclass
from vta.support.table import Rows, html_lines

if TYPE_CHECKING:
    from vta.ir.diagnostics import Diagnostic
    from vta.partition.fused.reason import Reason
    from vta.partition.partition import Partition
    from vta.runtime.artifact.gpu_host import GpuHost
    from vta.runtime.artifact.host_plan import HostLibrary
    from vta.schedule.schedule import Schedule

__all__ = ["CompiledModule", "load", "save"]


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
    host: HostLibrary | None = None
    """The host part compiled for a processor, if it is."""
    gpu: GpuHost | None = None
    """The GPU that computes the host part, if one does."""

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
        # What runs a module on a board has none of the levels.
        from vta.runtime.module_dump import dump_module

        return dump_module(self, level)

    def __post_init__(self) -> None:
        object.__setattr__(self, "placements", Rows(self.placements))

    def save(self, path: str | Path) -> None:
        """Write the module to a `.vta` file. Raises `ArtifactError` naming the file if it cannot be written."""
        save(self, path)

    def __repr__(self) -> str:
        return f"CompiledModule {self.graph.name!r} for {self.hw.model}: {self._summary()}"

    def _repr_html_(self) -> str:
        return html_lines(repr(self), Rows(self.placements))

    def _summary(self) -> str:
        places = [placement.where for placement in self.placements]
        macs = sum(record.macs for region in self.regions for record in region.operators)
        plural = "" if len(self.regions) == 1 else "s"
        return (
            f"{len(self.regions)} region{plural}, {places.count('vta')} operators on VTA and {places.count('host')} on the host, "
            f"{macs:,} of {self.total_macs:,} multiply-accumulates on VTA"
        )


def save(module: CompiledModule, path: str | Path) -> None:
    """Write `module` to `path`; the same module gives the same bytes.

    Raises `ArtifactError` naming the file if it cannot be written.
    """
    contents = Contents(module.graph, module.hw, module.regions, module.placements, module.total_macs, module.host, module.gpu)
    write_contents(contents, path)


def load(path: str | Path, verified: bool = True, contained: bool = False) -> CompiledModule:
    """Read a module that `save` wrote; each program goes through the verifier unless `verified` is False.

    With `contained` each goes through `require_contained` instead, which needs no C++ core: on a board, whose clients have
    the verifier.
    Raises `ArtifactError` naming the file and the cause if it is not one, damaged, or of another version.
    """
    found = read_contents(path, verified, contained)
    return CompiledModule(
        found.graph, found.hw, found.regions, found.placements, found.total_macs, host=found.host, gpu=found.gpu
    )
