"""What a network takes at least on a config, whatever the schedules: cycles, and the operations and bytes that take energy."""

from __future__ import annotations

from collections.abc import Iterable

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.device import Counters
from vta.schedule.roofline import roofline_of
from vta.schedule.term_work import term_work
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import TileOperator

__all__ = ["Bound", "bound_of"]


@dataclass(frozen=True)
class Bound:
    """The least of operators, in whatever regions and by whatever schedules they run. It depends on the geometry and the bus."""

    cycles: int
    counters: Counters
    macs: int
    """Of the layers, without padding."""


def bound_of(operators: Iterable[TileOperator], hw: HardwareConfig, bus_bytes: int) -> Bound:
    """The bound of all `operators`; pooling and upsampling count for nothing."""
    operators = tuple(operators)
    scheduled = [operator.scheduled for operator in operators]
    gemms = [operator for operator in scheduled if operator is not None]
    rooflines = [roofline_of(operator, hw, bus_bytes) for operator in gemms]
    # Whatever runs together, the bus may work for one operator while the compute unit works for another.
    cycles = max(sum(getattr(found, part) for found in rooflines) for part in ("compute", "read", "write"))
    counters = sum((_counters(operator, hw) for operator in gemms), Counters())
    return Bound(cycles, counters, sum(operator.macs for operator in operators))


def _counters(operator: GemmOperator, hw: HardwareConfig) -> Counters:
    out = operator.output
    terms = [(term.source.name, term_work(term, operator)) for term in operator.terms]
    products = sum(work.products for _, work in terms)
    inputs: dict[str, int] = {}
    for name, work in terms:
        inputs[name] = max(inputs.get(name, 0), work.inputs)
    return Counters(
        inp_bytes=sum(inputs.values()) * hw.elem_bytes(MemoryType.INP),
        wgt_bytes=sum(work.weights for _, work in terms) * hw.elem_bytes(MemoryType.WGT),
        acc_bytes=len(operator.vectors) * out.blocks * hw.elem_bytes(MemoryType.ACC),
        out_bytes=out.elements * out.planes * hw.elem_bytes(MemoryType.OUT),
        gemm_uops=products,
        alu_uops=out.elements * operator.alu_passes,
        macs=products * hw.batch * hw.block * hw.block,
    )
