"""Tuning records: what one trial was, and what it cost."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any

from vta.records.measurement import ErrorKind, Measured, Measurement, measured_on
from vta.records.workload import Workload
from vta.support.dataclass import dataclass

__all__ = ["Record", "RegionPlace", "kernel_record"]


@dataclass(frozen=True)
class RegionPlace:
    """For which operator of which region a schedule was chosen, together with those of the other operators."""

    region: str
    """`vta.records.region.region_identity` of the region."""
    choice: str
    """What the schedules that were chosen together have in common."""
    position: int
    """Of the operator in the region."""
    operators: int
    """How many operators the choice has a schedule for."""
    cycles: int
    """Of the whole region."""
    energy_pj: float | None = None
    """Of the whole region, where the choice was made by it."""

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {entry.name: value for entry in fields(self) if (value := getattr(self, entry.name)) is not None}


@dataclass(frozen=True)
class Record:
    """One trial: a schedule of a workload on a config, and what it cost."""

    target: str
    """E.g. ``ext_dev -device=vta -keys=cpu -model=pynq_1x16_i8w8a32_15_15_18_17``."""
    workload: Workload
    entity: tuple[tuple[str, str, Any], ...]
    index: int
    """Of the point in the space that the record's writer had."""
    costs: tuple[float, ...]
    """Seconds of one run, one entry a repeat."""
    error: int = 0
    """An `ErrorKind`."""
    all_cost: float = 0.0
    """Seconds that the trial took."""
    timestamp: float = 0.0
    cycles: int | None = None
    device: str = ""
    """Where it was measured; empty in published records."""
    place: RegionPlace | None = None
    """Set where the schedule was chosen for one operator of a region; costs and cycles are those of the operator alone."""
    energy_pj: float | None = None
    """Energy of a run, where the trial was judged by it."""
    technology: str = ""
    """Name of the technology whose figures `energy_pj` is by."""
    source: str = field(default="", compare=False)
    """File and line that it was read from."""

    @property
    def model(self) -> str:
        """The config, as `HardwareConfig.model` writes it; empty for targets other than VTA."""
        words = dict(word.split("=", 1) for word in self.target.split() if "=" in word)
        return words.get("-model", "") if words.get("-device") == "vta" else ""

    @property
    def cost(self) -> float:
        """Mean seconds of a run, infinite if it failed."""
        return sum(self.costs) / len(self.costs) if self.costs and self.error == ErrorKind.NONE else float("inf")

    @property
    def measured(self) -> Measured:
        """What its costs are. Only costs of one kind can be compared."""
        return measured_on(self.device, self.cycles)


def kernel_record(
    target: str,
    workload: Workload,
    entity: tuple[tuple[str, str, Any], ...],
    index: int,
    result: Measurement,
    device: str,
) -> Record:
    """The record of a trial of a kernel, on a processor or a GPU, which has no cycles."""
    error, seconds, when = int(result.error), result.seconds, result.timestamp
    return Record(target, workload, entity, index, result.costs, error, seconds, when, None, device)
