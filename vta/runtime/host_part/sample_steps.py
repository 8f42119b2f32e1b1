"""Runs the steps of a plan that are the host's, for many samples at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.ir.interpreter import check_inputs, evaluate_node, quantizes
from vta.ir.operator import TensorType
from vta.runtime.host_part.host_steps import present
from vta.runtime.host_part.plan import HostStep, KernelRun, KernelStep, Plan

__all__ = ["SampleRun", "checked_samples", "constant_slots", "have_sample_runs", "results_of_samples", "run_samples_on_host"]

Array = NDArray[Any]
_BY_ROWS = frozenset({ops.QNN_QUANTIZE, ops.QNN_DEQUANTIZE, ops.WINDOWS})
"""Operators of one input that compute what lies at each place of the first axis by itself, to the bit."""
_ELEMENTS_AT_ONCE = 1 << 18
"""Of the values of several samples together: what is computed on the way to them stays in the next cache."""


@runtime_checkable
class SampleRun(Protocol):
    """Compiled code that goes on from sample to sample by itself."""

    def run_samples(self, inputs: Sequence[Array], samples: int) -> list[Array]:
        """What `KernelRun.run` gives for each sample; these lie along an axis before those of one, or an input has one value."""


def checked_samples(graph: Graph, inputs: Mapping[str, Array], samples: int, plan: Plan) -> list[Array | None]:
    """The values of a plan's slots before its first step, those of inputs for so many samples.

    Raises `GraphError` as `check_inputs` does for the first sample that is wrong.
    """
    nodes = {node.name: node for node in graph.inputs}
    fit = inputs.keys() == nodes.keys() and all(
        array.shape == (samples, *nodes[name].shape) and array.dtype == np.dtype(nodes[name].dtype)
        for name, array in inputs.items()
    )
    numbers = fit and not any(array.dtype.kind == "f" and np.isnan(array.min(initial=0)) for array in inputs.values())
    if not fit or (not numbers and quantizes(graph)):
        for at in range(samples):
            check_inputs(graph, {name: np.asarray(array[at]) for name, array in inputs.items()})
    values = list(plan.initial)
    for node, slot in zip(graph.inputs, plan.inputs, strict=True):
        values[slot] = np.ascontiguousarray(inputs[node.name])
    return values


def results_of_samples(plan: Plan, values: Sequence[Array | None], samples: int, constants: Collection[int]) -> list[Array]:
    """The outputs of a plan whose steps have run for so many samples, all of them along a first axis."""
    found = [(present(values[slot]), slot in constants) for slot in plan.outputs]
    return [np.broadcast_to(value, (samples, *value.shape)) if same else value for value, same in found]


def have_sample_runs(plan: Plan) -> bool:
    """Whether all compiled code of a plan goes on from sample to sample by itself; then threads may share it."""
    return all(isinstance(step.kernels, SampleRun) for step in plan.steps if isinstance(step, KernelStep))


def constant_slots(plan: Plan) -> frozenset[int]:
    """Slots whose values are the same for all samples."""
    return frozenset(slot for slot, value in enumerate(plan.initial) if value is not None)


def run_samples_on_host(
    step: HostStep | KernelStep, values: list[Array | None], samples: int, constants: Collection[int]
) -> None:
    """Fill the slots that a step gives. Samples lie along a first axis of each value, but of those in the slots `constants`."""
    sources = [present(values[slot]) for slot in step.sources]
    alike = [slot in constants for slot in step.sources]
    if isinstance(step, KernelStep):
        made = _run_kernels(step.kernels, sources, alike, samples)
        for slot, value in zip(step.targets, made, strict=True):
            values[slot] = value
    else:
        values[step.target] = _evaluated(step.node, sources, alike, samples)


def _evaluated(node: Node, sources: list[Array], alike: list[bool], samples: int) -> Array:
    """The values of a call by its reference. Where samples may lie along its first axis several are computed together."""
    if alike != [False] or not _computes_rows(node):
        return np.stack([evaluate_node(node, _of(sources, alike, at)) for at in range(samples)])
    (source,) = sources
    made = np.empty((samples, *node.shape), node.dtype)
    most = max(1, _ELEMENTS_AT_ONCE // max(1, prod(node.shape)))
    for first in range(0, samples, most):
        part = source[first : first + most]
        wide = replace(node, type=TensorType((len(part) * node.shape[0], *node.shape[1:]), node.dtype))
        value = evaluate_node(wide, [part.reshape(-1, *part.shape[2:])])
        made[first : first + most] = value.reshape(len(part), *node.shape)
    return made


def _computes_rows(node: Node) -> bool:
    if node.op not in _BY_ROWS:
        return False
    shape, axis = node.inputs[0].shape, getattr(node.attrs, "axis", None)
    return bool(shape) and shape[0] == node.shape[0] > 0 and axis not in (0, -len(shape))


def _run_kernels(kernels: KernelRun, sources: list[Array], alike: list[bool], samples: int) -> list[Array]:
    if isinstance(kernels, SampleRun):
        return kernels.run_samples(sources, samples)
    # An engine may use the memory of its outputs again.
    found = [[value.copy() for value in kernels.run(_of(sources, alike, at))[0]] for at in range(samples)]
    return [np.stack(values) for values in zip(*found, strict=True)]


def _of(sources: list[Array], alike: list[bool], sample: int) -> list[Array]:
    """The values of one sample."""
    return [value if same else value[sample] for value, same in zip(sources, alike, strict=True)]
