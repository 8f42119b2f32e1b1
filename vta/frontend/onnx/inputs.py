"""Shapes and types of a model's inputs, with the dimensions that it leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, NDArray

from vta.errors import ImportModelError, OpenShapesError
from vta.frontend._errors import faults_of
from vta.frontend.onnx.tensors import declared_dtype
from vta.ir.graph import Node, constant, graph_input
from vta.support.dataclass import dataclass

__all__ = ["fixed_inputs", "model_inputs"]

Shape = tuple[int, ...]
Dimension = int | str
"""A size, or the name of an open one; ``?`` if it has none."""

_NAMELESS = "?"


@dataclass(frozen=True)
class _Declared:
    """An input as the file has it."""

    name: str
    dtype: str
    shape: tuple[Dimension, ...] | None
    """None if the file does not tell."""


def model_inputs(infos: Iterable[onnx.ValueInfoProto], given: Mapping[str, Shape], path: object, batch: int) -> dict[str, Node]:
    """Return a node for each input.

    `given` overrides shapes; a dimension that shares its symbol with a given one has its size. The first dimension is `batch`
    where it stays open, and what shares its symbol too; unless it is that of a later dimension, but for the first input. Raises
    `OpenShapesError` naming all inputs with dimensions that are left.
    """
    declared = [_declared(info, path) for info in infos]
    known = [item.name for item in declared]
    strange = [name for name in given if name not in known]
    if strange:
        raise ImportModelError(f"{path}: no input is called {', '.join(strange)}; inputs are {', '.join(known)}")
    sizes = _symbol_sizes(declared, given, path)
    for symbol in _batch_symbols(item.shape for item in declared if item.shape and item.name not in given):
        sizes.setdefault(symbol, batch)
    shapes = {item.name: given[item.name] if item.name in given else _resolved(item, sizes, batch) for item in declared}
    _require_closed(declared, shapes, path)
    inputs = {}
    for item in declared:
        shape = shapes[item.name] or ()
        with faults_of(f"{path}: input {item.name!r}"):
            inputs[item.name] = graph_input(item.name, [int(dim) for dim in shape], item.dtype)
    return inputs


def fixed_inputs(infos: Iterable[onnx.ValueInfoProto], values: Mapping[str, ArrayLike], path: object) -> dict[str, Node]:
    """Return a constant for each input that has a value, in the input's type; one number stands for all of a known shape.

    Raises `ImportModelError` naming a value that no input has, or that does not fit.
    """
    declared = {info.name: _declared(info, path) for info in infos if info.name in values}
    strange = [name for name in values if name not in declared]
    if strange:
        raise ImportModelError(f"{path}: no input is called {', '.join(strange)}, for which a value is given")
    return {name: constant(_fixed(declared[name], np.asarray(value), path), name) for name, value in values.items()}


def _fixed(item: _Declared, value: NDArray[Any], path: object) -> NDArray[Any]:
    where = f"{path}: input {item.name!r}"
    if not np.can_cast(value.dtype, item.dtype, "same_kind"):
        raise ImportModelError(f"{where} is {item.dtype}; the value that is given is {value.dtype}")
    known = tuple(dim for dim in item.shape or () if isinstance(dim, int))
    shape = known if item.shape is not None and len(known) == len(item.shape) else value.shape
    if value.size != 1 and value.shape != shape:
        raise ImportModelError(f"{where} has shape {shape}; the value that is given has {value.shape}")
    return np.broadcast_to(value.astype(item.dtype).reshape(() if value.size == 1 else value.shape), shape)


def _batch_symbols(shapes: Iterable[tuple[Dimension, ...]]) -> Iterator[str]:
    """The symbols of first dimensions that can be taken for a batch."""
    rows = list(shapes)
    later = {dim for row in rows for dim in row[1:]}
    opened = [row[0] for row in rows if isinstance(row[0], str)]
    for at, symbol in enumerate(opened):
        if symbol != _NAMELESS and (at == 0 or symbol not in later):
            yield symbol


def _declared(info: onnx.ValueInfoProto, path: object) -> _Declared:
    where = f"{path}: input {info.name!r}"
    if not info.type.HasField("tensor_type"):
        raise ImportModelError(f"{where} is not a tensor")
    tensor = info.type.tensor_type
    try:
        dtype = declared_dtype(tensor.elem_type)
    except ImportModelError as error:
        raise ImportModelError(f"{where}: {error}") from None
    dims = tuple(dim.dim_value if dim.dim_value > 0 else dim.dim_param or _NAMELESS for dim in tensor.shape.dim)
    return _Declared(info.name, dtype, dims if tensor.HasField("shape") else None)


def _symbol_sizes(declared: Iterable[_Declared], given: Mapping[str, Shape], path: object) -> dict[str, int]:
    """Sizes of symbols by the shapes that were given, where those agree."""
    found: dict[str, set[int]] = {}
    for item in declared:
        shape = given.get(item.name)
        if shape is None:
            continue
        if item.shape is not None and len(item.shape) != len(shape):
            raise ImportModelError(f"{path}: input {item.name!r} has {len(item.shape)} dimensions, the given shape is {shape}")
        if any(size < 0 for size in shape):
            raise ImportModelError(f"{path}: input {item.name!r}: dimensions of the given shape {shape} must not be negative")
        for dim, size in zip(item.shape or (), shape, strict=False):
            if isinstance(dim, str) and dim != _NAMELESS:
                found.setdefault(dim, set()).add(size)
    return {symbol: sizes.pop() for symbol, sizes in found.items() if len(sizes) == 1}


def _resolved(item: _Declared, sizes: Mapping[str, int], batch: int) -> tuple[Dimension, ...] | None:
    if item.shape is None:
        return None
    first = {0: batch} if item.shape[:1] == (_NAMELESS,) else {}
    return tuple(first.get(axis, sizes.get(str(dim), dim)) for axis, dim in enumerate(item.shape))


def _require_closed(declared: Iterable[_Declared], shapes: Mapping[str, tuple[Dimension, ...] | None], path: object) -> None:
    unknown = {
        item.name: shapes[item.name]
        for item in declared
        if (shape := shapes[item.name]) is None or any(isinstance(dim, str) for dim in shape)
    }
    if unknown:
        raise OpenShapesError(str(path), unknown)
