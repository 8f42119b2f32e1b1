"""A TFLite file as plain records; every index and size is checked, so that what follows need not."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import MAX_ARRAY_BYTES, MOST_SHARED, faults_of
from vta.frontend.tflite.schema import schema
from vta.frontend.tflite.sparse import from_sparse
from vta.support.dataclass import dataclass

__all__ = ["Model", "OperatorRecord", "TensorRecord", "called_graphs", "damaged_tables", "read_model"]

_IDENTIFIER = b"TFL3"
_MAX_RANK = 8
_CALLS = {"CALL_ONCE": ("Init",), "IF": ("Then", "Else"), "WHILE": ("Cond", "Body")}
"""The graphs that operators call, by what their options name them."""
_LEAST_TABLE_BYTES = 12
"""Of a tensor or operator: its place in the list, and a table that says anything."""

_TYPES = schema("TensorType")
_DTYPES = {
    _TYPES.FLOAT32: "float32",
    _TYPES.FLOAT16: "float16",
    _TYPES.INT32: "int32",
    _TYPES.UINT8: "uint8",
    _TYPES.INT64: "int64",
    _TYPES.BOOL: "bool",
    _TYPES.INT16: "int16",
    _TYPES.INT8: "int8",
    _TYPES.RESOURCE: "resource",
}


_LEVELS = ("int8", "uint8", "int16", "int32", "int64")
"""Types of which values may stand for real numbers."""


def _names(enumeration: type) -> dict[int, str]:
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


_OPERATORS = _names(schema("BuiltinOperator"))
_NO_OPTIONS = "NONE"
_OPTIONS = _names(schema("BuiltinOptions"))


@dataclass(frozen=True)
class TensorRecord:
    """A tensor of the file."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """NumPy's name, or TFLite's code where NumPy has no such type."""
    value: NDArray[Any] | None
    """Of a constant."""
    scales: tuple[float, ...]
    """One, one for each channel, or none."""
    zero_points: tuple[int, ...]
    channel_axis: int
    """Along which scales vary."""
    variable: bool = False
    """Whether it keeps its value from one run to the next."""
    signature: tuple[int, ...] = ()
    """The shape with -1 for dimensions that are open; empty where none is."""


@dataclass(frozen=True)
class OperatorRecord:
    """An operator of the file."""

    kind: str
    inputs: tuple[int, ...]
    """Tensor numbers; -1 for an absent one."""
    outputs: tuple[int, ...]
    options: Any
    """The options table of the operator's kind, or None."""
    custom: bytes = b""
    """The options of an operator that is not TFLite's own."""


@dataclass(frozen=True)
class Model:
    """A graph of a file."""

    tensors: tuple[TensorRecord, ...]
    operators: tuple[OperatorRecord, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    called: Mapping[int, Model] = field(default_factory=dict)
    """Of the main graph: those that operators call, by number."""


def read_model(content: bytes, path: object) -> Model:
    """Return the records of a TFLite file's graphs; raises `ImportModelError` naming `path` and what is damaged."""
    if content[4:8] != _IDENTIFIER:
        raise ImportModelError(f"{path}: not a TFLite file (its bytes 4 to 7 are {content[4:8]!r}, not {_IDENTIFIER!r})")
    with faults_of(str(path)), damaged_tables(path):
        model = schema("Model").GetRootAs(content, 0)
        if model.SubgraphsLength() < 1:
            raise ImportModelError(f"{path}: the file holds no graph")
        main = _graph(model, model.Subgraphs(0), len(content))
        if not main.inputs or not main.outputs or not main.operators:
            raise ImportModelError("the graph has no inputs, no outputs or no operators")
        return replace(main, called=_called(model, main, len(content)))


def _called(model: Any, main: Model, nbytes: int) -> dict[int, Model]:
    """By number the graphs that operators of the main one call, and those that they call."""
    found: dict[int, Model] = {}
    pending = [main]
    while pending:
        for record in pending.pop().operators:
            for number in called_graphs(record):
                if not 0 < number < model.SubgraphsLength():
                    raise ImportModelError(f"{record.kind} names graph {number}; the file has {model.SubgraphsLength()}")
                if number not in found:
                    found[number] = _graph(model, model.Subgraphs(number), nbytes)
                    pending.append(found[number])
    return found


def called_graphs(record: OperatorRecord) -> tuple[int, ...]:
    """The numbers of the graphs that an operator calls."""
    return tuple(getattr(record.options, f"{which}SubgraphIndex")() for which in _CALLS.get(record.kind, ()))


def _graph(model: Any, graph: Any, nbytes: int) -> Model:
    _check_room(model, graph, nbytes)
    tensors = tuple(_tensor(model, graph.Tensors(index), index) for index in range(graph.TensorsLength()))
    operators = tuple(_operator(model, graph.Operators(index), index, len(tensors)) for index in range(graph.OperatorsLength()))
    inputs, outputs = _numbers(graph.InputsAsNumpy()), _numbers(graph.OutputsAsNumpy())
    _check_indices(inputs + outputs, 0, len(tensors), "the graph")
    return Model(tensors, operators, inputs, outputs)


def _check_room(model: Any, graph: Any, nbytes: int) -> None:
    """Refuse a file whose tables and constants, which may refer to the same bytes, are far more than its `nbytes` bytes."""
    for what, count in (("tensors", graph.TensorsLength()), ("operators", graph.OperatorsLength())):
        if count * _LEAST_TABLE_BYTES > nbytes:
            raise ImportModelError(f"lists {count} {what}; {nbytes} bytes have room for {nbytes // _LEAST_TABLE_BYTES}")
    buffers = [graph.Tensors(index).Buffer() for index in range(graph.TensorsLength())]
    shared = sum(model.Buffers(number).DataLength() for number in buffers if 0 <= number < model.BuffersLength())
    if shared > MOST_SHARED * nbytes:
        raise ImportModelError(f"constants claim {shared} bytes of a file of {nbytes}; the limit is {MOST_SHARED * nbytes}")


@contextmanager
def damaged_tables(path: object) -> Iterator[None]:
    """Turn what the table reader raises on damaged offsets into `ImportModelError`, and name the file in others."""
    try:
        yield
    except (struct.error, AttributeError, AssertionError) as error:
        raise ImportModelError(f"{path}: truncated or damaged: {str(error).splitlines()[0] if str(error) else error!r}") from None
    except ImportModelError as error:
        text = str(error)
        raise error if text.startswith(str(path)) else ImportModelError(f"{path}: {text}") from None


def _numbers(values: Any) -> tuple[int, ...]:
    """A vector of integers; the reader gives the number 0 for an absent one."""
    return tuple(values.tolist()) if isinstance(values, np.ndarray) else ()


def _check_indices(indices: tuple[int, ...], least: int, count: int, what: str) -> None:
    for index in indices:
        if not least <= index < count:
            raise ImportModelError(f"{what} names tensor {index}; there are {count}")


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")


def _tensor(model: Any, table: Any, index: int) -> TensorRecord:
    name = _text(table.Name()) or f"tensor_{index}"
    where = f"tensor {name!r}"
    shape = _numbers(table.ShapeAsNumpy())
    if len(shape) > _MAX_RANK or any(dim < 0 for dim in shape):
        raise ImportModelError(f"{where}: shape {shape} is negative or has more than {_MAX_RANK} dimensions")
    dtype = _DTYPES.get(table.Type(), f"type {table.Type()}")
    scales, zero_points, axis = _quantization(table.Quantization(), dtype, where)
    value = _value(model, table, shape, dtype, where)
    signature = _numbers(table.ShapeSignatureAsNumpy())
    signature = signature if len(signature) == len(shape) and min(signature, default=0) < 0 else ()
    return TensorRecord(name, shape, dtype, value, scales, zero_points, axis, bool(table.IsVariable()), signature)


def _quantization(table: Any, dtype: str, where: str) -> tuple[tuple[float, ...], tuple[int, ...], int]:
    """Scales, zero points and the axis that they vary along; a type that is never quantised has none, whatever is written."""
    if table is None or not table.ScaleLength() or dtype not in _LEVELS:
        return (), (), 0
    scales = tuple(table.ScaleAsNumpy().tolist())
    zero_points = _numbers(table.ZeroPointAsNumpy()) or (0,)
    for scale in scales:
        if not (scale > 0 and math.isfinite(scale)):
            raise ImportModelError(f"{where}: a scale is {scale}; scales are positive and finite")
    if len(zero_points) not in (1, len(scales)):
        raise ImportModelError(f"{where}: {len(scales)} scales but {len(zero_points)} zero points")
    info = np.iinfo(dtype)
    least, most = int(info.min), int(info.max)
    for zero_point in zero_points:
        if not least <= zero_point <= most:
            raise ImportModelError(f"{where}: a zero point is {zero_point}; those of {dtype} are {least} to {most}")
    return scales, zero_points, int(table.QuantizedDimension())


def _value(model: Any, table: Any, shape: tuple[int, ...], dtype: str, where: str) -> NDArray[Any] | None:
    buffer, sparsity = table.Buffer(), table.Sparsity()
    if not 0 <= buffer < model.BuffersLength():
        raise ImportModelError(f"{where} names buffer {buffer}; there are {model.BuffersLength()}")
    content = model.Buffers(buffer).DataAsNumpy()
    if not isinstance(content, np.ndarray) or not content.size:
        return None
    if dtype.startswith("type ") or dtype == "resource":
        return content
    if sparsity is not None:
        return from_sparse(sparsity, content.view(np.dtype(dtype).newbyteorder("<")).astype(dtype), shape, where)
    wanted = math.prod(shape) * np.dtype(dtype).itemsize
    if wanted != content.nbytes or wanted > MAX_ARRAY_BYTES:
        raise ImportModelError(f"{where}: shape {shape} of {dtype} needs {wanted} bytes, the file has {content.nbytes}")
    return content.view(np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(shape)


def _operator(model: Any, table: Any, index: int, tensors: int) -> OperatorRecord:
    number = table.OpcodeIndex()
    if not 0 <= number < model.OperatorCodesLength():
        raise ImportModelError(f"operator {index} has code {number}; there are {model.OperatorCodesLength()}")
    code = model.OperatorCodes(number)
    builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    kind = _OPERATORS.get(builtin, f"operator code {builtin}")
    if kind == "CUSTOM":
        kind = f"CUSTOM ({_text(code.CustomCode())})"
    inputs, outputs = _numbers(table.InputsAsNumpy()), _numbers(table.OutputsAsNumpy())
    _check_indices(inputs, -1, tensors, f"operator {index} ({kind})")
    _check_indices(outputs, 0, tensors, f"operator {index} ({kind})")
    return OperatorRecord(kind, inputs, outputs, _options(table), _custom_options(table))


def _custom_options(table: Any) -> bytes:
    content = table.CustomOptionsAsNumpy()
    return content.tobytes() if isinstance(content, np.ndarray) else b""


def _options(table: Any) -> Any:
    kind = _OPTIONS.get(table.BuiltinOptionsType(), _NO_OPTIONS)
    content = table.BuiltinOptions()
    if kind == _NO_OPTIONS or content is None:
        return None
    options = schema(kind)()
    options.Init(content.Bytes, content.Pos)
    return options
