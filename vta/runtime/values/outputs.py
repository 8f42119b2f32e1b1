"""What a network gave: its outputs in order, each with a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from vta.ir.graph import Graph
from vta.support.table import Table, make_table

__all__ = ["Outputs", "output_names", "result_names"]

Array = NDArray[Any]


class Outputs(tuple[Array, ...]):
    """Arrays in the order of the network's outputs, by position or by name: ``outputs[0]``, ``outputs["logits"]``."""

    names: tuple[str, ...]

    def __new__(cls, arrays: Iterable[Array], names: Iterable[str]) -> Outputs:
        """As many names as arrays."""
        made = super().__new__(cls, arrays)
        made.names = names if type(names) is tuple else tuple(names)
        return made

    @overload
    def __getitem__(self, key: str | SupportsIndex, /) -> Array: ...

    @overload
    def __getitem__(self, key: slice, /) -> tuple[Array, ...]: ...

    def __getitem__(self, key: str | SupportsIndex | slice, /) -> Array | tuple[Array, ...]:
        """An output by its name or position. Raises `KeyError` naming those there are, or `IndexError`."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.names:
            raise KeyError(f"no output {key!r}; there are {', '.join(self.names)}")
        return super().__getitem__(self.names.index(key))

    def __contains__(self, key: object, /) -> bool:
        """Whether there is an output of a name, or an array is one of the outputs."""
        return key in self.names if isinstance(key, str) else any(array is key for array in self)

    def __eq__(self, other: object, /) -> bool:
        """Whether these are arrays of the same values, under the same names where `other` has names."""
        if not isinstance(other, tuple) or len(self) != len(other) or self.names != getattr(other, "names", self.names):
            return False
        return all(np.array_equal(mine, theirs) for mine, theirs in zip(self, other, strict=True))

    def __ne__(self, other: object, /) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def items(self) -> Iterator[tuple[str, Array]]:
        """Names and arrays, in order."""
        return zip(self.names, self, strict=True)

    def _ipython_key_completions_(self) -> list[str]:
        """What a notebook completes in brackets."""
        return list(self.names)

    def table(self) -> Table:
        """Name, type and shape of each."""
        return make_table(("output", "type", "shape"), ((name, array.dtype, array.shape) for name, array in self.items()))

    def __repr__(self) -> str:
        return ", ".join(f"{name}: {array.dtype}{list(array.shape)}" for name, array in self.items())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __reduce__(self) -> tuple[type[Outputs], tuple[tuple[Array, ...], tuple[str, ...]]]:
        return type(self), (tuple(self), self.names)


def output_names(graph: Graph) -> tuple[str, ...]:
    """A distinct name for each output of a graph: the model's, or else its layer; numbered where they repeat."""
    names: dict[str, None] = {}
    for name in graph.output_names or [node.name for node in graph.outputs]:
        tries = (f"{name}:{number}" if number else name for number in count())
        names[next(found for found in tries if found not in names)] = None
    return tuple(names)


def result_names(graph: Graph) -> tuple[str, ...]:
    """The names of the outputs that are not the next value of a state."""
    names = output_names(graph)
    return tuple(names[at] for at in graph.result_positions)
