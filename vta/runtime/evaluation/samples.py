"""Sample inputs by the names of a network's inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError
from vta.ir.graph import Node
from vta.runtime.evaluation.dataset import Preprocessing, prepare
from vta.runtime.values.as_type import as_type
from vta.support.shorten import shown

__all__ = ["by_input", "samples_of", "spread"]

Array = NDArray[Any]


def samples_of(
    arrays: Mapping[str, Array],
    inputs: Sequence[Node],
    preprocessing: Preprocessing,
    limit: int,
    source: str,
    states: Collection[str] = (),
) -> dict[str, Array]:
    """At most `limit` sample values, shape (n, ...), for each of the graph's `inputs`.

    Raises `UsageError` naming `source` and the array if one is missing, does not fit, or is for one of the `states`.
    """
    samples = {}
    for node, array in by_input(arrays, inputs, source, states).items():
        if not array.size or not (array.ndim or not node.shape):
            raise UsageError(
                f"{source}: the array for input {shown(node.name)} has shape {array.shape}; expected one or more samples"
            )
        if array.shape == node.shape and (not node.shape or len(array) > limit):
            # One value for all samples of the other inputs.
            samples[node.name] = as_type(array, node.dtype, f"{source}: the array for input {shown(node.name)}")
        else:
            samples[node.name] = _prepared(spread(array, limit), node, preprocessing, source)
    return samples


def spread(samples: Array, limit: int) -> Array:
    """At most `limit` of the samples, evenly spread: files are often sorted by class."""
    if len(samples) <= limit:
        return samples
    return samples[np.arange(limit) * len(samples) // limit]


def by_input(arrays: Mapping[str, Array], inputs: Sequence[Node], source: str, states: Collection[str] = ()) -> dict[Node, Array]:
    """The array of each input, called like it, or ``x`` for the only one.

    Raises `UsageError` naming one that is missing, or an array for one of the `states`, which would be left aside.
    """
    found, taken = {}, set()
    for node in inputs:
        name = "x" if node.name not in arrays and len(inputs) == 1 else node.name
        if name not in arrays:
            wanted = f"{shown(node.name)} or 'x'" if len(inputs) == 1 and node.name != "x" else repr(node.name)
            raise UsageError(f"{source}: no array {wanted} for the network's input; it holds {', '.join(arrays) or 'nothing'}")
        found[node] = arrays[name]
        taken.add(name)
    for name in states:
        if name in arrays and name not in taken:
            raise UsageError(
                f"{source}: array {shown(name)} is for a state of the network, which is no input; states are set by module.state",
                parameters=("state",),
            )
    return found


def _prepared(array: Array, node: Node, preprocessing: Preprocessing, source: str) -> Array:
    try:
        return prepare(array, node, preprocessing)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from None
