"""Kernels in the place of the host's operators in a plan; those with nothing between them become one step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from vta.host.groups import is_view
from vta.host.part import HostKernel, HostPart
from vta.host.plan import PLAN_ALIGNMENT, KernelPlan, PlacedKernel, View, make_kernel_plan
from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.runtime.host_part.plan import HostStep, KernelRun, KernelStep, Plan, RegionStep, Step, slots_of, with_deaths

__all__ = ["RunOf", "host_calls", "joined"]

RunOf = Callable[[KernelPlan], KernelRun]
"""Makes something that runs out of a plan of kernels."""


def host_calls(
    plan: Plan, graph: Graph, kept: Collection[Node] = (), only: Collection[Node] | None = None
) -> tuple[list[Node], set[Node]]:
    """The operators that may get kernels, and the values that others than kernels read."""
    regions = [step for step in plan.steps if isinstance(step, RegionStep)]
    calls = [step.node for step in plan.steps if isinstance(step, HostStep)]
    chosen = calls if only is None else [node for node in calls if node in only]
    wanted = {*graph.outputs, *kept, *(binding.node for step in regions for binding in step.region.inputs)}
    wanted |= {source for node in calls if node not in set(chosen) for source in node.inputs}
    return chosen, wanted


def joined(plan: Plan, graph: Graph, part: HostPart, wanted: set[Node], run_of: RunOf, alignment: int = PLAN_ALIGNMENT) -> Plan:
    """Return a plan with kernels in the place of the operators that they compute; other steps stay.

    Kernels with no other step between them become one step.
    """
    slots = slots_of(plan, graph)
    steps = list(_Joined(part, run_of, slots, wanted, alignment).steps(plan.steps))
    constants = {slot for node, slot in slots.items() if node.op == ops.CONSTANT}
    return replace(plan, steps=tuple(with_deaths(steps, constants | set(plan.outputs))))


class _Joined:
    """Makes steps of kernels out of those of a plan."""

    def __init__(self, part: HostPart, run_of: RunOf, slots: dict[Node, int], kept: set[Node], alignment: int) -> None:
        self._alignment = alignment
        self._part = part
        self._run_of = run_of
        self._slots = slots
        self._kept = kept
        self._kernels: dict[Node, HostKernel] = {kernel.placed.result: kernel for kernel in part.kernels}
        self._inside = {node for kernel in part.kernels for node in kernel.nodes} - set(self._kernels)

    def steps(self, steps: Sequence[Step]) -> Iterator[Step]:
        """The steps in order, kernels joined."""
        pending: list[PlacedKernel | View] = []
        for at, step in enumerate(steps):
            if isinstance(step, HostStep) and step.node in self._inside:
                continue
            if isinstance(step, HostStep) and step.node in self._kernels:
                pending.append(self._kernels[step.node].placed)
            elif isinstance(step, HostStep) and is_view(step.node) and self._part.layouts.get(step.node.inputs[0]) is None:
                pending.append(View(step.node.inputs[0], step.node))
            else:
                yield from self._flushed(pending, steps[at:])
                pending = []
                yield step
        yield from self._flushed(pending, ())

    def _flushed(self, pending: Sequence[PlacedKernel | View], later: Sequence[Step]) -> Iterator[Step]:
        if pending:
            yield self._joined(pending, {slot for step in later for slot in self._read_by(step)})

    def _read_by(self, step: Step) -> tuple[int, ...]:
        """Slots that a step reads, or that the kernel does which takes its place."""
        if isinstance(step, HostStep) and step.node in self._kernels:
            return tuple(self._slots[node] for node in self._kernels[step.node].placed.sources)
        return () if isinstance(step, HostStep) and step.node in self._inside else step.sources

    def _joined(self, steps: Sequence[PlacedKernel | View], wanted: set[int]) -> KernelStep:
        results = {step.result for step in steps}
        read = [node for step in steps for node in (step.sources if isinstance(step, PlacedKernel) else (step.source,))]
        inputs = tuple(dict.fromkeys(node for node in read if node not in results))
        outputs = tuple(step.result for step in steps if step.result in self._kept or self._slots[step.result] in wanted)
        plan = make_kernel_plan(steps, inputs, outputs, self._part.layouts, self._alignment)
        nodes = tuple(step.result for step in steps if isinstance(step, PlacedKernel))
        sources, targets = (tuple(self._slots[node] for node in group) for group in (inputs, outputs))
        return KernelStep(self._run_of(plan), nodes, sources, targets)
