"""Whether a region pays: its cycles on VTA, with all that it takes to use it, beside an estimate of the host's.

The model is simple on purpose, and all of it is here (docs/partition.md has the reasons). Cycles are those of the
fabric's clock. On VTA: a fixed cost of a run, the bytes that the host packs and unpacks, and the cycles of the program, in which
are its transfers and the fetching of its instructions. On the host: multiply-accumulates and values, each at a rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from math import prod

from vta.codegen.region_program import RegionProgram
from vta.config.hardware import HardwareConfig
from vta.devices.engine.cycle_engine import CycleEngine
from vta.errors import UsageError
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.macs import macs_of
from vta.ir.ops.nn.pool import Pool2DAttributes
from vta.ir.ops.quantized.qnn import QnnAvgPool2DAttributes
from vta.ir.ops.reduce import ArgAttributes, ReduceAttributes
from vta.isa.encoding import encode
from vta.partition.fused.fused_operator import is_view
from vta.partition.fused.reason import Reason
from vta.support.dataclass import dataclass
from vta.tile.packing import packed_nbytes

__all__ = [
    "HostModel",
    "OffloadEstimate",
    "estimate_offload",
    "host_cycles",
    "main_region",
    "reason_against",
    "reason_against_region",
]

_WHOLE_IMAGES = (ops.GLOBAL_AVG_POOL2D, ops.GLOBAL_MAX_POOL2D, ops.QNN_GLOBAL_AVG_POOL2D)


@dataclass(frozen=True)
class HostModel:
    """A small ARM core that runs compiled code, and the driver of the device. Raises `UsageError` unless all are above 0."""

    mhz: float = 650.0
    """Clock of the core."""
    macs_per_cycle: float = 1.0
    """int8 multiply-accumulates."""
    values_per_cycle: float = 2.0
    """Results of an operator that computes element by element, or values that a pooling window takes up."""
    bytes_per_cycle: float = 1.0
    """Bytes packed into VTA's layout or taken out of it."""
    start_microseconds: float = 10.0
    """To write back caches, start the device, and notice its end."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise UsageError(f"host model: {field.name} must be above 0, got {value}")


@dataclass(frozen=True)
class OffloadEstimate:
    """What a region costs, in cycles of the fabric's clock."""

    region: str
    macs: int
    start: int
    transfer: int
    """Of the host, packing inputs and unpacking outputs."""
    program: int
    """Of the device, from the first instruction that is fetched to the last byte that is stored."""
    host: int
    """Of the host, computing the same."""

    @property
    def device(self) -> int:
        """All that a run of the region takes."""
        return self.start + self.transfer + self.program

    @property
    def gain(self) -> float:
        """How many times as long the host would take."""
        return self.host / self.device


def estimate_offload(region: RegionProgram, hw: HardwareConfig, host: HostModel | None = None) -> OffloadEstimate:
    """Estimate a compiled region; its graph values tell what the host would have to compute."""
    host = host or HostModel()
    fabric = hw.platform.fabric_mhz
    moved = sum(packed_nbytes(item.node.shape, hw, item.planes) for item in (*region.inputs, *region.outputs))
    computed = _calls(region)
    macs = sum(macs_of(node) for node in computed)
    clocks = fabric / host.mhz
    return OffloadEstimate(
        region.name,
        macs,
        round(host.start_microseconds * fabric),
        round(moved / host.bytes_per_cycle * clocks),
        CycleEngine(hw).run(encode(region.program.instructions, hw)).cycles or 0,
        host_cycles(computed, hw, host),
    )


def host_cycles(nodes: Sequence[Node], hw: HardwareConfig, host: HostModel | None = None) -> int:
    """Cycles of the fabric's clock that the host computes `nodes` in."""
    host = host or HostModel()
    macs, values = sum(map(macs_of, nodes)), sum(map(_values, nodes))
    clocks = hw.platform.fabric_mhz / host.mhz
    return round((macs / host.macs_per_cycle + values / host.values_per_cycle) * clocks)


def reason_against(estimate: OffloadEstimate, least_gain: float | None) -> Reason | None:
    """Why a region is left to the host, or None if it pays: if its gain is at least `least_gain`, which is 1 if not given."""
    if estimate.gain >= (1.0 if least_gain is None else least_gain):
        return None
    text = (
        f"too little to pay for the transfer: about {estimate.device:,} cycles with VTA ({estimate.program:,} of them its own), "
        f"{estimate.host:,} on the host"
    )
    return Reason("does_not_pay", text, advice="a least gain of 0 keeps every region on VTA")


def reason_against_region(
    region: RegionProgram,
    hw: HardwareConfig,
    host: HostModel | None = None,
    least_gain: float | None = None,
    *,
    is_main: bool = False,
) -> Reason | None:
    """Why a compiled region is left to the host, or None if it pays: `reason_against` its estimate, made where it matters.

    Without a `least_gain` the main region of a network stays on VTA: whoever compiles for it wants that much. So does every one
    with products where the target does not multiply, as each layer of a network that came quantised is a region there.
    """
    stays = is_main or (_macs(region) > 0 and not hw.capabilities.multiply)
    if least_gain == 0 or (least_gain is None and stays):
        return None
    return reason_against(estimate_offload(region, hw, host), least_gain)


def main_region(regions: Sequence[RegionProgram]) -> RegionProgram | None:
    """The region with the most multiply-accumulates; None if there are none."""
    most = max(regions, key=_macs, default=None)
    return most if most is not None and _macs(most) else None


def _macs(region: RegionProgram) -> int:
    return sum(record.macs for record in region.operators)


def _calls(region: RegionProgram) -> list[Node]:
    """What a region computes."""
    inside: dict[Node, None] = {}
    border = {item.node for item in region.inputs}
    pending = [item.node for item in region.outputs]
    while pending:
        node = pending.pop()
        if node.is_call and node not in border and node not in inside:
            inside[node] = None
            pending += node.inputs
    return list(inside)


def _values(node: Node) -> int:
    """Values that an operator computes, or takes up in windows and reductions; none for products, which count by themselves, and
    for views."""
    if macs_of(node) or is_view(node):
        return 0
    attrs = node.attrs
    if isinstance(attrs, Pool2DAttributes | QnnAvgPool2DAttributes):
        return prod(node.shape) * prod(attrs.pool_size)
    if isinstance(attrs, ReduceAttributes | ArgAttributes) or node.op in _WHOLE_IMAGES:
        return prod(node.inputs[0].shape)
    return prod(node.shape)
