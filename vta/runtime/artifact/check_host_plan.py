"""Whether a plan that comes from a file fits together, before anything is made of it."""

from __future__ import annotations

from math import prod

import numpy as np

from vta.errors import ArtifactError
from vta.runtime.artifact.host_plan import CHECKED_VERSION, PLAN_VERSION, HostPlan, PlannedKernels
from vta.support.shorten import shown

__all__ = ["check_plan"]

_DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
_KINDS = ("input", "output", "constant", "arena")
_MOST_BYTES = 1 << 31
_MOST_BUFFERS = 256
_NUMBER_BYTES = 8
"""Of what is looked at."""


def check_plan(plan: HostPlan, constant_bytes: int, nodes: int, regions: int) -> None:
    """Raise `ArtifactError` naming the place of what does not fit."""
    if not PLAN_VERSION <= plan.version <= CHECKED_VERSION:
        read = f"{PLAN_VERSION} to {CHECKED_VERSION}"
        raise ArtifactError(f"host plan: version {plan.version}; this program reads versions {read}")
    _within("host plan.arena_bytes", plan.arena_bytes, 0, _MOST_BYTES)
    sizes = _value_sizes(plan, constant_bytes)
    for at, named in enumerate((*plan.inputs, *plan.outputs)):
        _within(f"host plan: input or output {at}: value", named.value, 0, len(sizes) - 1)
    for at, kernels in enumerate(plan.kernels):
        _check_kernels(f"host plan.kernels[{at}]", kernels, sizes, constant_bytes, nodes)
    for at, region in enumerate(plan.regions):
        _within(f"host plan.regions[{at}].index", region.index, 0, regions - 1)
        for binding in (*region.inputs, *region.outputs):
            _within(f"host plan.regions[{at}]: value", binding.value, 0, len(sizes) - 1)
    for at, operator in enumerate(plan.operators):
        _within(f"host plan.operators[{at}].node", operator.node, 0, nodes - 1)
        for value in (*operator.sources, operator.target):
            _within(f"host plan.operators[{at}]: value", value, 0, len(sizes) - 1)
    counts = {"kernels": len(plan.kernels), "region": len(plan.regions), "operator": len(plan.operators)}
    for at, step in enumerate(plan.steps):
        _among(f"host plan.steps[{at}].kind", step.kind, tuple(counts))
        _within(f"host plan.steps[{at}].index", step.index, 0, counts[step.kind] - 1)


def _value_sizes(plan: HostPlan, constant_bytes: int) -> list[int]:
    """Bytes of each value, which lies inside of its place."""
    places = {"arena": plan.arena_bytes, "constants": constant_bytes}
    sizes = []
    for at, value in enumerate(plan.values):
        where = f"host plan.values[{at}]"
        _among(f"{where}.place", value.place, tuple(places))
        _among(f"{where}.dtype", value.dtype, _DTYPES)
        for extent in value.shape:
            _within(f"{where}.shape", extent, 0, _MOST_BYTES)
        sizes.append(prod(value.shape) * np.dtype(value.dtype).itemsize)
        _within(f"{where}.offset", value.offset, 0, places[value.place] - sizes[-1])
    return sizes


def _check_kernels(where: str, kernels: PlannedKernels, sizes: list[int], constant_bytes: int, nodes: int) -> None:
    for node in kernels.nodes:
        _within(f"{where}.nodes", node, 0, nodes - 1)
    _within(f"{where}.arena_bytes", kernels.arena_bytes, 0, _MOST_BYTES)
    limits = {
        "input": len(kernels.inputs) - 1,
        "output": len(kernels.outputs) - 1,
        "constant": constant_bytes,
        "arena": kernels.arena_bytes,
    }
    for at, place in enumerate(kernels.table):
        _among(f"{where}.table[{at}].kind", place.kind, _KINDS)
        _within(f"{where}.table[{at}].nbytes", place.nbytes, 0, constant_bytes)
        _within(f"{where}.table[{at}].at", place.at, 0, limits[place.kind] - place.nbytes)
    last = len(kernels.table) - 1
    for tensor in (*kernels.inputs, *kernels.outputs):
        _within(f"{where}: value", tensor.value, 0, len(sizes) - 1)
        _within(f"{where}: place", tensor.place, 0, last)
    for at, call in enumerate(kernels.calls):
        _within(f"{where}.calls[{at}].extent", call.extent, 1, _MOST_BYTES)
        _within(f"{where}.calls[{at}].kernel", call.kernel, 0, _MOST_BYTES)
        _within(f"{where}.calls[{at}]: buffers", len(call.buffers), 1, _MOST_BUFFERS)
        for place_index in call.buffers:
            _within(f"{where}.calls[{at}]: buffer", place_index, 0, last)
    for at, check in enumerate(kernels.checks):
        for place_index in (check.low, check.high):
            name = f"{where}.checks[{at}]: place"
            _within(name, place_index, 0, last)
            _among(name, kernels.table[place_index].kind, ("arena",))
            start = kernels.table[place_index].at
            _within(name, start, 0, kernels.arena_bytes - _NUMBER_BYTES)
            if start % _NUMBER_BYTES:
                raise ArtifactError(f"{name} is {start}, which is no multiple of {_NUMBER_BYTES}")


def _within(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ArtifactError(f"{what} is {value}; allowed: {low} to {high}")


def _among(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ArtifactError(f"{what} = {shown(value)}; allowed: {', '.join(allowed)}")
