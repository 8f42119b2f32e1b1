"""Arrays that commands read from files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError
from vta.files.npz_file import read_array, read_arrays
from vta.ir.graph import Node
from vta.runtime import Preprocessing
from vta.runtime.evaluation.samples import by_input, samples_of
from vta.runtime.values.as_type import as_type
from vta.support.shorten import shown

__all__ = ["calibration_samples", "given_inputs", "load_arrays", "network_inputs"]


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
    return _fitting(by_input(load_arrays(path), inputs, str(path), states), str(path))


def given_inputs(given: Sequence[str], inputs: Sequence[Node], states: Collection[str] = ()) -> dict[str, NDArray[Any]]:
    """Return the values of the `inputs` from files of one array each, ``NAME=FILE.npy``, or ``FILE.npy`` for the only one.

    Raises `UsageError` naming what is unknown, given twice, missing, does not fit, or is for one of the `states`.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for text in given:
        name, path = _named(text, inputs, states)
        if name in arrays:
            raise UsageError(f"--input {text}: input {shown(name)} is given twice")
        arrays[name] = read_array(path)
    return _fitting(by_input(arrays, inputs, "--input", states), "--input")


def _named(text: str, inputs: Sequence[Node], states: Collection[str]) -> tuple[str, Path]:
    """The input and the file of ``[NAME=]FILE.npy``: both may have a ``=``, so that what is before one is a name if it is one."""
    known = [node.name for node in inputs]
    for at in (at for at, letter in enumerate(text) if letter == "="):
        if text[:at] in known or text[:at] in states:
            return text[:at], Path(text[at + 1 :])
    if len(known) == 1 and ("=" not in text or Path(text).exists()):
        return known[0], Path(text)
    names = ", ".join(map(shown, known))
    raise UsageError(f"--input {text}: names no input of the network; expected NAME=FILE.npy with one of {names}")


def _fitting(given: Mapping[Node, NDArray[Any]], source: str) -> dict[str, NDArray[Any]]:
    values = {}
    for node, array in given.items():
        if array.shape != node.shape:
            raise UsageError(f"{source}: the array for input {shown(node.name)} has shape {array.shape}; expected {node.shape}")
        if not np.can_cast(array.dtype, node.dtype, "same_kind"):
            raise UsageError(f"{source}: the array for input {shown(node.name)} is {array.dtype}; expected {node.dtype}")
        values[node.name] = as_type(array, node.dtype, f"{source}: the array for input {shown(node.name)}")
    return values
