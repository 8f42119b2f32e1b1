"""Calibration data as users give it: a mapping, one array, or a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vta.errors import UsageError
from vta.files.npz_file import read_arrays
from vta.ir.graph import Graph
from vta.runtime.evaluation.dataset import Preprocessing
from vta.runtime.evaluation.samples import samples_of

__all__ = ["Calibration", "calibration_arrays"]

Calibration = Mapping[str, ArrayLike] | ArrayLike | Path
"""Samples along the first axis by input, those of the only input, or the path of an `.npz` file of them."""

_NO_LIMIT = 1 << 62


def calibration_arrays(graph: Graph, given: Calibration | None) -> dict[str, NDArray[Any]] | None:
    """The samples of each input of `graph` in its type. Raises `UsageError` naming what does not fit."""
    if given is None:
        return None
    if isinstance(given, (str, Path)):
        arrays, source = read_arrays(given), str(given)
    elif isinstance(given, Mapping):
        arrays, source = {name: np.asarray(value) for name, value in given.items()}, "calibration"
    else:
        arrays, source = {"x": np.asarray(given)}, "calibration"
    names = {node.name for node in graph.arguments} | ({"x"} if len(graph.arguments) == 1 else set())
    unknown = [name for name in arrays if name not in names]
    if unknown and source == "calibration":
        raise UsageError(f"calibration: no input {unknown[0]!r}; the network's inputs are {', '.join(sorted(names - {'x'}))}")
    states = [state.name for state in graph.states]
    return samples_of(arrays, graph.arguments, Preprocessing(), _NO_LIMIT, source, states)
