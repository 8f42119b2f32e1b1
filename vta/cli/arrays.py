"""Arrays that commands read from and write to `.npz` files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError
from vta.ir.graph import Node
from vta.runtime import Preprocessing, prepare
from vta.support.npz_file import read_arrays
from vta.support.shorten import shown

__all__ = ["calibration_samples", "load_arrays", "network_inputs", "spread"]


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of an `.npz` file. Raises `UsageError` naming the file if it is not one or holds pickled objects."""
    return read_arrays(path)


def calibration_samples(path: Path, inputs: Sequence[Node], preprocessing: Preprocessing, limit: int) -> dict[str, NDArray[Any]]:
    """Return at most `limit` sample values, shape (n, ...), for each of the graph's `inputs` from the file's arrays.

    Raises `UsageError` naming file and array if one is missing or does not fit.
    """
    samples = {}
    for node, array in _by_input(load_arrays(path), inputs, path).items():
        if not array.size or not (array.ndim or not node.shape):
            raise UsageError(
                f"{path}: the array for input {shown(node.name)} has shape {array.shape}; expected one or more samples"
            )
        if array.shape == node.shape and (not node.shape or len(array) > limit):
            # One value for all samples of the other inputs.
            samples[node.name] = array.astype(node.dtype)
        else:
            samples[node.name] = _prepared(spread(array, limit), node, preprocessing, path)
    return samples


def spread(samples: NDArray[Any], limit: int) -> NDArray[Any]:
    """Return at most `limit` of the samples, evenly spread: files are often sorted by class."""
    if len(samples) <= limit:
        return samples
    return samples[np.arange(limit) * len(samples) // limit]


def network_inputs(path: Path, inputs: Sequence[Node]) -> dict[str, NDArray[Any]]:
    """Return the values of the graph's `inputs` from the file's arrays, which must have their shapes and types.

    Raises `UsageError` naming file and array if one is missing or does not fit.
    """
    values = {}
    for node, array in _by_input(load_arrays(path), inputs, path).items():
        if array.shape != node.shape:
            raise UsageError(f"{path}: the array for input {shown(node.name)} has shape {array.shape}; expected {node.shape}")
        if not np.can_cast(array.dtype, node.dtype, "same_kind"):
            raise UsageError(f"{path}: the array for input {shown(node.name)} is {array.dtype}; expected {node.dtype}")
        values[node.name] = array.astype(node.dtype)
    return values


def _by_input(arrays: Mapping[str, NDArray[Any]], inputs: Sequence[Node], path: Path) -> dict[Node, NDArray[Any]]:
    found = {}
    for node in inputs:
        name = "x" if node.name not in arrays and len(inputs) == 1 else node.name
        if name not in arrays:
            wanted = f"{shown(node.name)} or 'x'" if len(inputs) == 1 else repr(node.name)
            raise UsageError(f"{path}: no array {wanted} for the network's input; it holds {', '.join(arrays) or 'nothing'}")
        found[node] = arrays[name]
    return found


def _prepared(array: NDArray[Any], node: Node, preprocessing: Preprocessing, path: Path) -> NDArray[Any]:
    try:
        return prepare(array, node, preprocessing)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
