"""Kernels of a GPU beside the reference, each step from the reference's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from vta.ir.graph import Graph, Node
from vta.runtime.compare import Mismatch, find_difference
from vta.runtime.host_part.plan import KernelStep, Plan, slots_of

__all__ = ["GPU_ROUNDING", "check_kernels", "nodes_of_kernels"]

GPU_ROUNDING = 1e-4
"""Of the largest value: floats are added up in another order, layer after layer."""


def nodes_of_kernels(plan: Plan, kernels: Plan, graph: Graph) -> dict[KernelStep, tuple[tuple[Node, ...], tuple[Node, ...]]]:
    """What each step of `kernels` reads and gives, where `plan` is the same without kernels."""
    nodes = {slot: node for node, slot in slots_of(plan, graph).items()}
    steps = [step for step in kernels.steps if isinstance(step, KernelStep)]
    return {step: (tuple(nodes[slot] for slot in step.sources), tuple(nodes[slot] for slot in step.targets)) for step in steps}


def check_kernels(
    steps: Mapping[KernelStep, tuple[tuple[Node, ...], tuple[Node, ...]]], values: Mapping[Node, NDArray[Any]]
) -> Mismatch | None:
    """The first value that is not the reference's: integers to the bit, floats within rounding."""
    for step, (sources, targets) in steps.items():
        made, _ = step.kernels.run([values[node] for node in sources])
        for node, got in zip(targets, made, strict=True):
            if (found := find_difference("gpu", node.name, values[node], got, GPU_ROUNDING)) is not None:
                return found
    return None
