"""Compiled kernels in the place of the host's reference steps."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from vta.host.engine import compile_host, describe_host
from vta.host.kernels.products.convolution_shape import TileSource
from vta.host.llvm.target import host_target
from vta.host.part import HostPart
from vta.host.processors import CpuTarget
from vta.host.runner import PlanRunner, WorkerThreads
from vta.ir.graph import Graph, Node
from vta.records.host.schedules import recorded_schedules
from vta.records.host.tiles import recorded_tiles
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.joined_kernels import host_calls, joined
from vta.runtime.host_part.plan import HostStep, Plan, RegionStep

__all__ = ["host_part", "packable", "with_host_kernels", "with_packed"]

_ITEM_BYTES, _IMAGE = 4, 4


def with_host_kernels(
    plan: Plan, graph: Graph, options: HostOptions, kept: Collection[Node] = (), only: Collection[Node] | None = None
) -> Plan:
    """Return a plan that gives the same outputs by kernels compiled for this processor, floats within rounding.

    Values in `kept` stay apart from what is computed after them; with `only`, no other operators get kernels.
    """
    target = host_target()
    packed = packable(plan, graph, target, kept) if only is None else set()
    part, wanted = host_part(plan, graph, target, options, kept, only, packed=packed)
    library, threads = compile_host(part), WorkerThreads(options.threads)
    found = joined(plan, graph, part, wanted, lambda kernels: PlanRunner(kernels, library, threads))
    return with_packed(found, frozenset(packed & set(part.layouts)))


def with_packed(plan: Plan, packed: frozenset[Node]) -> Plan:
    """Return the plan, whose regions read and give what is in `packed` as it lies on the device."""
    steps = [
        replace(step, packed=packed & {item.node for item in (*step.region.inputs, *step.region.outputs)})
        if isinstance(step, RegionStep)
        else step
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))


def packable(plan: Plan, graph: Graph, target: CpuTarget, kept: Collection[Node] = ()) -> set[Node]:
    """Images of bytes at the edges of regions that kernels may give, or read, as they lie on the device.

    Its blocks must be those of kernels, and what the host gives must be for regions alone.
    """
    regions = [step.region for step in plan.steps if isinstance(step, RegionStep)]
    on_host = {step.node for step in plan.steps if isinstance(step, HostStep)}
    users, others = graph.users(), {*graph.outputs, *kept}
    found: set[Node] = set()
    for region in regions:
        hw = region.program.hw
        if (hw.batch, hw.block) != (1, target.lanes(_ITEM_BYTES)):
            return set()
        inputs = {item.node for item in region.inputs if item.node in on_host and not on_host & set(users[item.node])}
        found |= inputs | {item.node for item in region.outputs if on_host & set(users[item.node])}
    crossing = {item.node for region in regions for item in region.outputs} & {
        item.node for region in regions for item in region.inputs
    }
    return {node for node in found - others - crossing if node.dtype == "int8" and len(node.shape) == _IMAGE}


def host_part(
    plan: Plan,
    graph: Graph,
    target: CpuTarget,
    options: HostOptions,
    kept: Collection[Node] = (),
    only: Collection[Node] | None = None,
    tiles: TileSource | None = None,
    packed: Collection[Node] = (),
) -> tuple[HostPart, set[Node]]:
    """The kernels for a processor of what the host computes, and the values that others than kernels read.

    `tiles`, if given, are asked alone, and schedules of whole kernels are not; `packed` is as for `describe_host`.
    """
    chosen, wanted = host_calls(plan, graph, kept, only)
    if tiles is not None:
        return describe_host(graph, chosen, list(wanted), target, tiles), wanted
    recorded, schedules = recorded_tiles(options.records), recorded_schedules(options.records)
    return describe_host(graph, chosen, list(wanted), target, recorded, schedules, packed, options.winograd), wanted
