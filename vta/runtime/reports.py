"""What runs of a module gave and cost."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from vta.codegen.region_program import MOVE_SUFFIX, RegionProgram
from vta.devices.device import Counters, RunResult
from vta.ir.graph import Node
from vta.runtime.compare import Mismatch
from vta.runtime.operator_cycles import operator_cycles
from vta.runtime.values.cost import cost_text
from vta.runtime.values.outputs import Outputs
from vta.support.dataclass import dataclass
from vta.support.table import Rows, html_lines

__all__ = ["BatchReport", "CheckReport", "LayerReport", "RunReport", "StepTime"]

Array = NDArray[Any]
_NONE = Counters()


@dataclass(frozen=True)
class LayerReport:
    """What one operator on the device did in a run."""

    layer: str
    kind: str
    region: str
    cycles: int | None
    """From its first instruction to its last, on devices that time instructions. Operators overlap: these do not add up."""
    macs: int
    bytes_loaded: int
    bytes_stored: int


@dataclass(frozen=True)
class StepTime:
    """Wall time of one step of a run."""

    node: Node | None
    """What the host computed: the last of the operators that one kernel computes together. None: a device run."""
    seconds: float


@dataclass(frozen=True, repr=False)
class RunReport:
    """What one run gave and cost."""

    outputs: Outputs
    """The graph's outputs, in order and by name."""
    device_seconds: float
    """Wall time of device runs and of moving their tensors."""
    host_seconds: float
    """Wall time of everything else."""
    results: tuple[tuple[RegionProgram, RunResult], ...] = ()
    """Each device run and the region that it ran, in order."""
    steps: tuple[StepTime, ...] = ()
    """Each step of the run, in order; () where it ran on another machine, which does not send them."""

    @property
    def device_runs(self) -> int:
        """How many there were."""
        return len(self.results)

    @cached_property
    def counters(self) -> Counters:
        """Sum over all device runs."""
        return sum((result.counters for _, result in self.results), _NONE)

    @cached_property
    def operators(self) -> dict[str, Counters]:
        """Of each VTA operator."""
        operators: dict[str, Counters] = {}
        for region, result in self.results:
            for name, found in zip(region.program.operators, result.operators, strict=False):
                operators[name] = operators[name] + found if name in operators else found
        return operators

    @cached_property
    def cycles(self) -> int | None:
        """Clock cycles of all device runs, on devices that count them."""
        counted = [result.cycles for _, result in self.results if result.cycles is not None]
        return sum(counted) if counted else None

    @property
    def seconds(self) -> float:
        """Wall time of the run."""
        return self.device_seconds + self.host_seconds

    @property
    def move_macs(self) -> int:
        """Multiply-accumulates with identity matrices, which only bring a tensor into the accumulator."""
        return sum(counters.macs for name, counters in self.operators.items() if name.endswith(MOVE_SUFFIX))

    @property
    def macs(self) -> int:
        """Multiply-accumulates on the device that the network asks for, with the tails of blocks."""
        return self.counters.macs - self.move_macs

    @property
    def by_layer(self) -> Rows[LayerReport]:
        """What each operator on the device did, in the order of the program."""
        return Rows(row for region, result in self.results for row in _layers(region, result))

    def __repr__(self) -> str:
        return f"RunReport: {cost_text(self.cycles, self.device_runs, self.seconds)}; {self.outputs!r}"

    def _repr_html_(self) -> str:
        return html_lines(cost_text(self.cycles, self.device_runs, self.seconds), self.outputs.table(), self.by_layer)


@dataclass(frozen=True, repr=False)
class BatchReport:
    """What running many samples gave."""

    outputs: Outputs
    """The graph's outputs, in order and by name, for all samples."""
    device_runs: int
    seconds: float
    cycles: int | None = None
    """Clock cycles of all device runs, on devices that count them."""

    def __repr__(self) -> str:
        return f"BatchReport: {cost_text(self.cycles, self.device_runs, self.seconds)}; {self.outputs!r}"

    def _repr_html_(self) -> str:
        return html_lines(cost_text(self.cycles, self.device_runs, self.seconds), self.outputs.table())


@dataclass(frozen=True, repr=False)
class CheckReport:
    """What comparing a module with the reference found."""

    bit_exact: bool
    mismatch: Mismatch | None
    """The first tensor that differs."""
    compared: int
    """VTA operators whose output was compared."""
    run: RunReport
    """The whole run."""

    def __repr__(self) -> str:
        if self.mismatch is not None:
            return f"CheckReport: differs from the reference, first in {self.mismatch}"
        return f"CheckReport: bit-exact: {self.compared} operators and all outputs equal the reference"


def _layers(region: RegionProgram, result: RunResult) -> list[LayerReport]:
    counted = dict(zip(region.program.operators, result.operators, strict=False))
    spans = {row.operator: row.total.last - row.total.first for row in operator_cycles(region, result)}
    rows = []
    for record in region.operators:
        own = counted.get(record.name, Counters())
        moved = (own + counted.get(record.name + MOVE_SUFFIX, Counters())).dram_bytes
        stored = moved.pop("out")
        rows.append(
            LayerReport(record.name, record.kind, region.name, spans.get(record.name), own.macs, sum(moved.values()), stored)
        )
    return rows
