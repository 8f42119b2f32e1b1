"""What a compilation can be told, beside the network and the hardware."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, TypedDict

from vta.compiler.profit import HostModel
from vta.config.target_list import DEFAULT_TARGETS, TargetList
from vta.quantization.config import QuantizeConfig
from vta.records.shipped import SHIPPED
from vta.schedule.source import ScheduleSource
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["CompileOptions", "OptionChanges"]


@dataclass(frozen=True, kw_only=True)
class CompileOptions:
    """How a network is quantised, partitioned and scheduled."""

    quantize: QuantizeConfig = field(default_factory=QuantizeConfig)
    start: str | None = None
    """The region that may run on VTA begins after this operator (see `vta.partition.selection.layers_between`)."""
    stop: str | None = None
    """That region ends before this one. Numbers are those of the canonical graph."""
    serial: bool = False
    """One unit runs at a time."""
    least_gain: float | None = None
    """A region whose gain over `host` is below this stays on the host; None: one without products does whose gain is below 1 (see
    `vta.compiler.profit`); 0: none does."""
    host: HostModel = field(default_factory=HostModel)
    targets: TargetList = DEFAULT_TARGETS
    """The first takes what it can; without a host among them, VTA has to run everything."""
    schedules: ScheduleSource = SHIPPED
    """Where the schedules of operators come from (see `vta.records.schedules`); equal workloads are asked for once."""
    strict: bool = False
    """A program that breaks a rule, a fault of the compiler, is an error; otherwise what it concerns runs on the host."""

    def changed(self, **changes: Unpack[OptionChanges]) -> CompileOptions:
        """The options with some of them changed."""
        return replace(self, **changes) if changes else self


class OptionChanges(TypedDict, total=False):
    """The fields of `CompileOptions` as keywords of functions."""

    quantize: QuantizeConfig
    start: str | None
    stop: str | None
    serial: bool
    least_gain: float | None
    host: HostModel
    targets: TargetList
    schedules: ScheduleSource
    strict: bool
