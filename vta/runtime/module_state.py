"""What a loaded module keeps from one run to the next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray

from vta.errors import GraphError, UsageError
from vta.files.atomic_file import whole_file
from vta.files.npz_file import read_arrays
from vta.files.npz_writer import write_npz
from vta.ir.graph import Graph
from vta.ir.state import checked_values, initial_values

__all__ = ["ModuleState"]

Array = NDArray[Any]


class ModuleState(Mapping[str, Array]):
    """The states of a module by name: read like a mapping, set one by one or by `update`.

    Arrays that are read are copies. Runs and changes of other threads take turns with what is done here.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._values: dict[str, Array | Callable[[], Array]] = dict(initial_values(graph))
        self.turn = threading.RLock()
        """Held by whoever runs the module, or changes what it keeps."""

    def __getitem__(self, name: str) -> Array:
        """The value of a state. Raises `GraphError` naming the states there are, and what reading from a device may raise."""
        self._require(name)
        with self.turn:
            value = self._values[name]
            return value() if callable(value) else value.copy()

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        """Set a state. Raises `GraphError` if there is none of this name, or it has another shape or type."""
        self.update({name: value})

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __repr__(self) -> str:
        return f"ModuleState: {', '.join(f'{state.name}: {state.type}' for state in self._graph.states) or 'none'}"

    def update(self, values: Mapping[str, ArrayLike]) -> None:
        """Set states by name, all or, if `GraphError` is raised for one of them, none."""
        found = checked_values(self._graph, values)
        with self.turn:
            self._values.update(found)

    def reset(self) -> None:
        """Set all states to what they are before the first run."""
        with self.turn:
            self._values.update(initial_values(self._graph))

    def save(self, path: str | Path) -> None:
        """Write all states to an `.npz` file, under their names."""
        values = dict(self)
        with whole_file(Path(path), "the states") as beside, open(beside, "wb") as stream:
            write_npz(stream, values)

    def restore(self, path: str | Path) -> None:
        """Set all states from an `.npz` file. Raises `UsageError` naming the file and a state that is missing or does not fit."""
        values = read_arrays(path)
        missing = [name for name in self if name not in values]
        if missing:
            raise UsageError(f"{path}: state {missing[0]!r} is missing; the file holds {', '.join(values) or 'nothing'}")
        try:
            self.update(values)
        except GraphError as error:
            raise UsageError(f"{path}: {error}") from None

    def held(self, name: str) -> Array | Callable[[], Array]:
        """A state as it is kept: a value, or what reads it from where it lies."""
        return self._values[name]

    def keep(self, values: Mapping[str, Array | Callable[[], Array]]) -> None:
        """Take what a run left: values, or what reads them from where they lie."""
        self._values.update(values)

    def _require(self, name: str) -> None:
        if name not in self._values:
            raise GraphError(f"{name!r} is no state of graph {self._graph.name!r}; its states are: {', '.join(self) or 'none'}")
