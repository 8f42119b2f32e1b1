"""The values of a compiled module on a device: every operator of its regions, as the device stores it, and the host part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vta.devices.device import Device, RunOptions
from vta.difference.values import Array, LayerValue, Where, output_values, value_of_node
from vta.ir.graph import Node
from vta.ir.interpreter import check_inputs, evaluate_node
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_part.plan import HostStep, RegionStep, make_plan
from vta.runtime.loaded_region import LoadedRegion

__all__ = ["RegionInputs", "device_values"]

_OPTIONS = RunOptions(checks=False)

RegionInputs = dict[int, tuple[Array, ...]]
"""By the number of a region: what it was given."""


def device_values(
    module: CompiledModule, device: Device, inputs: Mapping[str, Array], given: RegionInputs | None = None
) -> Iterator[LayerValue]:
    """Run a module operator by operator; regions get what the device computed before them. `given` is told what they got."""
    graph = module.graph
    plan = make_plan(graph, module.regions)
    numbers = {node: number for number, node in enumerate(graph.nodes())}
    values: list[Any] = list(plan.initial)
    arrays = check_inputs(graph, inputs)
    for node, slot in zip(graph.inputs, plan.inputs, strict=True):
        values[slot] = arrays[node]
    for step in plan.steps:
        if isinstance(step, RegionStep):
            sources = tuple(values[slot] for slot in step.sources)
            if given is not None:
                given[step.index] = sources
            yield from _region(step, sources, values, device, numbers)
        elif isinstance(step, HostStep):
            values[step.target] = evaluate_node(step.node, [values[slot] for slot in step.sources])
            yield value_of_node(step.node, values[step.target], numbers[step.node])
    yield from output_values(graph, [values[slot] for slot in plan.outputs])


def _region(
    step: RegionStep, sources: tuple[Array, ...], values: list[Any], device: Device, numbers: Mapping[Node, int]
) -> Iterator[LayerValue]:
    """Run one region; what it gives goes to its slots."""
    loaded = LoadedRegion(step.region, device)
    try:
        loaded.write_constants()
        for binding, array in zip(step.region.inputs, sources, strict=True):
            loaded.write(binding, array)
        for record, array in loaded.run_stepwise(_OPTIONS):
            node = record.output.node
            yield value_of_node(node, array, numbers.get(node, -1), Where(step.region, record))
        for binding, slot in zip(step.region.outputs, step.targets, strict=True):
            values[slot] = loaded.read(binding)
    finally:
        loaded.free()
