"""Sessions of onnxruntime in the place of the host's reference steps: one for all operators with nothing between them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from vta.host.onnxruntime.model import onnx_model
from vta.host.onnxruntime.session import Session
from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.runtime.host_part.plan import HostStep, KernelStep, Plan, Step, slots_of, with_deaths

__all__ = ["with_sessions"]


def with_sessions(plan: Plan, graph: Graph, threads: int = 1, apart: Collection[Node] = ()) -> Plan:
    """Return a plan that gives the same outputs by onnxruntime, floats within rounding; operators `apart` stay as they are.

    Raises `DeviceError` naming an operator that onnxruntime has not got.
    """
    slots = slots_of(plan, graph)
    constants = {slot for node, slot in slots.items() if node.op == ops.CONSTANT}
    steps = _joined(plan, {slot: node for node, slot in slots.items()}, threads, set(apart))
    return replace(plan, steps=tuple(with_deaths(list(steps), constants | set(plan.outputs))))


def _joined(plan: Plan, nodes: dict[int, Node], threads: int, apart: set[Node]) -> Iterator[Step]:
    at = 0
    for joins, group in groupby(plan.steps, lambda step: isinstance(step, HostStep) and step.node not in apart):
        steps = list(group)
        at += len(steps)
        if joins:
            yield _session([step for step in steps if isinstance(step, HostStep)], plan, plan.steps[at:], nodes, threads)
        else:
            yield from steps


def _session(steps: Sequence[HostStep], plan: Plan, later: Sequence[Step], nodes: dict[int, Node], threads: int) -> KernelStep:
    made = {step.target for step in steps}
    wanted = {slot for step in later for slot in step.sources} | set(plan.outputs)
    read = dict.fromkeys(slot for step in steps for slot in step.sources)
    sources = tuple(slot for slot in read if slot not in made and nodes[slot].op != ops.CONSTANT)
    targets = tuple(step.target for step in steps if step.target in wanted)
    calls = [step.node for step in steps]
    model = onnx_model(calls, [nodes[slot] for slot in sources], [nodes[slot] for slot in targets])
    return KernelStep(Session(model, threads), (calls[-1],), sources, targets)
