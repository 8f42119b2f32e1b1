"""Calibration data as users give it: a mapping, one array, or a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vta.errors import UsageError
from vta.files.npz_file import read_arrays
from vta.ir.graph import Graph
from vta.runtime.evaluation.dataset import Preprocessing
from vta.runtime.evaluation.samples import samples_of
from vta.support.shorten import shown

__all__ = ["Calibration", "calibration_arrays"]

Calibration = Mapping[str, ArrayLike | Iterator[ArrayLike]] | ArrayLike | Iterator[ArrayLike] | Path
"""Samples along the first axis by input, those of the only input, or the path of an `.npz` file of them. An iterator gives one
sample after the other."""

_NO_LIMIT = 1 << 62


def calibration_arrays(graph: Graph, given: Calibration | None) -> dict[str, NDArray[Any]] | None:
    """The samples of each input of `graph` in its type. Raises `UsageError` naming what does not fit."""
    if given is None:
        return None
    if isinstance(given, (str, Path)):
        arrays, source = read_arrays(given), str(given)
    elif isinstance(given, Mapping):
        arrays, source = (
            {name: _array(value, f"calibration for input {shown(name)}") for name, value in given.items()},
            "calibration",
        )
    else:
        arrays, source = {"x": _array(given, "calibration")}, "calibration"
    names = {node.name for node in graph.arguments} | ({"x"} if len(graph.arguments) == 1 else set())
    unknown = [name for name in arrays if name not in names]
    if unknown and source == "calibration":
        raise UsageError(f"calibration: no input {unknown[0]!r}; the network's inputs are {', '.join(sorted(names - {'x'}))}")
    states = [state.name for state in graph.states]
    return samples_of(arrays, graph.arguments, Preprocessing(), _NO_LIMIT, source, states)


def _array(given: ArrayLike | Iterator[ArrayLike], what: str) -> NDArray[Any]:
    try:
        array = np.asarray(list(given) if isinstance(given, Iterator) else given)
    except ValueError as error:
        raise UsageError(f"{what} is no array: {error}") from None
    if array.dtype.kind in "OSU":
        raise UsageError(f"{what} is no array of numbers, but of {array.dtype}")
    return array
