"""Where the tensors of a region lie in each other: the parts of a concatenation inside it, aligned slices inside their source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from vta.ir import names as ops
from vta.ir.graph import Node
from vta.partition.fused.fused_operator import FusedOperator, view_source
from vta.tile.copies import joined_groups, joins_places, sliced_blocks
from vta.tile.operator import Tensor, TileOperator

__all__ = ["placed_tensors", "stored_in_place"]


def placed_tensors(
    fused_operators: Iterable[FusedOperator], outputs: Iterable[Node], tensor_of: Callable[[Node], Tensor], block: int
) -> dict[Node, Tensor]:
    """Return tensors of values of a region that are parts of others; all others are those that `tensor_of` gives.

    A value is put into the first concatenation that can have it, counted from the end of the region, if it alone fills blocks
    of `block` channels there. So an operator stores its result where the concatenation wants it. What does not lie so is copied.
    Values from outside the region stay where they are: the host writes them, and nothing may write there.
    """
    fused_operators, kept = list(fused_operators), set(outputs)
    inside = {fused.result for fused in fused_operators}
    placed: dict[Node, Tensor] = {}

    def current(node: Node) -> Tensor:
        return placed.get(view_source(node)) or tensor_of(node)

    for fused in reversed(fused_operators):
        if fused.anchor.op == ops.CONCATENATE and not joins_places(fused.anchor) and current(fused.result).batch == 1:
            for part, first in _movable(fused.result, block):
                if part in inside and part not in placed:
                    tensor = tensor_of(part)
                    placed[part] = current(fused.result).part(tensor.name, first, tensor.blocks)
    for fused in fused_operators:
        if fused.anchor.op == ops.STRIDED_SLICE and fused.result not in placed:
            first_block = sliced_blocks(fused.result, block)
            source, tensor = view_source(fused.result.inputs[0]), tensor_of(fused.result)
            # Outputs must lie in one piece, where the region itself has stored them.
            readable = fused.result not in kept or (tensor.batch == 1 and source in inside)
            if first_block is not None and readable:
                placed[fused.result] = current(source).part(tensor.name, first_block, tensor.blocks)
    return placed


def _movable(node: Node, block: int) -> list[tuple[Node, int]]:
    """Inputs of a concatenation that fill blocks of their own, with the first of those."""
    groups = joined_groups(node, block)
    return [(view_source(group.parts[0][0]), group.first_block) for group in groups if len(group.parts) == 1]


def stored_in_place(states: Mapping[str, Tensor], operators: Sequence[TileOperator]) -> set[str]:
    """The tensors, by name, whose memory the state that they are the next value of can give them; `states` has it for each.

    One that is stored by one operator as it is, after everything that reads the state: then nothing is copied between runs.
    """
    found = set()
    for name, state in states.items():
        readers = [at for at, operator in enumerate(operators) if any(_in(source, state.name) for source in operator.sources)]
        writers = [at for at, operator in enumerate(operators) if _in(operator.stored, name)]
        alone = len(writers) == 1 and operators[writers[0]].stored.name == name
        if alone and max(readers, default=-1) < writers[0]:
            found.add(name)
    return found


def _in(tensor: Tensor, memory: str) -> bool:
    return tensor.memory.name == memory
