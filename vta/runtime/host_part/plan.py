"""The order of execution of a compiled module, worked out once: which step computes which values, and how long they live."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from numpy.typing import NDArray

from vta.codegen.region_program import RegionProgram
from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.support.dataclass import dataclass

__all__ = [
    "HostStep",
    "KernelRun",
    "KernelStep",
    "Plan",
    "RegionStep",
    "Step",
    "make_plan",
    "nodes_inside",
    "slots_of",
    "with_deaths",
    "without_regions",
]


@dataclass(frozen=True)
class HostStep:
    """One operator on the host."""

    node: Node
    sources: tuple[int, ...]
    """Slots of its inputs."""
    target: int
    dead: tuple[int, ...] = ()
    """Slots that nothing needs after this step."""


@dataclass(frozen=True)
class RegionStep:
    """One run of a region's program on the device."""

    region: RegionProgram
    index: int
    """Position in `CompiledModule.regions`."""
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    dead: tuple[int, ...] = ()
    packed: frozenset[Node] = frozenset()
    """What of its inputs and outputs lies in the slots as on the device."""


class KernelRun(Protocol):
    """Compiled code of several kernels."""

    def run(self, inputs: Sequence[NDArray[Any]]) -> tuple[list[NDArray[Any]], list[float]]:
        """Return the values that it gives, and the seconds that each kernel took."""


@dataclass(frozen=True)
class KernelStep:
    """Compiled kernels on the host, one after the other."""

    kernels: KernelRun
    nodes: tuple[Node, ...]
    """What each kernel gives."""
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    dead: tuple[int, ...] = ()


Step = HostStep | KernelStep | RegionStep


@dataclass(frozen=True)
class Plan:
    """Steps over numbered slots, one a value."""

    steps: tuple[Step, ...]
    initial: tuple[NDArray[Any] | None, ...]
    """Value of each slot before the first step: constants; None for the rest."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def make_plan(graph: Graph, regions: Sequence[RegionProgram] = ()) -> Plan:
    """Order the regions and the host operators that the outputs of a graph need.

    Raises `GraphError` if a region needs, through the host, what it computes itself.
    """
    units = _ordered_units(graph, regions)
    slots: dict[Node, int] = {}
    for node in (*graph.inputs, *(node for unit in units for node in (*_needs(unit), *_gives(unit)))):
        slots.setdefault(node, len(slots))
    for node in graph.outputs:
        slots.setdefault(node, len(slots))
    initial: list[NDArray[Any] | None] = [None] * len(slots)
    for node, slot in slots.items():
        if node.op == ops.CONSTANT:
            initial[slot] = node.value
    outputs = tuple(slots[node] for node in graph.outputs)
    kept = {slots[node] for node in slots if node.op == ops.CONSTANT} | set(outputs)
    positions = {id(region): index for index, region in enumerate(regions)}
    steps = [_step(unit, slots, positions) for unit in units]
    return Plan(tuple(with_deaths(steps, kept)), tuple(initial), tuple(slots[n] for n in graph.inputs), outputs)


def without_regions(plan: Plan, graph: Graph) -> Plan:
    """The same plan with the operators of the regions, one after the other, on the host."""
    slots = slots_of(plan, graph)
    initial = list(plan.initial)

    def slot(node: Node) -> int:
        if node not in slots:
            slots[node] = len(initial)
            initial.append(node.value)
        return slots[node]

    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, RegionStep):
            inside = nodes_inside(step.region)
            steps += [HostStep(node, tuple(map(slot, node.inputs)), slot(node)) for node in graph.calls() if node in inside]
        else:
            steps.append(step)
    kept = {at for node, at in slots.items() if node.op == ops.CONSTANT} | set(plan.outputs)
    return replace(plan, steps=tuple(with_deaths(steps, kept)), initial=tuple(initial))


def nodes_inside(region: RegionProgram) -> set[Node]:
    """The operators that a region computes."""
    inside: set[Node] = set()
    border = {binding.node for binding in region.inputs}
    pending = [binding.node for binding in region.outputs]
    while pending:
        node = pending.pop()
        if node.is_call and node not in border and node not in inside:
            inside.add(node)
            pending += node.inputs
    return inside


def slots_of(plan: Plan, graph: Graph) -> dict[Node, int]:
    """The slot of each value of a plan whose host steps are not joined yet."""
    slots = dict(zip(graph.inputs, plan.inputs, strict=True))
    for step in plan.steps:
        if isinstance(step, RegionStep):
            slots.update(zip((binding.node for binding in step.region.inputs), step.sources, strict=True))
            slots.update(zip((binding.node for binding in step.region.outputs), step.targets, strict=True))
        elif isinstance(step, HostStep):
            slots.update(zip(step.node.inputs, step.sources, strict=True))
            slots[step.node] = step.target
    slots.update(zip(graph.outputs, plan.outputs, strict=True))
    return slots


_Unit = Node | RegionProgram


def _needs(unit: _Unit) -> tuple[Node, ...]:
    return tuple(binding.node for binding in unit.inputs) if isinstance(unit, RegionProgram) else unit.inputs


def _gives(unit: _Unit) -> tuple[Node, ...]:
    return tuple(binding.node for binding in unit.outputs) if isinstance(unit, RegionProgram) else (unit,)


def _ordered_units(graph: Graph, regions: Sequence[RegionProgram]) -> list[_Unit]:
    """Depth first from the outputs, each unit after those that compute its inputs."""
    makers: dict[Node, _Unit] = {binding.node: region for region in regions for binding in region.outputs}
    done: dict[int, _Unit] = {}
    entered: set[int] = set()
    for output in graph.outputs:
        stack = [(unit, iter(_needs(unit))) for unit in _maker(output, makers) if id(unit) not in done]
        entered.update(id(unit) for unit, _ in stack)
        while stack:
            unit, pending = stack[-1]
            following = _next_unit(pending, makers, done)
            if following is None:
                done[id(unit)] = unit
                stack.pop()
            elif id(following) in entered:
                raise GraphError(f"region {following.name!r} needs a value that the host computes from its own output")
            else:
                entered.add(id(following))
                stack.append((following, iter(_needs(following))))
    return list(done.values())


def _maker(node: Node, makers: dict[Node, _Unit]) -> list[_Unit]:
    if node in makers:
        return [makers[node]]
    return [] if node.op in (ops.INPUT, ops.CONSTANT) else [node]


def _next_unit(pending: Iterator[Node], makers: dict[Node, _Unit], done: dict[int, _Unit]) -> _Unit | None:
    for node in pending:
        for unit in _maker(node, makers):
            if id(unit) not in done:
                return unit
    return None


def _step(unit: _Unit, slots: dict[Node, int], positions: dict[int, int]) -> Step:
    sources = tuple(slots[node] for node in _needs(unit))
    targets = tuple(slots[node] for node in _gives(unit))
    if isinstance(unit, RegionProgram):
        return RegionStep(unit, positions[id(unit)], sources, targets)
    return HostStep(unit, sources, targets[0])


def with_deaths(steps: Sequence[Step], kept: set[int]) -> Iterator[Step]:
    """The steps, each with the slots that are not `kept` and that no later step reads."""
    last: dict[int, int] = {}
    for index, step in enumerate(steps):
        last.update(dict.fromkeys(_slots(step), index))
    for index, step in enumerate(steps):
        dead = tuple(sorted({slot for slot in _slots(step) if last[slot] == index and slot not in kept}))
        yield replace(step, dead=dead)


def _slots(step: Step) -> tuple[int, ...]:
    return (*step.sources, *((step.target,) if isinstance(step, HostStep) else step.targets))
