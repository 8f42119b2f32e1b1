"""What the variables of a TFLite file hold before the first run: what the graphs assign that the main one has called once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend.tflite.model import Model, OperatorRecord, TensorRecord, called_graphs
from vta.frontend.tflite.values import TO_FIRST

__all__ = ["initial_values", "variable_name"]

Array = NDArray[Any]
_FOLDED = ("VAR_HANDLE", "ASSIGN_VARIABLE")


def variable_name(record: OperatorRecord) -> str:
    """What the variable of a VAR_HANDLE is called: its name, after that of its container if it has one."""
    names = [record.options[field] for field in ("Container", "SharedName")]
    return "/".join(name for name in names if name)


def initial_values(model: Model) -> dict[str, Array]:
    """The constants that are assigned to variables, by name, as the graph holds them.

    Raises `ImportModelError` for another operator among those that are called once.
    """
    once = [number for record in model.operators if record.kind == "CALL_ONCE" for number in called_graphs(record)]
    return {name: value for number in dict.fromkeys(once) for name, value in _assigned_by(model.called[number])}


def _assigned_by(model: Model) -> Iterator[tuple[str, Array]]:
    names: dict[int, str] = {}
    for record in model.operators:
        if record.kind not in _FOLDED:
            raise ImportModelError(f"CALL_ONCE: {record.kind} among what is called once; known: {', '.join(_FOLDED)}")
        if record.kind == "VAR_HANDLE":
            names[record.outputs[0]] = variable_name(record)
        else:
            handle, number = record.inputs
            yield names[handle], held(model.tensors[number])


def held(tensor: TensorRecord) -> Array:
    """A constant as the graph holds it: rank 4 in NCHW, uint8 as int8."""
    if tensor.value is None:
        raise ImportModelError(f"CALL_ONCE assigns {tensor.name!r}, which is not constant")
    value = tensor.value
    if value.dtype == np.uint8:
        value = (value.astype(np.int16) - 128).astype(np.int8)
    return np.ascontiguousarray(value.transpose(TO_FIRST)) if value.ndim == 4 else value
