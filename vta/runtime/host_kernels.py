"""Compiled kernels in the place of the host's reference steps."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from vta.host.engine import HostKernel, compile_host
from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.runtime.host_options import HostOptions
from vta.runtime.plan import HostStep, Plan, RegionStep, Step, with_deaths

__all__ = ["with_kernels"]

Array = NDArray[Any]


def with_kernels(plan: Plan, graph: Graph, options: HostOptions) -> Plan:
    """Return a plan that gives the same outputs by compiled kernels, floats within rounding; other steps stay."""
    regions = [step for step in plan.steps if isinstance(step, RegionStep)]
    calls = [step.node for step in plan.steps if isinstance(step, HostStep)]
    kept = [*graph.outputs, *(binding.node for step in regions for binding in step.region.inputs)]
    kernels = compile_host(graph, calls, kept)
    pool = ThreadPoolExecutor(options.threads) if options.threads > 1 else None
    by_result = {kernel.result: kernel for kernel in kernels}
    inside = {node for kernel in kernels for node in kernel.nodes} - set(by_result)
    slots = _slots(plan, graph)
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, RegionStep) or step.node not in inside | set(by_result):
            steps.append(step)
        elif step.node in by_result:
            kernel = by_result[step.node]
            sources = tuple(slots[node] for node in kernel.sources)
            steps.append(replace(step, sources=sources, kernel=_call(kernel, pool, options.threads)))
    constants = {slot for node, slot in slots.items() if node.op == ops.CONSTANT}
    return replace(plan, steps=tuple(with_deaths(steps, constants | set(plan.outputs))))


def _slots(plan: Plan, graph: Graph) -> dict[Node, int]:
    """The slot of each value of a plan."""
    slots = dict(zip(graph.inputs, plan.inputs, strict=True))
    for step in plan.steps:
        if isinstance(step, RegionStep):
            slots.update(zip((binding.node for binding in step.region.outputs), step.targets, strict=True))
        else:
            slots.update(zip(step.node.inputs, step.sources, strict=True))
            slots[step.node] = step.target
    slots.update(zip(graph.outputs, plan.outputs, strict=True))
    return slots


def _call(kernel: HostKernel, pool: ThreadPoolExecutor | None, threads: int) -> Callable[[list[Array]], Array]:
    return lambda values: kernel.run(values, pool, threads)
