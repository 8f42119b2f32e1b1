"""Where the tensors of a region lie in its arena."""

from __future__ import annotations

from collections.abc import Sequence

from vta.codegen.arena import Lifetime, place
from vta.config.hardware import HardwareConfig
from vta.tile.operator import Tensor, TileOperator

__all__ = ["plan_memory"]


def plan_memory(
    operators: Sequence[TileOperator],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    hw: HardwareConfig,
    joined: frozenset[int] = frozenset(),
) -> tuple[dict[str, int], int]:
    """Arena element at which the memory of each tensor starts, and the size of the arena in elements.

    Inputs and outputs keep their memory throughout, so that a program can be run again on what is there. Tensors that are
    parts of one have its memory, for as long as any of them lives. Operators in `joined` run together with the one after
    them. Where some are weights, all start at whole blocks of these.
    """
    grain = hw.block if any(operator.computes_weights for operator in operators) else 1
    lifetimes: dict[str, Lifetime] = {}
    for tensor in (*inputs, *outputs):
        lifetimes[tensor.memory.name] = Lifetime(_size(tensor, grain), 0, len(operators))
    for index, operator in enumerate(operators):
        for tensor in operator.tensors:
            known = lifetimes.get(tensor.memory.name)
            size = _size(tensor, grain)
            begin, end = index - (index - 1 in joined), index + (index in joined)
            first, last = (begin, end) if known is None else (min(known.first, begin), max(known.last, end))
            lifetimes[tensor.memory.name] = Lifetime(size if known is None else known.size, first, last)
    offsets, arena = place(list(lifetimes.values()))
    return dict(zip(lifetimes, offsets, strict=True)), arena


def _size(tensor: Tensor, grain: int) -> int:
    """Elements of the memory that holds a tensor, and whole multiples of `grain`."""
    return -(-tensor.memory.elements * tensor.planes // grain) * grain
