"""Where the tensors of a region lie in each other: the parts of a concatenation inside it, aligned slices inside their source."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vta.ir import names as ops
from vta.ir.graph import Node
from vta.partition.fused_operator import Chain, view_source
from vta.tile.copies import joined_groups, sliced_blocks
from vta.tile.operator import Tensor

__all__ = ["placed_tensors"]


def placed_tensors(
    chains: Iterable[Chain], outputs: Iterable[Node], tensor_of: Callable[[Node], Tensor], block: int
) -> dict[Node, Tensor]:
    """Return tensors of values of a region that are parts of others; all others are those that `tensor_of` gives.

    A value is put into the first concatenation that can have it, counted from the end of the region, if it alone fills blocks
    of `block` channels there. So a chain stores its result where the concatenation wants it. What does not lie so is copied.
    Values from outside the region stay where they are: the host writes them, and nothing may write there.
    """
    chains, kept = list(chains), set(outputs)
    inside = {chain.end for chain in chains}
    placed: dict[Node, Tensor] = {}

    def current(node: Node) -> Tensor:
        return placed.get(view_source(node)) or tensor_of(node)

    for chain in reversed(chains):
        if chain.root.op == ops.CONCATENATE and current(chain.end).batch == 1:
            for part, first in _movable(chain.end, block):
                if part in inside and part not in placed:
                    tensor = tensor_of(part)
                    placed[part] = current(chain.end).part(tensor.name, first, tensor.blocks)
    for chain in chains:
        if chain.root.op == ops.STRIDED_SLICE and chain.end not in placed:
            first_block = sliced_blocks(chain.end, block)
            source, tensor = view_source(chain.end.inputs[0]), tensor_of(chain.end)
            # Outputs must lie in one piece, where the region itself has stored them.
            readable = chain.end not in kept or (tensor.batch == 1 and source in inside)
            if first_block is not None and readable:
                placed[chain.end] = current(source).part(tensor.name, first_block, tensor.blocks)
    return placed


def _movable(node: Node, block: int) -> list[tuple[Node, int]]:
    """Inputs of a concatenation that fill blocks of their own, with the first of those."""
    groups = joined_groups(node, block)
    return [(view_source(group.parts[0][0]), group.first_block) for group in groups if len(group.parts) == 1]
