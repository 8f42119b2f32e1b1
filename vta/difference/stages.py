"""Which pass of the compiler first gives a layer another value: the network is compiled again, and looked at after each pass."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vta.compiler.options import CompileOptions
from vta.compiler.pipeline import Pass, passes_between, run_passes
from vta.compiler.state import State
from vta.config.hardware import HardwareConfig
from vta.difference.cause import Cause, pass_cause
from vta.difference.known_values import KnownValues
from vta.difference.programs import program_value, region_of
from vta.difference.tile_value import tile_problem, tile_value
from vta.difference.values import Array, is_value_of, layer_node
from vta.errors import VTAError
from vta.ir.graph import Graph, Node
from vta.ir.transforms.functions import inline_functions
from vta.support.dataclass import dataclass

__all__ = ["Compilation", "compiled_again"]

_PARTITION, _TILES, _SCHEDULES = "partition", "lower_to_tiles", "schedule"
_PROGRAMS = ("codegen", "check_programs", "place")


@dataclass(frozen=True, eq=False)
class Compilation:
    """A compilation, pass by pass."""

    stages: dict[str, State]

    def cause(self, layer: str, right: Array, known: KnownValues) -> Cause | None:
        """The first pass after which `layer` is not `right`; None if it always is, as far as it can be seen."""
        return self._of_graphs(layer, right, known) or self._of_programs(layer, right, known)

    def _of_graphs(self, layer: str, right: Array, known: KnownValues) -> Cause | None:
        before: Graph | None = None
        for name, state in self.stages.items():
            graph = _graph_of(name, state)
            if graph is None or graph is before:
                continue
            before = graph
            node = layer_node(graph, layer, right)
            if node is not None and _differs(known.of(graph, [node])[node], right):
                return pass_cause(name)
        return None

    def _of_programs(self, layer: str, right: Array, known: KnownValues) -> Cause | None:
        tiles = self.stages.get(_TILES)
        if tiles is None:
            return None
        values = _region_values(tiles, layer, right, known)
        for name in (_TILES, _SCHEDULES):
            if name in self.stages and _differs(tile_value(self.stages[name], layer, right, values), right):
                return pass_cause(name)
        if _SCHEDULES in self.stages and (problem := tile_problem(self.stages[_SCHEDULES], layer, right)):
            return pass_cause(_SCHEDULES, problem)
        for name in _PROGRAMS:
            if name in self.stages and _differs(_program_value(self.stages[name], name, layer, right, values), right):
                return pass_cause(name)
        return None

    @property
    def last(self) -> State:
        """What the last pass gave."""
        return list(self.stages.values())[-1]


def compiled_again(model: Graph | str | Path, hw: HardwareConfig, options: CompileOptions, first: str = "import") -> Compilation:
    """Compile a model, or a graph from the pass `first` on, and keep what every pass gave. A pass that fails ends it."""
    stages: dict[str, State] = {}

    def watch(step: Pass, state: State) -> None:
        stages[step.name] = state

    start = State(hw=hw, model=model) if not isinstance(model, Graph) else State(hw=hw, imported=model)
    try:
        run_passes(start, options, passes_between(first, "place"), watch=watch)
    except VTAError:
        if not stages:
            raise
    return Compilation(stages)


def _graph_of(name: str, state: State) -> Graph | None:
    """The graph that a pass gave; None for those that give none."""
    if name == _PARTITION:
        return None if state.partition is None else inline_functions(state.partition.graph, lambda attributes: True)
    return None if name in (_TILES, _SCHEDULES, *_PROGRAMS) else state.graph


def _differs(found: Array | None, right: Array) -> bool:
    """Whether a value is the same tensor, and not the same bits."""
    if found is None or (found.shape, found.dtype) != (right.shape, right.dtype):
        return False
    return not np.array_equal(found, right, equal_nan=found.dtype.kind == "f")


def _region_values(tiles: State, layer: str, like: Array, known: KnownValues) -> dict[Node, Array]:
    """What the region of a layer is given, and what the layer reads, as the graph has it."""
    wanted: dict[Node, None] = {}
    for tile in tiles.tiles:
        for fused in tile.source.operators:
            if is_value_of(fused.result, layer, like):
                wanted.update(dict.fromkeys((*tile.source.inputs, *fused.sources)))
    return known.of(tiles.graph, list(wanted))


def _program_value(state: State, name: str, layer: str, like: Array, values: Mapping[Node, Array]) -> Array | None:
    programs = state.module.regions if name == "place" and state.module is not None else state.programs
    region = region_of(programs, layer, like)
    return None if region is None else program_value(region, layer, like, values)
