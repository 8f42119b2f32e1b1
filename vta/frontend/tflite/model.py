"""A TFLite file as plain records; every index and size is checked, so that what follows need not."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import MAX_ARRAY_BYTES, MOST_SHARED, faults_of
from vta.frontend.tflite.flat_table import FlatTable, FlatTables
from vta.frontend.tflite.options import Options
from vta.frontend.tflite.schema import schema
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


_LEVELS = {f"int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)} | {"uint8": (0, 255)}
"""Types of which values may stand for real numbers: the least and the largest of each."""


class _ModelField:
    """Fields of the table of a file: the offsets of their places."""

    OPERATOR_CODES, SUBGRAPHS, BUFFERS = 6, 8, 12


class _GraphField:
    TENSORS, INPUTS, OUTPUTS, OPERATORS = 4, 6, 8, 10


class _TensorField:
    SHAPE, TYPE, BUFFER, NAME, QUANTIZATION, IS_VARIABLE, SPARSITY, SHAPE_SIGNATURE = range(4, 20, 2)


class _QuantizationField:
    SCALE, ZERO_POINT, QUANTIZED_DIMENSION = 8, 10, 16


class _OperatorField:
    OPCODE_INDEX, INPUTS, OUTPUTS, BUILTIN_OPTIONS_TYPE, BUILTIN_OPTIONS, CUSTOM_OPTIONS = range(4, 16, 2)
    INTERMEDIATES = 20


class _CodeField:
    DEPRECATED_BUILTIN_CODE, CUSTOM_CODE, BUILTIN_CODE = 4, 6, 10


_BUFFER_DATA = 4


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
    options: Options
    """Those of the operator's kind; none, if they are another's."""
    custom: bytes = b""
    """The options of an operator that is not TFLite's own."""
    intermediates: tuple[int, ...] = ()
    """Tensors that say how values inside the operator stand for real numbers."""


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
        tables = _tables(FlatTable.root(content))
        if not tables.graphs:
            raise ImportModelError(f"{path}: the file holds no graph")
        main = _graph(tables, tables.graphs[0], len(content))
        if not main.inputs or not main.outputs or not main.operators:
            raise ImportModelError("the graph has no inputs, no outputs or no operators")
        return replace(main, called=_called(tables, main, len(content)))


@dataclass(frozen=True)
class _Tables:
    """What the graphs of a file share."""

    graphs: FlatTables
    buffers: FlatTables
    codes: FlatTables


def _tables(model: FlatTable) -> _Tables:
    lists = (_ModelField.SUBGRAPHS, _ModelField.BUFFERS, _ModelField.OPERATOR_CODES)
    return _Tables(*(model.tables(field) for field in lists))


def _called(tables: _Tables, main: Model, nbytes: int) -> dict[int, Model]:
    """By number the graphs that operators of the main one call, and those that they call."""
    found: dict[int, Model] = {}
    pending = [main]
    while pending:
        for record in pending.pop().operators:
            for number in called_graphs(record):
                if not 0 < number < len(tables.graphs):
                    raise ImportModelError(f"{record.kind} names graph {number}; the file has {len(tables.graphs)}")
                if number not in found:
                    found[number] = _graph(tables, tables.graphs[number], nbytes)
                    pending.append(found[number])
    return found


def called_graphs(record: OperatorRecord) -> tuple[int, ...]:
    """The numbers of the graphs that an operator calls."""
    return tuple(record.options[f"{which}SubgraphIndex"] for which in _CALLS.get(record.kind, ()))


def _graph(tables: _Tables, graph: FlatTable, nbytes: int) -> Model:
    for what, place in (("tensors", _GraphField.TENSORS), ("operators", _GraphField.OPERATORS)):
        count = graph.count(place)
        if count * _LEAST_TABLE_BYTES > nbytes:
            raise ImportModelError(f"lists {count} {what}; {nbytes} bytes have room for {nbytes // _LEAST_TABLE_BYTES}")
    listed = tuple(graph.tables(_GraphField.TENSORS))
    _check_room(tables, listed, nbytes)
    tensors = tuple(_tensor(tables, table, index) for index, table in enumerate(listed))
    records = graph.tables(_GraphField.OPERATORS)
    operators = tuple(_operator(tables, table, index, len(tensors)) for index, table in enumerate(records))
    inputs, outputs = graph.numbers(_GraphField.INPUTS), graph.numbers(_GraphField.OUTPUTS)
    _check_indices(inputs + outputs, 0, len(tensors), "the graph")
    return Model(tensors, operators, inputs, outputs)


def _check_room(tables: _Tables, tensors: Iterable[FlatTable], nbytes: int) -> None:
    """Refuse a file whose constants, which may refer to the same bytes, are far more than its `nbytes` bytes."""
    numbers = [tensor.uint32(_TensorField.BUFFER) for tensor in tensors]
    shared = sum(tables.buffers[number].count(_BUFFER_DATA) for number in numbers if number < len(tables.buffers))
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


def _check_indices(indices: tuple[int, ...], least: int, count: int, what: str) -> None:
    for index in indices:
        if not least <= index < count:
            raise ImportModelError(f"{what} names tensor {index}; there are {count}")


def _tensor(tables: _Tables, table: FlatTable, index: int) -> TensorRecord:
    name = table.text(_TensorField.NAME) or f"tensor_{index}"
    where = f"tensor {name!r}"
    shape = table.numbers(_TensorField.SHAPE)
    if len(shape) > _MAX_RANK or any(dim < 0 for dim in shape):
        raise ImportModelError(f"{where}: shape {shape} is negative or has more than {_MAX_RANK} dimensions")
    code = table.int8(_TensorField.TYPE)
    dtype = _DTYPES.get(code, f"type {code}")
    scales, zero_points, axis = _quantization(table.table(_TensorField.QUANTIZATION), dtype, where)
    value = _value(tables, table, shape, dtype, where)
    signature = table.numbers(_TensorField.SHAPE_SIGNATURE)
    signature = signature if len(signature) == len(shape) and min(signature, default=0) < 0 else ()
    return TensorRecord(name, shape, dtype, value, scales, zero_points, axis, table.flag(_TensorField.IS_VARIABLE), signature)


def _quantization(table: FlatTable | None, dtype: str, where: str) -> tuple[tuple[float, ...], tuple[int, ...], int]:
    """Scales, zero points and the axis that they vary along; a type that is never quantised has none, whatever is written."""
    if table is None or dtype not in _LEVELS:
        return (), (), 0
    scales: tuple[float, ...] = tuple(table.array(_QuantizationField.SCALE, "<f4").tolist())
    if not scales:
        return (), (), 0
    zero_points: tuple[int, ...] = tuple(table.array(_QuantizationField.ZERO_POINT, "<i8").tolist()) or (0,)
    for scale in scales:
        if not (scale > 0 and math.isfinite(scale)):
            raise ImportModelError(f"{where}: a scale is {scale}; scales are positive and finite")
    if len(zero_points) not in (1, len(scales)):
        raise ImportModelError(f"{where}: {len(scales)} scales but {len(zero_points)} zero points")
    least, most = _LEVELS[dtype]
    for zero_point in zero_points:
        if not least <= zero_point <= most:
            raise ImportModelError(f"{where}: a zero point is {zero_point}; those of {dtype} are {least} to {most}")
    return scales, zero_points, table.int32(_QuantizationField.QUANTIZED_DIMENSION)


def _value(tables: _Tables, table: FlatTable, shape: tuple[int, ...], dtype: str, where: str) -> NDArray[Any] | None:
    buffer = table.uint32(_TensorField.BUFFER)
    if buffer >= len(tables.buffers):
        raise ImportModelError(f"{where} names buffer {buffer}; there are {len(tables.buffers)}")
    content = tables.buffers[buffer].array(_BUFFER_DATA, np.uint8)
    if not content.size:
        return None
    if dtype.startswith("type ") or dtype == "resource":
        return content
    sparsity = table.target(_TensorField.SPARSITY)
    if sparsity is not None:
        from vta.frontend.tflite.sparse import from_sparse

        found = schema("SparsityParameters")()
        found.Init(table.content, sparsity)
        return from_sparse(found, content.view(np.dtype(dtype).newbyteorder("<")).astype(dtype), shape, where)
    wanted = math.prod(shape) * np.dtype(dtype).itemsize
    if wanted != content.nbytes or wanted > MAX_ARRAY_BYTES:
        raise ImportModelError(f"{where}: shape {shape} of {dtype} needs {wanted} bytes, the file has {content.nbytes}")
    return content.view(np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(shape)


def _operator(tables: _Tables, table: FlatTable, index: int, tensors: int) -> OperatorRecord:
    number = table.uint32(_OperatorField.OPCODE_INDEX)
    if number >= len(tables.codes):
        raise ImportModelError(f"operator {index} has code {number}; there are {len(tables.codes)}")
    code = tables.codes[number]
    builtin = max(code.int32(_CodeField.BUILTIN_CODE), code.int8(_CodeField.DEPRECATED_BUILTIN_CODE))
    kind = _OPERATORS.get(builtin, f"operator code {builtin}")
    if kind == "CUSTOM":
        kind = f"CUSTOM ({code.text(_CodeField.CUSTOM_CODE)})"
    inputs, outputs = table.numbers(_OperatorField.INPUTS), table.numbers(_OperatorField.OUTPUTS)
    _check_indices(inputs, -1, tensors, f"operator {index} ({kind})")
    _check_indices(outputs, 0, tensors, f"operator {index} ({kind})")
    intermediates = table.numbers(_OperatorField.INTERMEDIATES)
    _check_indices(intermediates, 0, tensors, f"operator {index} ({kind})")
    custom = table.array(_OperatorField.CUSTOM_OPTIONS, np.uint8).tobytes()
    return OperatorRecord(kind, inputs, outputs, _options(table), custom, intermediates)


def _options(table: FlatTable) -> Options:
    kind = _OPTIONS.get(table.uint8(_OperatorField.BUILTIN_OPTIONS_TYPE), _NO_OPTIONS)
    return Options(kind, table.table(_OperatorField.BUILTIN_OPTIONS))
