"""From a TFLite model to a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError, ImportModelError
from vta.frontend._errors import Problem, UnsupportedNodeError, faults_of, unsupported_nodes
from vta.frontend._files import read_bytes
from vta.frontend._layers import Apply, flipped
from vta.frontend._states import Variables
from vta.frontend.tflite.converters import CONVERTERS
from vta.frontend.tflite.initial_values import initial_values
from vta.frontend.tflite.model import Model, TensorRecord, damaged_tables, read_model
from vta.frontend.tflite.open_shapes import computed, opened, with_inputs
from vta.frontend.tflite.operation import QUANTIZED, Converter, Operation, is_quantized
from vta.frontend.tflite.values import channels_first, channels_last
from vta.ir.graph import Graph, Node, call, graph_input
from vta.support.dataclass import dataclass

__all__ = ["import_tflite", "load_tflite"]

Shape = tuple[int, ...]

_DTYPES = ("float32", "int8", "uint8", "int32", "int64", "bool")
_DEEPEST = 16
"""Graphs that call each other."""


def load_tflite(path: Path, shapes: Mapping[str, Shape] | None = None) -> Graph:
    """Return the graph of a `.tflite` file; see `import_tflite`."""
    return import_tflite(read_bytes(path), shapes, path)


def import_tflite(content: bytes, shapes: Mapping[str, Shape] | None = None, path: object = "model") -> Graph:
    """Return the graph of a TFLite model: float, or in the quantised dialect with TFLite's rounding.

    Inputs and outputs have the names, shapes (NHWC) and types of the file; between them images are NCHW and uint8 values are
    held as int8, less 128. Layers are named as their output tensors, up to the first semicolon where that tells them apart:
    converters join the names of all that they fused. `shapes` may change the batch size, and dimensions that the file leaves
    open. Raises `ImportModelError` naming the operator, or all operators that cannot be imported.
    """
    model = read_model(content, path)
    resized = opened(model, shapes or {})
    if resized and shapes:
        model, shapes = with_inputs(model, shapes, path), None
    with faults_of(str(path)), damaged_tables(path), np.errstate(all="ignore"):
        _check_kinds(model, path)
        values: dict[int, Node | None] = {}
        inputs = tuple(_input(model, number, values, path) for number in model.inputs)
        variables = Variables()
        _Converting(model.called, variables, initial_values(model), path, resized=resized).convert(model, values)
        outputs = tuple(_output(model, number, values, path) for number in model.outputs)
        graph = variables.completed(Graph(inputs, outputs, output_names=_output_names(model)))
        return _resized(graph, dict(shapes or {}), path)


def _resized(graph: Graph, shapes: dict[str, Shape], path: object) -> Graph:
    sizes = set()
    for node in graph.arguments:
        shape = tuple(shapes.pop(node.name, node.shape))
        if shape[1:] != node.shape[1:] or len(shape) != len(node.shape):
            raise ImportModelError(
                f"{path}: input {node.name!r} has shape {node.shape}; only its batch can be changed, not {shape}"
            )
        sizes.add(shape[:1])
    if shapes:
        names = ", ".join(node.name for node in graph.arguments)
        raise ImportModelError(f"{path}: no input is called {', '.join(shapes)}; inputs are {names}")
    if sizes == {node.shape[:1] for node in graph.arguments}:
        return graph
    if len(sizes) != 1:
        raise ImportModelError(f"{path}: the given shapes have different batch sizes")
    from vta.ir.transforms.batch import with_batch

    try:
        return with_batch(graph, sizes.pop()[0])
    except GraphError as error:
        raise ImportModelError(f"{path}: {error}") from None


def _input(model: Model, number: int, values: dict[int, Node | None], path: object) -> Node:
    tensor = model.tensors[number]
    if tensor.dtype == "int16" and tensor.scales:
        raise ImportModelError(
            f"{path}: input {tensor.name!r} holds quantised values of 16 bits (16x8 quantisation); those of 8 bits are imported"
        )
    if tensor.dtype not in _DTYPES or min(tensor.shape, default=1) < 1:
        raise ImportModelError(
            f"{path}: input {tensor.name!r} is {tensor.dtype} of shape {tensor.shape}; "
            f"inputs that can be imported: {', '.join(_DTYPES)}, no dimension open or 0"
        )
    node = graph_input(tensor.name, tensor.shape, tensor.dtype)
    value = flipped(node, "int8", tensor.name) if tensor.dtype == "uint8" else node
    values[number] = channels_first(_named(tensor.name), value) if len(tensor.shape) == 4 else value
    return node


def _output(model: Model, number: int, values: dict[int, Node | None], path: object) -> Node:
    tensor, node = model.tensors[number], values.get(number)
    if node is None:
        raise ImportModelError(f"{path}: output {tensor.name!r} is not computed by any operator")
    if tensor.dtype not in _DTYPES:
        raise ImportModelError(f"{path}: output {tensor.name!r} is {tensor.dtype}, which cannot be imported")
    if len(node.shape) == 4:
        node = channels_last(_named(tensor.name), node)
    return flipped(node, "uint8", tensor.name) if tensor.dtype == "uint8" else node


def _output_names(model: Model) -> tuple[str, ...]:
    return tuple(model.tensors[number].name for number in model.outputs)


def _named(name: str) -> Apply:
    def apply(op: str, *inputs: Node, **attributes: object) -> Node:
        return call(op, inputs, name, **attributes)

    return apply


def _layer_names(model: Model) -> list[str]:
    """A name for each operator, short where it can be."""
    outputs = [model.tensors[record.outputs[0]].name if record.outputs else "" for record in model.operators]
    short = [name.split(";")[0] for name in outputs]
    repeated = Counter(short)
    pairs = zip(model.operators, outputs, short, strict=True)
    names = [brief if repeated[brief] == 1 else whole for _, whole, brief in pairs]
    return [name or f"{record.kind}_{index}" for index, (name, record) in enumerate(zip(names, model.operators, strict=True))]


def _check_kinds(main: Model, path: object) -> None:
    problems = [
        Problem(record.kind, name, index, "not a supported operator")
        for model in (main, *main.called.values())
        for index, (record, name) in enumerate(zip(model.operators, _layer_names(model), strict=True))
        if record.kind not in CONVERTERS
    ]
    if problems:
        raise unsupported_nodes(path, problems, CONVERTERS)


@dataclass(frozen=True)
class _Converting:
    """What is the same for all graphs of a file."""

    graphs: Mapping[int, Model]
    variables: Variables
    initial: Mapping[str, NDArray[Any]]
    path: object
    depth: int = 0
    resized: bool = False
    """Whether the shapes of the file are those of other inputs."""

    def convert(self, model: Model, values: dict[int, Node | None]) -> None:
        """Add what the operators of a graph compute. Raises `ImportModelError` for all that cannot be imported."""
        problems: list[Problem] = []
        for index, (record, name) in enumerate(zip(model.operators, _layer_names(model), strict=True)):
            values.update(dict.fromkeys(record.outputs))
            if any(values.get(source, True) is None for source in record.inputs):
                continue
            model = computed(model, record, values) if self.resized else model
            operation = Operation(record, name, model, values, self.variables, self.initial, self._inside)
            try:
                _convert(CONVERTERS[record.kind], operation, values, self.path)
            except UnsupportedNodeError as error:
                problems.append(Problem(record.kind, name, index, str(error)))
        if problems:
            raise unsupported_nodes(self.path, problems, CONVERTERS)

    def _inside(self, number: int, given: Sequence[Node], assigns: bool) -> tuple[Node, ...]:
        """The outputs of a graph that an operator calls."""
        if self.depth == _DEEPEST:
            raise ImportModelError(f"graphs that call each other, more than {_DEEPEST}")
        model = self.graphs[number]
        if len(model.inputs) != len(given):
            raise ImportModelError(f"graph {number} takes {len(model.inputs)} inputs, got {len(given)}")
        values: dict[int, Node | None] = dict(zip(model.inputs, given, strict=True))
        variables = self.variables if assigns else Variables(closed=True)
        replace(self, depth=self.depth + 1, variables=variables).convert(model, values)
        found = [values.get(output) for output in model.outputs]
        if any(node is None for node in found):
            raise ImportModelError(f"graph {number} has an output that no operator computes")
        return tuple(node for node in found if node is not None)


def _convert(converter: Converter, node: Operation, values: dict[int, Node | None], path: object) -> None:
    where = f"{path}: {node.record.kind} {node.name!r}"
    with faults_of(where):
        try:
            result = converter(node)
            results = result if isinstance(result, tuple) else (result,)
            for number, value in zip(node.record.outputs, results, strict=True):
                _check_type(value, node.model.tensors[number])
                values[number] = value
        except ImportModelError as error:
            raise ImportModelError(f"{where}: {error}") from None


def _check_type(value: Node, declared: TensorRecord) -> None:
    """What a converter computes must have the shape and type that the file declares; what a handle stands for is not computed."""
    if declared.dtype == "resource":
        return
    shape = value.shape if len(value.shape) != 4 else tuple(value.shape[axis] for axis in (0, 2, 3, 1))
    dtype = "int8" if declared.dtype in QUANTIZED and is_quantized(declared) else declared.dtype
    if dtype == "float16" and value.value is not None:
        # Constants are in single precision from the start.
        dtype = "float32"
    wanted = declared.shape
    if wanted and (len(shape) != len(wanted) or any(size not in (given, -1) for size, given in zip(wanted, shape, strict=True))):
        raise ImportModelError(f"the output has shape {shape}, the file says {wanted}")
    if value.dtype != dtype:
        raise UnsupportedNodeError(f"its output is {declared.dtype}; this operator gives {value.dtype} here")
