"""Places the tensors of a region in one arena, sharing memory between those that are never alive together."""

from __future__ import annotations

from collections.abc import Sequence

from vta.support.dataclass import dataclass

__all__ = ["Lifetime", "place"]


@dataclass(frozen=True)
class Lifetime:
    """When a tensor must keep its memory: from operator `first` to operator `last`, both included."""

    size: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        """Whether both are alive at the same time."""
        return self.first <= other.last and other.first <= self.last


def place(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Return an offset for each tensor, and the size of the arena.

    The largest tensors are placed first, each in the lowest gap between those it meets.
    """
    offsets = [0] * len(lifetimes)
    placed: list[int] = []
    for index in sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size, i)):
        tensor = lifetimes[index]
        offset = 0
        for other in sorted((i for i in placed if lifetimes[i].meets(tensor)), key=lambda i: offsets[i]):
            if offset + tensor.size <= offsets[other]:
                break
            offset = max(offset, offsets[other] + lifetimes[other].size)
        offsets[index] = offset
        placed.append(index)
    return offsets, max((offsets[i] + lifetimes[i].size for i in placed), default=0)
