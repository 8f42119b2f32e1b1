"""From an ONNX model to a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from vta.errors import ImportModelError
from vta.frontend._errors import Problem, UnsupportedNodeError, faults_of, unsupported_nodes
from vta.frontend._files import read_bytes
from vta.frontend._layers import flipped
from vta.frontend.onnx.converters import CONVERTERS
from vta.frontend.onnx.operation import Converter, Operation
from vta.frontend.onnx.tensors import WIDENED, declared_dtype, tensor_array
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.passes.fuse_quantised import fuse_quantised

__all__ = ["import_onnx", "load_onnx"]

Shape = tuple[int, ...]

_DEFAULT_DOMAINS = ("", "ai.onnx")
_OLDEST_OPSET = 1


def load_onnx(path: Path, shapes: Mapping[str, Shape] | None = None, batch: int = 1) -> Graph:
    """Return the graph of an `.onnx` file; see `import_onnx`."""
    try:
        model = onnx.load_model_from_string(read_bytes(path))
    except (DecodeError, ValueError) as error:
        raise ImportModelError(f"{path}: not an ONNX file, or truncated: {error}") from None
    return import_onnx(model, shapes, path, path.parent, batch)


def import_onnx(
    model: onnx.ModelProto,
    shapes: Mapping[str, Shape] | None = None,
    path: object = "model",
    folder: Path | None = None,
    batch: int = 1,
) -> Graph:
    """Return the graph of an ONNX model of any operator set; its layers are named as the nodes of the model.

    It may be float, or quantised with QDQ, QLinear or integer operators; uint8 values are held as int8, less 128. A node
    without a name is called by its kind and position. `shapes` overrides the shapes of inputs; an open batch (the first
    dimension) is `batch` without, another open dimension must be given. Raises `ImportModelError` naming the node, or all nodes
    that cannot be imported.
    """
    with faults_of(str(path)):
        opset = _opset(model, path)
        values = _given(model.graph, dict(shapes or {}), path, folder, batch)
        inputs = tuple(node for node in values.values() if node is not None and node.value is None)
        held = {node.name: flipped(node, "int8", node.name) for node in inputs if node.dtype == "uint8"}
        values.update({node.name: call("cast", [node], node.name, dtype="float32") for node in inputs if node.dtype in WIDENED})
        values.update(held)
        unsigned = set(held.values())
        _convert_nodes(model.graph, opset, values, path, folder, unsigned)
        outputs = tuple(_as_declared(_output(values, output.name, path), output, unsigned) for output in model.graph.output)
        names = tuple(output.name for output in model.graph.output)
        return fuse_quantised(Graph(inputs, outputs, model.graph.name or "main", names))


def _opset(model: onnx.ModelProto, path: object) -> int:
    if not model.graph.node or not model.graph.output:
        raise ImportModelError(f"{path}: not an ONNX model (it has no nodes or no outputs)")
    versions: list[int] = [entry.version for entry in model.opset_import if entry.domain in _DEFAULT_DOMAINS]
    if not versions or max(versions) < _OLDEST_OPSET:
        found = max(versions) if versions else "none"
        raise ImportModelError(f"{path}: operator set {found} cannot be imported; {_OLDEST_OPSET} is the oldest that can")
    return max(versions)


def _given(
    graph: onnx.GraphProto, shapes: dict[str, Shape], path: object, folder: Path | None, batch: int
) -> dict[str, Node | None]:
    """Return the values that the nodes start from: inputs, and initialisers (which old files list as inputs too)."""
    values: dict[str, Node | None] = {}
    initialisers = {tensor.name for tensor in graph.initializer}
    for info in graph.input:
        if info.name not in initialisers:
            with faults_of(f"{path}: input {info.name!r}"):
                shape = _input_shape(info, shapes.pop(info.name, None), path, batch)
                values[info.name] = graph_input(info.name, shape, _input_dtype(info, path))
    if shapes:
        raise ImportModelError(f"{path}: no input is called {', '.join(shapes)}; inputs are {', '.join(values)}")
    if graph.sparse_initializer:
        raise ImportModelError(f"{path}: sparse initialisers cannot be imported")
    for tensor in graph.initializer:
        values[tensor.name] = constant(_tensor(tensor, path, folder), tensor.name)
    return values


def _tensor(tensor: onnx.TensorProto, path: object, folder: Path | None) -> object:
    try:
        return tensor_array(tensor, folder)
    except ImportModelError as error:
        raise ImportModelError(f"{path}: {error}") from None


def _input_dtype(info: onnx.ValueInfoProto, path: object) -> str:
    if not info.type.HasField("tensor_type"):
        raise ImportModelError(f"{path}: input {info.name!r} is not a tensor")
    try:
        return declared_dtype(info.type.tensor_type.elem_type)
    except ImportModelError as error:
        raise ImportModelError(f"{path}: input {info.name!r}: {error}") from None


def _input_shape(info: onnx.ValueInfoProto, given: Shape | None, path: object, batch: int) -> Shape:
    where = f"{path}: input {info.name!r}"
    tensor = info.type.tensor_type
    if given is not None:
        if tensor.HasField("shape") and len(tensor.shape.dim) != len(given):
            raise ImportModelError(f"{where} has {len(tensor.shape.dim)} dimensions, the given shape is {given}")
        return tuple(given)
    if not tensor.HasField("shape"):
        raise ImportModelError(f"{where} has no shape in the file; give {_how_to_shape(info.name)}")
    dims: list[int] = []
    for axis, dim in enumerate(tensor.shape.dim):
        size = dim.dim_value or (batch if axis == 0 else 0)
        if size <= 0:
            label = dim.dim_param or "unknown"
            raise ImportModelError(f"{where}: dimension {axis} ({label}) is open; give {_how_to_shape(info.name)}")
        dims.append(size)
    return tuple(dims)


def _output(values: Mapping[str, Node | None], name: str, path: object) -> Node:
    node = values.get(name)
    if node is None:
        raise ImportModelError(f"{path}: output {name!r} is not computed by any node")
    return node


def _as_declared(node: Node, output: onnx.ValueInfoProto, unsigned: set[Node]) -> Node:
    """An output in its own type: bytes that are held as int8 are uint8 again, and floats as wide as the model has them."""
    if node in unsigned:
        return flipped(node, "uint8", output.name)
    code = output.type.tensor_type.elem_type
    declared = declared_dtype(code) if code else node.dtype
    if declared == node.dtype or declared.startswith("float") != node.dtype.startswith("float"):
        return node
    return call("cast", [node], node.name, dtype=declared)


def _needed(graph: onnx.GraphProto) -> Iterator[tuple[int, onnx.NodeProto, set[str]]]:
    """Yield the nodes that the outputs depend on, with position, and the names that are read of each, in order."""
    wanted = {output.name for output in graph.output}
    needed: list[tuple[int, onnx.NodeProto, set[str]]] = []
    for index in range(len(graph.node) - 1, -1, -1):
        node = graph.node[index]
        read: set[str] = wanted.intersection(node.output)
        if read:
            needed.append((index, node, read))
            wanted.update(name for name in node.input if name)
    return reversed(needed)


def _convert_nodes(
    graph: onnx.GraphProto,
    opset: int,
    values: dict[str, Node | None],
    path: object,
    folder: Path | None,
    unsigned: set[Node],
) -> None:
    problems: list[Problem] = []
    for index, proto, read in _needed(graph):
        name = proto.name or f"{proto.op_type}_{index}"
        kind = proto.op_type if proto.domain in _DEFAULT_DOMAINS else f"{proto.op_type} ({proto.domain})"
        converter = CONVERTERS.get(kind)
        values.update(dict.fromkeys(output for output in proto.output if output))
        if converter is None:
            problems.append(Problem(kind, name, index, "not a supported operator"))
        elif all(values.get(source, True) is not None for source in proto.input):
            try:
                _convert(converter, Operation(proto, name, opset, values, folder, unsigned), read, values, path)
            except UnsupportedNodeError as error:
                problems.append(Problem(kind, name, index, str(error)))
    if problems:
        raise unsupported_nodes(path, problems, CONVERTERS)


def _convert(converter: Converter, node: Operation, read: set[str], values: dict[str, Node | None], path: object) -> None:
    where = f"{path}: {node.proto.op_type} {node.name!r}"
    with faults_of(where):
        try:
            result = converter(node)
        except ImportModelError as error:
            raise ImportModelError(f"{where}: {error}") from None
    results = result if isinstance(result, tuple) else (result,)
    computed = dict(zip(node.proto.output, results, strict=False))
    missing = read.difference(computed)
    if missing:
        raise UnsupportedNodeError(f"output {list(node.proto.output).index(min(missing))} is used, it is not computed here")
    values.update(computed)


def _how_to_shape(name: str) -> str:
    return f"shapes={{{name!r}: (...)}}, on the command line --input-shape {name}=..."
