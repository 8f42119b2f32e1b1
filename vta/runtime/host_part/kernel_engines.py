"""Compiled kernels in the place of the host's reference steps, by the engine that options name."""

from __future__ import annotations

from collections.abc import Collection

from vta.ir.graph import Graph, Node
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import Plan

__all__ = ["with_kernels"]


def with_kernels(
    plan: Plan, graph: Graph, options: HostOptions, kept: Collection[Node] = (), only: Collection[Node] | None = None
) -> Plan:
    """Return a plan that gives the same outputs by compiled kernels, or sessions of onnxruntime, floats within rounding.

    Values in `kept` stay apart from what is computed after them; with `only`, no other operators get kernels.
    """
    # Each engine needs packages that the others do without.
    if options.onnxruntime:
        from vta.runtime.host_part.onnx_sessions import with_sessions

        return with_sessions(plan, graph, options.threads)
    if options.gpu is not None:
        from vta.runtime.host_part.gpu_kernels import with_gpu_kernels

        return with_gpu_kernels(plan, graph, options, kept, only)
    from vta.runtime.host_part.host_kernels import with_host_kernels

    return with_host_kernels(plan, graph, options, kept, only)
