"""Runs the steps of a plan that are the host's."""

from __future__ import annotations

import time
from typing import Any

from numpy.typing import NDArray

from vta.ir.interpreter import evaluate_node
from vta.runtime.host_part.plan import HostStep, KernelStep
from vta.runtime.reports import StepTime

__all__ = ["present", "run_on_host"]

Array = NDArray[Any]


def run_on_host(step: HostStep | KernelStep, values: list[Array | None]) -> list[StepTime]:
    """Fill the slots that a step gives; returns how long each of its operators, or kernels, took."""
    sources = list(map(present, map(values.__getitem__, step.sources)))
    if not isinstance(step, KernelStep):
        begun = time.perf_counter()
        values[step.target] = evaluate_node(step.node, sources)
        return [StepTime(step.node, time.perf_counter() - begun)]
    made, seconds = step.kernels.run(sources)
    for slot, value in zip(step.targets, made, strict=True):
        values[slot] = value
    return list(map(StepTime, step.nodes, seconds))


def present(value: Array | None) -> Array:
    """The value of a slot that a step has filled."""
    assert value is not None, "a step reads a slot that no step before it fills"
    return value
