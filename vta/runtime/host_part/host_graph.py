"""A whole graph by the host's compiled kernels, without a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from vta.ir.graph import Graph
from vta.ir.interpreter import check_inputs
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_part.host_options import HostOptions, has_compiler
from vta.runtime.host_part.host_steps import present, run_on_host
from vta.runtime.host_part.kernel_engines import with_kernels
from vta.runtime.host_part.plan import Plan, RegionStep, make_plan, nodes_inside, without_regions
from vta.runtime.host_part.sample_steps import checked_samples, constant_slots, results_of_samples, run_samples_on_host

__all__ = ["HostGraph", "host_graph", "reference_of"]

Array = NDArray[Any]
_OPTIONS = HostOptions(compiled=True)


class HostGraph:
    """A graph by a plan whose steps are all the host's."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph = graph
        self.plan = plan

    def run(self, inputs: Mapping[str, Any], numbers: bool = True) -> list[Array]:
        """Return the graph's outputs; takes inputs, and raises, as `vta.ir.interpreter.evaluate`."""
        given = check_inputs(self.graph, inputs, numbers)
        values = list(self.plan.initial)
        for node, slot in zip(self.graph.inputs, self.plan.inputs, strict=True):
            values[slot] = given[node]
        for step in self.plan.steps:
            assert not isinstance(step, RegionStep)
            run_on_host(step, values)
            for slot in step.dead:
                values[slot] = None
        return [present(values[slot]) for slot in self.plan.outputs]

    def run_samples(self, inputs: Mapping[str, Array], samples: int) -> list[Array]:
        """Return what `run` gives for each of so many samples, which lie along an axis before those of one; raises as it does.

        Threads may share a graph.
        """
        values, constants = checked_samples(self.graph, inputs, samples, self.plan), constant_slots(self.plan)
        for step in self.plan.steps:
            assert not isinstance(step, RegionStep)
            run_samples_on_host(step, values, samples, constants)
            for slot in step.dead:
                values[slot] = None
        return results_of_samples(self.plan, values, samples, constants)


def host_graph(graph: Graph, options: HostOptions = _OPTIONS) -> HostGraph:
    """A graph by compiled kernels. Integers are those of the references, floats within rounding."""
    return HostGraph(graph, with_kernels(make_plan(graph), graph, options))


def reference_of(compiled: CompiledModule, host: HostOptions) -> HostGraph:
    """What a module must give, to the bit, where its host part is computed as `host` says.

    Regions, which are integers, are computed by kernels. So is the host part if the module's is: the same ones then, as floats
    are rounded differently by others.
    """
    graph = compiled.graph
    plan = make_plan(graph, compiled.regions)
    borders = {item.node for region in compiled.regions for item in (*region.inputs, *region.outputs)}
    inside = {node for region in compiled.regions for node in nodes_inside(region)}
    whole = without_regions(plan, graph)
    if host.onnxruntime:
        from vta.runtime.host_part.onnx_sessions import with_sessions

        whole = with_sessions(whole, graph, host.threads, inside)
        return HostGraph(graph, with_kernels(whole, graph, _OPTIONS, borders, inside) if has_compiler() else whole)
    return HostGraph(graph, with_kernels(whole, graph, host, borders, None if host.compiled else inside))
