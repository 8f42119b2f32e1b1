"""Constants of a TFLite file that are stored without most of their zeros."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import MAX_ARRAY_BYTES
from vta.frontend.tflite.schema import schema
from vta.support.dataclass import dataclass

__all__ = ["from_sparse"]

Array = NDArray[Any]


@dataclass(frozen=True)
class _Level:
    """One dimension, in the order in which values are stored."""

    size: int
    """Of a dense one; 0 for one that lists its indices."""
    segments: Array
    indices: Array


def from_sparse(sparsity: Any, values: Array, shape: tuple[int, ...], where: str) -> Array:
    """Return the array of `shape` whose `values` lie where the table `sparsity` says, and that is zero elsewhere.

    Dimensions come in an order of the file's own, blocks of values after those that count them. Raises `ImportModelError` naming
    `where` if the places do not fit the shape or the values.
    """
    if math.prod(shape) * values.dtype.itemsize > MAX_ARRAY_BYTES:
        raise ImportModelError(f"{where}: shape {shape} of {values.dtype} is too large")
    rank, blocks = len(shape), _list(sparsity.BlockMapAsNumpy())
    order = _list(sparsity.TraversalOrderAsNumpy())
    levels = [_level(sparsity.DimMetadata(index), where) for index in range(sparsity.DimMetadataLength())]
    if sorted(order) != list(range(rank + len(blocks))) or len(levels) != len(order) or not all(0 <= d < rank for d in blocks):
        raise ImportModelError(f"{where}: its sparse dimensions {order} with blocks of {blocks} do not fit shape {shape}")
    places = [np.zeros(1, np.int64) for _ in shape]
    of_level = dict(zip(order, levels, strict=True))
    steps = {dim: _block_size(dim, rank, blocks, of_level) for dim in range(rank)}
    nodes = np.zeros(1, np.int64)
    for dim in order:
        nodes, parents, index = _descended(of_level[dim], nodes, where)
        places = [place[parents] for place in places]
        axis = dim if dim < rank else blocks[dim - rank]
        places[axis] = places[axis] + index * (steps[dim] if dim < rank else 1)
    if len(nodes) != len(values) or any(
        (place < 0).any() or (place >= size).any() for place, size in zip(places, shape, strict=True)
    ):
        raise ImportModelError(f"{where}: {len(values)} values for {len(nodes)} places in shape {shape}")
    result = np.zeros(shape, values.dtype)
    result[tuple(places)] = values
    return result


_MOST_PLACES = MAX_ARRAY_BYTES


def _list(values: Any) -> list[int]:
    """A vector of integers; the reader gives the number 0 for an absent one."""
    return [int(value) for value in values] if isinstance(values, np.ndarray) else []


def _block_size(dim: int, rank: int, blocks: list[int], levels: dict[int, _Level]) -> int:
    return levels[rank + blocks.index(dim)].size if dim in blocks else 1


def _level(table: Any, where: str) -> _Level:
    if table.Format() == schema("DimensionType").DENSE:
        if table.DenseSize() < 1:
            raise ImportModelError(f"{where}: a dense dimension has the size {table.DenseSize()}")
        return _Level(table.DenseSize(), np.zeros(0, np.int64), np.zeros(0, np.int64))
    segments = _vector(table.ArraySegments(), table.ArraySegmentsType(), where)
    indices = _vector(table.ArrayIndices(), table.ArrayIndicesType(), where)
    return _Level(0, segments, indices)


def _vector(table: Any, kind: int, where: str) -> Array:
    """A vector of one of the three types that such a list may have."""
    kinds = schema("SparseIndexVector")
    name = next((name for name in ("Int32Vector", "Uint16Vector", "Uint8Vector") if getattr(kinds, name) == kind), None)
    if name is None or table is None:
        raise ImportModelError(f"{where}: a sparse dimension lists no indices")
    vector = schema(name)()
    vector.Init(table.Bytes, table.Pos)
    return np.array(_list(vector.ValuesAsNumpy()), np.int64)


def _descended(level: _Level, nodes: Array, where: str) -> tuple[Array, Array, Array]:
    """The nodes of the next level; for each the position of its parent among `nodes`, and its index in the level."""
    if level.size:
        if len(nodes) * level.size > _MOST_PLACES:
            raise ImportModelError(f"{where}: more than {_MOST_PLACES} values")
        parents, index = np.divmod(np.arange(len(nodes) * level.size), level.size)
        return nodes[parents] * level.size + index, parents, index
    ends = level.segments
    if (
        len(ends) < int(nodes.max(initial=0)) + 2
        or (np.diff(ends) < 0).any()
        or not (ends[0] == 0 and ends[-1] == len(level.indices))
    ):
        raise ImportModelError(f"{where}: the segments of a sparse dimension do not fit its {len(level.indices)} indices")
    counts = ends[nodes + 1] - ends[nodes]
    parents = np.repeat(np.arange(len(nodes)), counts)
    within = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    children = ends[nodes][parents] + within
    return children, parents, level.indices[children]
