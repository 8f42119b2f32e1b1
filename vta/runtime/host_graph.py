"""A whole graph by the host's compiled kernels, without a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from vta.ir.graph import Graph
from vta.ir.interpreter import check_inputs
from vta.runtime.host_kernels import with_kernels
from vta.runtime.host_options import HostOptions
from vta.runtime.host_steps import present, run_on_host
from vta.runtime.plan import RegionStep, make_plan

__all__ = ["HostGraph"]

Array = NDArray[Any]


class HostGraph:
    """A graph compiled for this processor. Integers are those of the references, floats within rounding."""

    def __init__(self, graph: Graph, options: HostOptions | None = None) -> None:
        self.graph = graph
        self._plan = with_kernels(make_plan(graph), graph, options or HostOptions(compiled=True))

    def run(self, inputs: Mapping[str, Any], numbers: bool = True) -> list[Array]:
        """Return the graph's outputs; takes inputs, and raises, as `vta.ir.interpreter.evaluate`."""
        given = check_inputs(self.graph, inputs, numbers)
        values = list(self._plan.initial)
        for node, slot in zip(self.graph.inputs, self._plan.inputs, strict=True):
            values[slot] = given[node]
        for step in self._plan.steps:
            assert not isinstance(step, RegionStep)
            run_on_host(step, values)
            for slot in step.dead:
                values[slot] = None
        return [present(values[slot]) for slot in self._plan.outputs]
