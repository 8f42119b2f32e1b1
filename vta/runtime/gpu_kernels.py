"""Kernels on a GPU in the place of the host's reference steps."""

from __future__ import annotations

from collections.abc import Collection

from vta.host.gpu.device import GpuDevice
from vta.host.gpu.engine import compile_gpu, describe_gpu
from vta.host.gpu.runner import GpuPlanRunner
from vta.ir.graph import Graph, Node
from vta.runtime.joined_kernels import host_calls, joined
from vta.runtime.plan import Plan

__all__ = ["with_gpu_kernels"]


def with_gpu_kernels(
    plan: Plan, graph: Graph, device: GpuDevice, kept: Collection[Node] = (), only: Collection[Node] | None = None
) -> Plan:
    """Return a plan that gives the same outputs by kernels on a GPU, floats within rounding."""
    chosen, wanted = host_calls(plan, graph, kept, only)
    part = describe_gpu(graph, chosen, list(wanted), device.limits)
    codes = compile_gpu(part, device)
    return joined(plan, graph, part, wanted, lambda kernels: GpuPlanRunner(kernels, codes, device), device.alignment)
