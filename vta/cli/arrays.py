"""Arrays that commands read from and write to `.npz` files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError
from vta.files.npz_file import read_arrays
from vta.ir.graph import Node
from vta.runtime import Preprocessing
from vta.runtime.evaluation.samples import by_input, samples_of
from vta.runtime.values.as_type import as_type
from vta.support.shorten import shown

__all__ = ["calibration_samples", "load_arrays", "network_inputs"]


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of an `.npz` file. Raises `UsageError` naming the file if it is not one or holds pickled objects."""
    return read_arrays(path)


def calibration_samples(
    path: Path, inputs: Sequence[Node], preprocessing: Preprocessing, limit: int, states: Collection[str] = ()
) -> dict[str, NDArray[Any]]:
    """Return at most `limit` sample values, shape (n, ...), for each of the graph's `inputs` from the file's arrays.

    Raises `UsageError` naming file and array if one is missing, does not fit, or is for one of the `states`.
    """
    return samples_of(load_arrays(path), inputs, preprocessing, limit, str(path), states)


def network_inputs(path: Path, inputs: Sequence[Node], states: Collection[str] = ()) -> dict[str, NDArray[Any]]:
    """Return the values of the graph's `inputs` from the file's arrays, which must have their shapes and types.

    Raises `UsageError` naming file and array if one is missing, does not fit, or is for one of the `states`.
    """
    values = {}
    for node, array in by_input(load_arrays(path), inputs, str(path), states).items():
        if array.shape != node.shape:
            raise UsageError(f"{path}: the array for input {shown(node.name)} has shape {array.shape}; expected {node.shape}")
        if not np.can_cast(array.dtype, node.dtype, "same_kind"):
            raise UsageError(f"{path}: the array for input {shown(node.name)} is {array.dtype}; expected {node.dtype}")
        values[node.name] = as_type(array, node.dtype, f"{path}: the array for input {shown(node.name)}")
    return values
