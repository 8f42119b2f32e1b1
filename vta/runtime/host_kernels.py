"""Compiled kernels in the place of the host's reference steps."""

from __future__ import annotations

from collections.abc import Collection

from vta.host.engine import compile_host, describe_host
from vta.host.kernels.convolution_shape import TileSource
from vta.host.llvm.target import host_target
from vta.host.part import HostPart
from vta.host.processors import CpuTarget
from vta.host.runner import PlanRunner, WorkerThreads
from vta.ir.graph import Graph, Node
from vta.records.host.schedules import recorded_schedules
from vta.records.host.tiles import recorded_tiles
from vta.runtime.host_options import HostOptions
from vta.runtime.joined_kernels import host_calls, joined
from vta.runtime.plan import Plan

__all__ = ["host_part", "with_host_kernels"]


def with_host_kernels(
    plan: Plan, graph: Graph, options: HostOptions, kept: Collection[Node] = (), only: Collection[Node] | None = None
) -> Plan:
    """Return a plan that gives the same outputs by kernels compiled for this processor, floats within rounding.

    Values in `kept` stay apart from what is computed after them; with `only`, no other operators get kernels.
    """
    part, wanted = host_part(plan, graph, host_target(), options, kept, only)
    library, threads = compile_host(part), WorkerThreads(options.threads)
    return joined(plan, graph, part, wanted, lambda kernels: PlanRunner(kernels, library, threads))


def host_part(
    plan: Plan,
    graph: Graph,
    target: CpuTarget,
    options: HostOptions,
    kept: Collection[Node] = (),
    only: Collection[Node] | None = None,
    tiles: TileSource | None = None,
) -> tuple[HostPart, set[Node]]:
    """The kernels for a processor of what the host computes, and the values that others than kernels read.

    `tiles`, if given, are asked alone, and schedules of whole kernels are not.
    """
    chosen, wanted = host_calls(plan, graph, kept, only)
    if tiles is not None:
        return describe_host(graph, chosen, list(wanted), target, tiles), wanted
    recorded, schedules = recorded_tiles(options.records), recorded_schedules(options.records)
    return describe_host(graph, chosen, list(wanted), target, recorded, schedules), wanted
