"""The designs of a sweep by number, without making all of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, overload

from vta.errors import SweepError
from vta.sweep.points import Design, Illegal, Point, design_of
from vta.sweep.search.optimizer import Choice
from vta.sweep.spec import WAY_KEY, Net, Spec

__all__ = ["DesignSpace", "SpacePoints"]


class DesignSpace:
    """Every combination of a sweep's values, legal or not, numbered as `expand` lists them: the last key fastest."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self.axes: dict[str, tuple[Any, ...]] = {**spec.config, **spec.timing}
        if spec.requantize:
            self.axes[WAY_KEY] = spec.requantize

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return prod(map(len, self.axes.values()))

    def number(self, choice: Choice) -> int:
        """The number of a choice of a value for each key."""
        found = 0
        for index, values in zip(choice, self.axes.values(), strict=True):
            found = found * len(values) + index
        return found

    def choice(self, number: int) -> Choice:
        """The choice that has a number."""
        found = []
        for values in reversed(self.axes.values()):
            number, index = divmod(number, len(values))
            found.append(index)
        return tuple(reversed(found))

    def design(self, number: int) -> Design | Illegal:
        """The design of a number, or why it is none."""
        values = {key: values[index] for index, (key, values) in zip(self.choice(number), self.axes.items(), strict=True)}
        config = {key: values[key] for key in self._spec.config}
        timing = {key: values[key] for key in self._spec.timing}
        return design_of(self._spec, config, timing, values.get(WAY_KEY))


class SpacePoints(Sequence[Point]):
    """Every design of a space with everything to run, numbered from 0; each is made when it is asked for.

    Raises `SweepError` for one that is illegal.
    """

    def __init__(self, space: DesignSpace, works: Sequence[Net | str]) -> None:
        self._space = space
        self._works = works

    def __len__(self) -> int:
        return self._space.size * len(self._works)

    @overload
    def __getitem__(self, index: int) -> Point: ...

    @overload
    def __getitem__(self, index: slice) -> list[Point]: ...

    def __getitem__(self, index: int | slice) -> Point | list[Point]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        number, work = divmod(index, len(self._works))
        design = self._space.design(number)
        if isinstance(design, Illegal):
            raise SweepError(f"point {index}: {design.reason}")
        return Point(index, design, design.works(self._works)[work])

    def of_design(self, number: int, design: Design) -> list[Point]:
        """The points of a design that was made before."""
        first = number * len(self._works)
        return [Point(first + index, design, work) for index, work in enumerate(design.works(self._works))]
