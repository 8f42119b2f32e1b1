"""From an ONNX model to a graph."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from numpy.typing import ArrayLike

from vta.errors import ImportModelError
from vta.frontend._errors import Problem, UnsupportedNodeError, faults_of, unsupported_nodes
from vta.frontend.onnx.converters import CONVERTERS
from vta.frontend.onnx.dynamic import with_real_products
from vta.frontend.onnx.external import check_external
from vta.frontend.onnx.inputs import fixed_inputs, model_inputs
from vta.frontend.onnx.known import evaluated
from vta.frontend.onnx.large_file import load_model
from vta.frontend.onnx.operation import Operation
from vta.frontend.onnx.schema_functions import function_of, nodes_of
from vta.frontend.onnx.structure import IndexedNode, inlined, kind_of, layer_name, names_read, nodes_in_order, sorted_nodes
from vta.frontend.onnx.tensors import WIDENED, declared_dtype, tensor_array
from vta.frontend.onnx.unsigned import as_signed, as_unsigned, real_inputs
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant
from vta.ir.interpreter import constant_value
from vta.passes.fuse_quantized import fuse_quantized
from vta.support.dataclass import dataclass

__all__ = ["import_onnx", "load_onnx"]

Shape = tuple[int, ...]

_OLDEST_OPSET = 1
_DEEPEST = 16
"""Graphs inside of each other."""


def load_onnx(
    path: Path,
    shapes: Mapping[str, Shape] | None = None,
    batch: int = 1,
    input_values: Mapping[str, ArrayLike] | None = None,
    *,
    static_ranges: bool = False,
) -> Graph:
    """Return the graph of an `.onnx` file; see `import_onnx`."""
    try:
        model = load_model(path)
    except (DecodeError, ValueError) as error:
        raise ImportModelError(f"{path}: not an ONNX file, or truncated: {error}") from None
    check_external(model, path)
    return import_onnx(model, shapes, path, path.parent, batch, input_values, static_ranges=static_ranges)


def import_onnx(
    model: onnx.ModelProto,
    shapes: Mapping[str, Shape] | None = None,
    path: object = "model",
    folder: Path | None = None,
    batch: int = 1,
    input_values: Mapping[str, ArrayLike] | None = None,
    *,
    static_ranges: bool = False,
) -> Graph:
    """Return the graph of an ONNX model of any operator set; its layers are named as the nodes of the model.

    It may be float, or quantised with QDQ, QLinear or integer operators; uint8 values are held as int8, less 128. A node
    without a name is called by its kind and position. Functions of the model are put in the place of their calls. `shapes`
    overrides the shapes of inputs; an open batch (the first dimension) is `batch` without, another open dimension must be given.
    An input of `input_values` is a constant of this value, as a condition may need it. With `static_ranges` layers that find the
    range of their data at run time are the float layers that they were made from (`vta.frontend.onnx.dynamic`).
    Raises `ImportModelError` naming the node, or all nodes that cannot be imported.
    """
    with faults_of(str(path)):
        opset = _opset(model, path)
        network = inlined(model, path).graph
        if static_ranges:
            network = with_real_products(network, folder)
        order = nodes_in_order(network, path)
        stored = {tensor.name for tensor in network.initializer}
        fixed = fixed_inputs(network.input, input_values or {}, path)
        given = (info for info in network.input if info.name not in stored and info.name not in fixed)
        inputs = model_inputs(given, shapes or {}, path, batch)
        values: dict[str, Node | None] = {name: _as_read(node) for name, node in inputs.items()}
        values.update(fixed)
        values.update(_initializers(network, path, folder))
        names = tuple(output.name for output in network.output)
        needed = _needed(order, names)
        # Shapes that others were given for the inputs tell nothing of what follows.
        declared = {} if shapes else dict(_declared_shapes(network))
        _Converting(opset, folder, declared, path).convert(needed, values)
        outputs = tuple(_as_declared(_output(values, output.name, path), output, path) for output in network.output)
        graph = Graph(tuple(inputs.values()), outputs, network.name or "main", names)
        return fuse_quantized(real_inputs(graph))


def _opset(model: onnx.ModelProto, path: object) -> int:
    if not model.graph.node or not model.graph.output:
        raise ImportModelError(f"{path}: not an ONNX model (it has no nodes or no outputs)")
    versions: list[int] = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if not versions or max(versions) < _OLDEST_OPSET:
        found = max(versions) if versions else "none"
        raise ImportModelError(f"{path}: operator set {found} cannot be imported; {_OLDEST_OPSET} is the oldest that can")
    return max(versions)


def _as_read(node: Node) -> Node:
    """An input as converters read it: floats are float32, and bytes are held as int8, once for all that read them."""
    if node.dtype in WIDENED:
        return call(ops.CAST, [node], node.name, dtype="float32")
    return as_unsigned(as_signed(node, node.name), node.name) if node.dtype == "uint8" else node


def _initializers(graph: onnx.GraphProto, path: object, folder: Path | None) -> Iterator[tuple[str, Node]]:
    if graph.sparse_initializer:
        raise ImportModelError(f"{path}: sparse initialisers cannot be imported")
    for tensor in graph.initializer:
        yield tensor.name, constant(_tensor(tensor, path, folder), tensor.name)


def _tensor(tensor: onnx.TensorProto, path: object, folder: Path | None) -> object:
    try:
        return tensor_array(tensor, folder)
    except ImportModelError as error:
        raise ImportModelError(f"{path}: {error}") from None


def _output(values: Mapping[str, Node | None], name: str, path: object) -> Node:
    node = values.get(name)
    if node is None:
        raise ImportModelError(f"{path}: output {name!r} is not computed by any node")
    return node


def _as_declared(node: Node, output: onnx.ValueInfoProto, path: object) -> Node:
    """An output in its own type: floats as wide as the model has them. Where bytes are held as int8, their conversion is called
    like the output."""
    if node.dtype == "uint8":
        return node if node.value is not None else as_unsigned(as_signed(node, output.name), output.name)
    code = output.type.tensor_type.elem_type
    try:
        declared = declared_dtype(code) if code else node.dtype
    except ImportModelError as error:
        raise ImportModelError(f"{path}: output {output.name!r}: {error}") from None
    if declared == node.dtype or declared.startswith("float") != node.dtype.startswith("float"):
        return node
    return call(ops.CAST, [node], node.name, dtype=declared)


def _declared_shapes(graph: onnx.GraphProto) -> Iterator[tuple[str, tuple[int | None, ...]]]:
    for info in (*graph.value_info, *graph.output):
        if info.type.tensor_type.HasField("shape"):
            yield info.name, tuple(dim.dim_value if dim.dim_value > 0 else None for dim in info.type.tensor_type.shape.dim)


def _needed(nodes: Sequence[IndexedNode], outputs: Iterable[str]) -> list[tuple[int, onnx.NodeProto, set[str]]]:
    """Return the nodes that `outputs` depend on, with position, and the names that are read of each, in order."""
    wanted = set(outputs)
    needed: list[tuple[int, onnx.NodeProto, set[str]]] = []
    for index, node in reversed(nodes):
        read: set[str] = wanted.intersection(node.output)
        if read:
            needed.append((index, node, read))
            wanted.update(names_read(node))
    return needed[::-1]


@dataclass(frozen=True)
class _Converting:
    """What is the same for all nodes of a model."""

    opset: int
    folder: Path | None
    declared: Mapping[str, tuple[int | None, ...]]
    path: object
    depth: int = 0
    prefix: str = ""
    """Of the names of layers."""

    def convert(self, nodes: Iterable[tuple[int, onnx.NodeProto, set[str]]], values: MutableMapping[str, Node | None]) -> None:
        """Add the outputs of nodes to the values that there are. Raises `ImportModelError` for all that cannot be imported."""
        problems: list[Problem] = []
        for index, proto, read in nodes:
            name = self.prefix + layer_name(index, proto)
            values.update(dict.fromkeys(output for output in proto.output if output))
            if any(values.get(source, True) is None for source in proto.input) and kind_of(proto) in CONVERTERS:
                continue
            inside = partial(self._inside, values)
            operation = Operation(proto, name, self.opset, values, self.folder, self.declared, inside)
            try:
                values.update(self._results(operation, read))
            except UnsupportedNodeError as error:
                problems.append(Problem(kind_of(proto), name, index, str(error)))
        if problems:
            raise unsupported_nodes(self.path, problems, CONVERTERS)

    def _results(self, node: Operation, read: set[str]) -> dict[str, Node]:
        """The outputs of a node, with all that are `read`: by its converter, or where it has none that takes it, as constants, or
        by the function of others that ONNX defines it as."""
        try:
            return _converted(node, read, self.path)
        except UnsupportedNodeError:
            found = _folded(node)
            if found is None or not read <= found.keys():
                found = self._by_definition(node, read)
            if found is None or not read <= found.keys():
                raise
            return found

    def _by_definition(self, node: Operation, read: set[str]) -> dict[str, Node] | None:
        """The outputs of a node as ONNX defines them by other operators; None where it does not."""
        given = [node.values.get(name) if name else None for name in node.proto.input]
        if any(value is None and name for value, name in zip(given, node.proto.input, strict=True)):
            return None
        function = function_of(node.proto, self.opset, given)
        if function is None:
            return None
        if self.depth == _DEEPEST:
            raise ImportModelError(f"{self.path}: {node.name}: functions inside of each other, more than {_DEEPEST}")
        present = ((name, value) for name, value in zip(function.input, given, strict=False) if value is not None)
        scope: dict[str, Node | None] = dict(present)
        called = dict(zip(node.proto.output, function.output, strict=False))
        nodes = _needed(nodes_of(function, node.proto), [name for output, name in called.items() if output in read])
        opset = next((entry.version for entry in function.opset_import if not entry.domain), self.opset)
        try:
            replace(self, opset=opset, declared={}, depth=self.depth + 1, prefix=f"{node.name}/").convert(nodes, scope)
        except ImportModelError as error:
            steps = " ".join(line.strip() for line in str(error).splitlines()[:2])
            raise UnsupportedNodeError(f"one of the operators that define it: {steps}") from None
        return {output: value for output, name in called.items() if (value := scope.get(name)) is not None}

    def _inside(
        self, values: Mapping[str, Node | None], body: onnx.GraphProto, given: Mapping[str, Node], name: str
    ) -> tuple[Node, ...]:
        """The outputs of a graph inside of a node, which sees the values around it."""
        if self.depth == _DEEPEST:
            raise ImportModelError(f"graphs inside of each other, more than {_DEEPEST}")
        scope: MutableMapping[str, Node | None] = ChainMap({}, dict(values))
        scope.update(_initializers(body, self.path, self.folder))
        scope.update(given)
        names = [output.name for output in body.output]
        nodes = _needed(sorted_nodes(list(enumerate(body.node)), self.path), names)
        replace(self, declared={}, depth=self.depth + 1, prefix=f"{name}/").convert(nodes, scope)
        return tuple(_output(scope, output, self.path) for output in names)


def _converted(node: Operation, read: set[str], path: object) -> dict[str, Node]:
    converter = CONVERTERS.get(kind_of(node.proto))
    if converter is None:
        raise UnsupportedNodeError("not a supported operator")
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
    return computed


def _folded(node: Operation) -> dict[str, Node] | None:
    """The outputs of a node that only reads what is known at import; None for others, and where nothing computes it."""
    sources = [node.values.get(name) if name else None for name in node.proto.input]
    if any(source is None and name for source, name in zip(sources, node.proto.input, strict=True)):
        return None
    known = [None if source is None else constant_value(source) for source in sources]
    if any(value is None and source is not None for value, source in zip(known, sources, strict=True)):
        return None
    found = evaluated(node.proto, node.opset, known)
    if found is None:
        return None
    return {name: node.constant(value) for name, value in zip(node.proto.output, found, strict=True) if value is not None}
