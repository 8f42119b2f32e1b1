"""Labelled samples from an `.npz` file, prepared for a network's input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError
from vta.files.npz_file import read_arrays
from vta.ir.graph import Graph, Node
from vta.runtime.values.as_type import as_floats
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = ["Dataset", "Preprocessing", "input_samples", "load_dataset", "prepare"]


@dataclass(frozen=True)
class Preprocessing:
    """How stored samples become network input: ``(x / scale - mean) / std``, channel by channel, in the network's own layout."""

    layout: str = "NCHW"
    """``NCHW`` or ``NHWC``: how stored images lie."""
    scale: float = 1.0
    mean: tuple[float, ...] = ()
    """One value for each channel, or one for all; none: 0."""
    std: tuple[float, ...] = ()
    """One value for each channel, or one for all; none: 1."""

    def __post_init__(self) -> None:
        if self.layout not in ("NCHW", "NHWC"):
            raise UsageError(f"layout {self.layout!r} is unknown; allowed: NCHW, NHWC")
        if self.scale == 0 or not np.isfinite(self.scale):
            raise UsageError(f"scale {self.scale} must be a number other than 0")
        if any(value == 0 or not np.isfinite(value) for value in self.std):
            raise UsageError(f"std {self.std} must hold numbers other than 0")


@dataclass(frozen=True)
class Dataset:
    """Samples and their classes."""

    x: NDArray[Any]
    """Shape (n, ...), as stored."""
    y: NDArray[np.int64]
    """Shape (n,)."""

    def __repr__(self) -> str:
        shape = list(self.x.shape[1:])
        return f"Dataset: {len(self.y)} samples, {self.x.dtype}{shape}, of {len(np.unique(self.y))} classes"


def load_dataset(path: str | Path, limit: int | None = None) -> Dataset:
    """Read the arrays `x` and `y` of an `.npz` file, the first `limit` samples of it.

    Raises `UsageError` naming the file and what is wrong with it.
    """
    arrays = read_arrays(path, ("x", "y"))
    for name in ("x", "y"):
        if name not in arrays:
            raise UsageError(f"{path}: array {name!r} is missing; samples are in 'x', their classes in 'y'")
    x, y = arrays["x"], arrays["y"]
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer):
        raise UsageError(f"{path}: 'y' is {y.dtype} of shape {y.shape}; expected one integer class a sample")
    if x.shape[:1] != y.shape:
        raise UsageError(f"{path}: 'x' holds {x.shape[0] if x.ndim else 0} samples, 'y' {y.shape[0]}")
    return Dataset(x[:limit], y[:limit].astype(np.int64))


def prepare(x: NDArray[Any], node: Node, options: Preprocessing) -> NDArray[Any]:
    """Turn stored samples, shape (n, ...), into values for the graph input `node`, (n, *its shape without the batch).

    Samples of an input that has no batch axis have its whole shape, behind n.
    Images without a channel axis are given one. A network reads NCHW if the samples then fit, or else NHWC, as those of TFLite
    do. An integer input takes samples of integers, less a mean of whole numbers. Raises `UsageError` if the samples do not fit.
    """
    for wanted in (node.shape[1:], node.shape):
        for channels, values in _arranged(x, len(wanted), options.layout):
            if values.shape[1:] == wanted:
                if node.dtype.startswith("float"):
                    return _normalized(values, channels, options, node).astype(node.dtype, copy=False)
                return _as_integers(values, channels, node, options)
    shape = node.shape[1:]
    raise UsageError(f"samples of shape {x.shape[1:]} (layout {options.layout}) do not fit input {node.name!r} of shape {shape}")


def input_samples(graph: Graph, data: Dataset, options: Preprocessing) -> dict[str, NDArray[Any]]:
    """The samples as values for the only input of a graph. Raises `UsageError` if it has others, or states."""
    if graph.states:
        raise UsageError(f"{graph.name} keeps state {graph.states[0].name!r} between samples: run it by frames")
    if len(graph.inputs) != 1:
        names = ", ".join(node.name for node in graph.inputs)
        raise UsageError(f"evaluation feeds 'x' to one input; graph {graph.name!r} has {len(graph.inputs)}: {names}")
    node = graph.inputs[0]
    return {node.name: prepare(data.x, node, options)}


def _arranged(x: NDArray[Any], rank: int, layout: str) -> Iterator[tuple[int, NDArray[Any]]]:
    """Stored samples as a network of inputs of `rank` axes may read them, with the axis of the channels."""
    if rank != 3:
        yield 1, x
    elif x.ndim == 3:
        yield 1, x[:, None]
        yield 3, x[..., None]
    elif x.ndim == 4:
        stored = 1 if layout == "NCHW" else 3
        for axis in (1, 3):
            yield axis, np.moveaxis(x, stored, axis)


def _normalized(values: NDArray[Any], channels: int, options: Preprocessing, node: Node) -> NDArray[np.float32]:
    # In the network's order: what takes some samples of them then copies no more than these.
    result = as_floats(values, "float32", f"the array for input {shown(node.name)}")
    if options.scale != 1.0:
        result /= np.float32(options.scale)
    if options.mean:
        result -= _per_channel("mean", options.mean, result, channels)
    if options.std:
        result /= _per_channel("std", options.std, result, channels)
    return result


def _per_channel(what: str, values: tuple[float, ...], samples: NDArray[Any], axis: int) -> NDArray[np.float32]:
    channels = samples.shape[axis] if samples.ndim > axis else 1
    if len(values) not in (1, channels):
        raise UsageError(f"{what} has {len(values)} values; the samples have {channels} channels")
    return np.asarray(values, np.float32).reshape(-1, *([1] * (samples.ndim - 1 - axis)))


def _as_integers(values: NDArray[Any], channels: int, node: Node, options: Preprocessing) -> NDArray[Any]:
    if options.scale != 1.0 or options.std or any(value != round(value) for value in options.mean):
        raise UsageError(
            f"input {node.name!r} is {node.dtype}: it takes no scale or std, and a mean of whole numbers, such as 128 for pixels"
        )
    info = np.iinfo(node.dtype)
    given = values.dtype
    if options.mean and np.issubdtype(given, np.integer):
        values = values.astype(np.int64) - _per_channel("mean", options.mean, values, channels).astype(np.int64)
    fits = np.issubdtype(given, np.integer) and (
        not values.size or (int(values.min()) >= info.min and int(values.max()) <= info.max)
    )
    if not fits:
        hint = "; a mean of 128 takes 128 off pixels" if given == np.uint8 and node.dtype == "int8" and not options.mean else ""
        raise UsageError(f"samples of {given} do not fit input {node.name!r} of {node.dtype} ({info.min} to {info.max}){hint}")
    return values.astype(node.dtype)
