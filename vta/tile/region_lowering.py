"""From the regions of a partitioned graph to operators on tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.ir.state import state_nodes
from vta.partition.fused.copies import is_copy
from vta.partition.fused.fused_operator import FusedOperator, view_source
from vta.partition.partition import Region
from vta.support.dataclass import dataclass
from vta.tile.copies import copy_operators
from vta.tile.lowering import operator_of, packed_tensor
from vta.tile.matmul import matmul_operators
from vta.tile.operator import RegionOperators, Tensor, TileOperator
from vta.tile.padded_results import with_padded_results
from vta.tile.placement import placed_tensors, stored_in_place
from vta.tile.sliced_reads import without_slices

__all__ = ["RegionLowering", "TileRegion", "operator_names"]


@dataclass(frozen=True, eq=False)
class TileRegion:
    """A region on the level of tiles, and what it was made of."""

    region: RegionOperators
    source: Region
    ends: tuple[tuple[FusedOperator, int], ...]
    """Fused operators that take operators on tiles, and the index of the last of each."""
    results: tuple[Tensor, ...]
    """Where the results of these lie."""
    padded: tuple[FusedOperator, ...] = ()
    """What is stored inside the result of another one, by the operator of both."""

    @property
    def unmoved(self) -> tuple[FusedOperator, ...]:
        """What takes no operator: its values lie where they are wanted."""
        moved = {fused for fused, _ in self.ends} | set(self.padded)
        return tuple(fused for fused in self.source.operators if fused not in moved)


class RegionLowering:
    """Lowers what is found in one integer graph; names its tensors, and packs the weights of each operator once."""

    def __init__(self, graph: Graph, hw: HardwareConfig) -> None:
        self._hw = hw
        self._number = {node: index for index, node in enumerate(graph.nodes())}
        self._operators: dict[tuple[Node, ...], tuple[TileOperator, ...]] = {}
        self._states = state_nodes(graph)

    def tensor(self, node: Node) -> Tensor:
        """The tensor of a value, in memory of its own."""
        source = view_source(node)
        return packed_tensor(source, self._hw, f"{source.name}.{self._number[source]}")

    def operators(self, fused: FusedOperator) -> tuple[TileOperator, ...]:
        """The operators that compute a fused one, every tensor in memory of its own."""
        if fused.nodes not in self._operators:
            if is_copy(fused.anchor):
                made: tuple[TileOperator, ...] = tuple(copy_operators(fused.anchor, self.tensor, self._hw, fused.label))
            elif fused.anchor.op == ops.MATMUL2D:
                made = tuple(matmul_operators(fused, self.tensor, self._hw, fused.label))
            else:
                made = (operator_of(fused, self.tensor, self._hw, fused.label),)
            self._operators[fused.nodes] = made
        return self._operators[fused.nodes]

    def region(self, name: str, source: Region) -> TileRegion:
        """A region, its tensors where they lie in each other, and the next values of states in their place where that goes."""
        placed = placed_tensors(source.operators, source.outputs, self.tensor, self._hw.block)
        region = self._placed_region(name, source, placed)
        pairs = [(self.tensor(held), after) for held, after in self._states if held in source.inputs and after in source.outputs]
        kept = {after: tensor for tensor, after in pairs if after not in placed}
        names = stored_in_place({self.tensor(after).name: tensor for after, tensor in kept.items()}, region.region.operators)
        if not names:
            return region
        in_place = {after: tensor for after, tensor in kept.items() if self.tensor(after).name in names}
        moved = {after: tensor.part(self.tensor(after).name, 0, tensor.blocks) for after, tensor in in_place.items()}
        return self._placed_region(name, source, placed | moved)

    def _placed_region(self, name: str, source: Region, placed: Mapping[Node, Tensor]) -> TileRegion:
        by_name = {self.tensor(node).name: tensor for node, tensor in placed.items()}

        def tensor_of(node: Node) -> Tensor:
            return placed.get(view_source(node)) or self.tensor(node)

        operators: list[TileOperator] = []
        ends: list[tuple[FusedOperator, int]] = []
        for fused, label in zip(source.operators, operator_names(source), strict=True):
            before = len(operators)
            if is_copy(fused.anchor):
                operators += copy_operators(fused.anchor, tensor_of, self._hw, label)
            elif fused.anchor.op == ops.MATMUL2D:
                operators += matmul_operators(fused, tensor_of, self._hw, label)
            else:
                operators += [replace(operator.relocated(by_name), name=label) for operator in self.operators(fused)]
            if len(operators) > before:
                ends.append((fused, len(operators) - 1))
        inputs, outputs = tuple(map(tensor_of, source.inputs)), tuple(map(tensor_of, source.outputs))
        names = {tensor.name for tensor in outputs}
        left, stored_by = without_slices(operators, names), dict[int, int]()
        if self._hw.capabilities.requantize:
            # Other configs keep the operators that their tuning records are for.
            padded = with_padded_results(left, names)
            left, stored_by = padded.operators, padded.stored_by
        stored_inside = tuple(fused for fused, at in ends if at in stored_by.values())
        ends = [(fused, stored_by.get(at, at)) for fused, at in ends if at not in stored_by.values()]
        places = {at: place for place, at in enumerate(at for at, operator in enumerate(left) if operator is not None)}
        kept = tuple((fused, places[at]) for fused, at in sorted(ends, key=lambda end: end[1]) if at in places)
        results = tuple(tensor_of(fused.result) for fused, _ in kept)
        made = tuple(operator for operator in left if operator is not None)
        return TileRegion(RegionOperators(name, made, inputs, outputs), source, kept, results, stored_inside)

    def regions(self, sources: Sequence[Region]) -> tuple[TileRegion, ...]:
        """The regions of a partition, called ``region0``, ``region1`` and so on."""
        return tuple(self.region(f"region{index}", source) for index, source in enumerate(sources))


def operator_names(source: Region) -> list[str]:
    """What the operators on tiles of each fused operator of a region are called: its label, numbered where it repeats."""
    seen: dict[str, int] = {}
    names = []
    for label in (fused.label for fused in source.operators):
        seen[label] = seen.get(label, 0) + 1
        names.append(label if seen[label] == 1 else f"{label}#{seen[label]}")
    return names
