"""Work dealt out so that what belongs together stays together."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

__all__ = ["Deal"]


class Deal:
    """Indices of pieces of work, in groups of those with equal keys: whoever has begun a group goes on with it.

    A group is divided only where no other is left that nobody has begun, the largest first. So what pieces of a group share is
    made as seldom as it can be, and nobody waits.
    """

    def __init__(self, keys: Sequence[Hashable]) -> None:
        groups: dict[Hashable, deque[int]] = {}
        for index, key in enumerate(keys):
            groups.setdefault(key, deque()).append(index)
        self._fresh = deque(groups.values())
        self._begun: dict[Hashable, deque[int]] = {}
        """By who takes from it."""
        self._left = len(keys)

    def __len__(self) -> int:
        """Pieces that nobody has taken."""
        return self._left

    def take(self, who: Hashable, most: int = 1) -> list[int]:
        """Up to `most` pieces of one group for `who`; none if there are none."""
        group = self._group(who)
        taken = [group.popleft() for _ in range(min(most, len(group)))]
        self._left -= len(taken)
        return taken

    def next_of(self, who: Hashable) -> int | None:
        """The piece that `who` is to take next."""
        group = self._group(who)
        return group[0] if group else None

    def give_back(self, indices: Sequence[int]) -> None:
        """Pieces that were taken and not done: each is a group of its own from now on."""
        self._fresh.extend(deque([index]) for index in indices)
        self._left += len(indices)

    def _group(self, who: Hashable) -> deque[int]:
        group = self._begun.get(who)
        if not group:
            group = self._fresh.popleft() if self._fresh else max(self._begun.values(), key=len, default=deque[int]())
            self._begun[who] = group
        return group
