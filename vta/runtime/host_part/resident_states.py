"""Which states of a compiled network can stay in the memory of the device between runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vta.codegen.region_program import TensorBinding
from vta.ir.graph import Graph, Node
from vta.ir.state import state_nodes
from vta.runtime.host_part.plan import Plan, RegionStep, Step
from vta.support.dataclass import dataclass

__all__ = ["ResidentState", "resident_states"]


@dataclass(frozen=True)
class ResidentState:
    """A state that one region alone reads, and computes anew."""

    index: int
    """Of the region."""
    held: TensorBinding
    """Where its program reads it."""
    after: TensorBinding
    """Where its program stores the next value: the same place, if the compiler could arrange that."""


def resident_states(graph: Graph, plan: Plan) -> dict[str, ResidentState]:
    """The states, by name, that nothing but one region reads or computes; `plan` has all host operators as steps of their own."""
    reads = Counter(slot for step in plan.steps for slot in step.sources) + Counter(plan.outputs)
    makers = {slot: step for step in plan.steps for slot in _targets(step)}
    slots = dict(zip(graph.inputs, plan.inputs, strict=True))
    found = {}
    for state, (held, after) in zip(graph.states, state_nodes(graph), strict=True):
        slot = plan.outputs[state.output]
        step = makers.get(slot)
        alone = reads[slots[held]] == reads[slot] == 1
        if alone and isinstance(step, RegionStep) and slots[held] in step.sources:
            found[state.name] = ResidentState(
                step.index, _binding(step.region.inputs, held), _binding(step.region.outputs, after)
            )
    return found


def _targets(step: Step) -> Iterator[int]:
    yield from step.targets if isinstance(step, RegionStep) else ()


def _binding(bindings: tuple[TensorBinding, ...], node: Node) -> TensorBinding:
    return next(binding for binding in bindings if binding.node is node)
