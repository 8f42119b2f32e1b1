"""A layer on the level of tiles: what its operator computes, and whether its schedule is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from vta.compiler.state import State
from vta.difference.tile_reference import evaluate_operator
from vta.difference.values import Array, is_value_of
from vta.ir.graph import Node
from vta.partition.fused.fused_operator import FusedOperator
from vta.schedule.resources import broken_limits
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator
from vta.tile.packing import pack, unpack

__all__ = ["tile_problem", "tile_value"]


def tile_value(state: State, layer: str, like: Array, values: Mapping[Node, Array]) -> Array | None:
    """What the operator of a layer, whose value has the type of `like`, gives for `values`.

    None if it takes several operators, or one that does not multiply.
    """
    lowering = state.lowering
    assert lowering is not None, "the level of tiles is reached"
    for fused, operator, _ in _operators(state, layer, like):
        memories = {lowering.tensor(node).name: node for node in values if len(node.shape) in (2, 4) and node.dtype == "int8"}
        if not all(source.memory.name in memories for source in operator.sources):
            return None
        shape = (-1, state.hw.batch, state.hw.block)
        sources = {name: pack(values[node], state.hw).view(np.int8).reshape(shape) for name, node in memories.items()}
        data = evaluate_operator(operator, sources, state.hw)
        return unpack(data, fused.result.shape, fused.result.dtype, state.hw)
    return None


def tile_problem(state: State, layer: str, like: Array) -> str:
    """The limits that the schedule of a layer breaks; "" if it is one."""
    for _, operator, schedule in _operators(state, layer, like):
        if schedule is not None:
            return "; ".join(map(str, broken_limits(operator.laid_out(schedule), schedule, state.hw)))
    return ""


def _operators(state: State, layer: str, like: Array) -> Iterator[tuple[FusedOperator, GemmOperator, Schedule | None]]:
    """The operator that computes a layer, if one does by itself, and its schedule, if there is one yet."""
    for number, tile in enumerate(state.tiles):
        first = 0
        for fused, last in tile.ends:
            operator = tile.region.operators[last].scheduled
            if (
                is_value_of(fused.result, layer, like)
                and operator is not None
                and last == first
                and operator.output.container is None
            ):
                yield fused, operator, state.schedules[number][last] if state.schedules else None
            first = last + 1
