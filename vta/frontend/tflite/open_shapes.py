"""Files whose inputs have open dimensions, read for other sizes than those that they hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from vta.errors import ImportModelError
from vta.frontend.tflite.model import Model, OperatorRecord, TensorRecord
from vta.ir.graph import Node

__all__ = ["computed", "opened", "with_inputs"]

Shape = tuple[int, ...]

_SAME_ELEMENTS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators whose results have as many elements as their first input."""


def opened(model: Model, shapes: Mapping[str, Shape]) -> bool:
    """Whether `shapes`, by names of inputs, gives one that is open other sizes than the file has, beside the batch."""
    records = [model.tensors[number] for number in model.inputs]
    return any(
        min(record.signature[1:], default=0) < 0 and tuple(shapes.get(record.name, record.shape))[1:] != record.shape[1:]
        for record in records
    )


def with_inputs(model: Model, shapes: Mapping[str, Shape], path: object) -> Model:
    """The graph with inputs of these shapes, and -1 for the open dimensions of all other tensors.

    Raises `ImportModelError` naming an input that does not exist or is not open there.
    """
    tensors, left = [replace(record, shape=record.signature or record.shape) for record in model.tensors], dict(shapes)
    for number in model.inputs:
        record, declared = tensors[number], model.tensors[number].shape
        shape = tuple(left.pop(record.name, declared))
        free = [old < 0 or axis == 0 for axis, old in enumerate(record.shape)]
        fits = len(shape) == len(declared) and all(
            size == old or (is_open and size > 0) for size, old, is_open in zip(shape, declared, free, strict=True)
        )
        if not fits:
            raise ImportModelError(f"{path}: input {record.name!r} has shape {_text(record)}, which {shape} does not fit")
        tensors[number] = replace(record, shape=shape)
    if left:
        names = ", ".join(model.tensors[number].name for number in model.inputs)
        raise ImportModelError(f"{path}: no input is called {', '.join(left)}; inputs are {names}")
    return replace(model, tensors=tuple(tensors))


def computed(model: Model, record: OperatorRecord, results: Mapping[int, Node | None]) -> Model:
    """The graph as an operator finds it: what was computed until now has the shapes that it has, and its results those to be.

    `results` are values by number, rank 4 in NCHW.
    """
    tensors = list(model.tensors)
    for number in record.inputs:
        value = results.get(number)
        if number >= 0 and value is not None:
            tensors[number] = replace(tensors[number], shape=_file_shape(value))
    if record.kind in _SAME_ELEMENTS and record.inputs and record.outputs:
        output = record.outputs[0]
        tensors[output] = _with_elements(tensors[output], math.prod(tensors[record.inputs[0]].shape))
    return replace(model, tensors=tuple(tensors))


def _with_elements(record: TensorRecord, count: int) -> TensorRecord:
    """The record with its open dimension such that it has `count` elements; an open batch is 1 if there is another."""
    shape = list(record.shape)
    if shape.count(-1) > 1 and shape[0] == -1:
        shape[0] = 1
    known = math.prod(size for size in shape if size >= 0)
    if shape.count(-1) != 1 or not known or count % known:
        return record
    return replace(record, shape=tuple(count // known if size < 0 else size for size in shape))


def _file_shape(value: Node) -> Shape:
    return value.shape if len(value.shape) != 4 else tuple(value.shape[axis] for axis in (0, 2, 3, 1))


def _text(record: TensorRecord) -> str:
    return f"({', '.join('?' if size < 0 else str(size) for size in record.shape)})"
