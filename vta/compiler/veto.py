"""What is said against running a fused operator on VTA, before anything is partitioned."""

from __future__ import annotations

from collections.abc import Mapping

from vta.compiler.schedules import Schedules
from vta.config.hardware import HardwareConfig
from vta.errors import CompileError
from vta.files.second_process import Postponed
from vta.ir.graph import Node
from vta.partition.fused.fused_operator import FusedOperator
from vta.partition.fused.reason import Reason
from vta.support.dataclass import dataclass
from vta.tile.region_lowering import RegionLowering

__all__ = ["Vetoes", "host_first", "outside"]


def host_first(host: object) -> Reason:
    """Why nothing runs on VTA where the host comes first among the targets."""
    return Reason("host_first", f"taken by {host}, which comes first among the targets", advice="name vta first")


def outside(fused: FusedOperator, layers: frozenset[str] | None) -> Reason | None:
    """Why an operator may not run on VTA, if only some layers may; None: all."""
    if layers is None or {fused.anchor.name, fused.result.name} <= layers:
        return None
    return Reason("outside_of_region", "outside the region between start and stop", fused.anchor)


@dataclass(frozen=True)
class Vetoes:
    """The veto of a compilation: what may not run, was vetoed before, or fits no schedule."""

    hw: HardwareConfig
    lowering: RegionLowering
    schedules: Schedules
    layers: frozenset[str] | None
    """Those that may run on VTA; None: all."""
    vetoed: Mapping[Node, Reason]
    """By the result of a fused operator."""
    all_of_them: Reason | None
    """Against everything."""

    def __call__(self, fused: FusedOperator) -> Reason | None:
        """Why `fused` may not or cannot run on VTA; None, too, for a schedule that is to be found yet by a second process."""
        if self.all_of_them is not None:
            return self.all_of_them
        if (reason := outside(fused, self.layers)) is not None:
            return reason
        if fused.result in self.vetoed:
            return self.vetoed[fused.result]
        try:
            for operator in self.lowering.operators(fused):
                operator.check(self.hw)
                if operator.scheduled is not None:
                    self.schedules.of(operator.scheduled)
        except Postponed:
            return None
        except CompileError as error:
            return Reason("does_not_fit", str(error), fused.anchor, advice="larger buffers on the chip")
        return None
