"""What a converter sees of one ONNX node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from vta.errors import GraphError, ImportModelError
from vta.frontend._errors import MAX_ARRAY_BYTES, UnsupportedNodeError
from vta.frontend.onnx.tensors import tensor_array
from vta.frontend.onnx.unsigned import BYTE_OFFSET, as_signed, as_unsigned
from vta.ir import names as ops
from vta.ir.graph import Node, call, constant
from vta.ir.interpreter import constant_value, evaluate_node
from vta.support.dataclass import dataclass

__all__ = ["MICROSOFT", "Converter", "Inside", "Operation"]

MICROSOFT = " (com.microsoft)"
"""What follows the names of operators that ONNX Runtime adds to ONNX."""

Array = NDArray[Any]

_KEEP_BYTES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (ops.BROADCAST_TO, ops.CONCATENATE, ops.EXPAND_DIMS, ops.RESHAPE, ops.SQUEEZE, ops.STRIDED_SLICE, ops.TAKE), ()
    ),
    **dict.fromkeys((ops.BATCH_FLATTEN, ops.GLOBAL_MAX_POOL2D, ops.MAX_POOL2D, ops.UPSAMPLING, ops.TRANSPOSE, ops.WHERE), ()),
    **dict.fromkeys((ops.ARGMAX, ops.ARGMIN, ops.MAX, ops.MAXIMUM, ops.MIN, ops.MINIMUM), ()),
    ops.CLIP: ("a_min", "a_max"),
    ops.PAD: ("pad_value",),
}
"""Operators that give the right bytes when all are less 128, and their attributes that are such a byte."""


@dataclass(frozen=True)
class Operation:
    """One node: its inputs as values, its attributes by type, and the version of its operator set."""

    proto: onnx.NodeProto
    name: str
    """The layer."""
    opset: int
    values: Mapping[str, Node | None]
    """Values computed until now; None where a node could not be imported."""
    folder: Path | None
    """Where external data is."""
    declared: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    """Shapes that the file declares for computed values; None for an open dimension."""
    inside: Inside | None = None
    """Imports a graph of an attribute."""

    @property
    def arity(self) -> int:
        """Number of inputs, absent ones included."""
        return len(self.proto.input)

    def optional(self, index: int) -> Node | None:
        """Return input `index`, or None if it is absent."""
        if index >= self.arity or not self.proto.input[index]:
            return None
        name = self.proto.input[index]
        if name not in self.values:
            raise ImportModelError(f"reads {name!r}, which no node before it computes")
        value = self.values[name]
        if value is None:
            raise UnsupportedNodeError(f"reads {name!r}, which is not imported")
        return value

    def input(self, index: int = 0) -> Node:
        """Return input `index`; raises `ImportModelError` if it is absent."""
        value = self.optional(index)
        if value is None:
            raise ImportModelError(f"input {index} is missing")
        return value

    def inputs(self) -> list[Node]:
        """Return all inputs; none may be absent."""
        return [self.input(index) for index in range(self.arity)]

    def array(self, index: int, what: str) -> Array | None:
        """Return the value of input `index`, which must be known at import; None if it is absent."""
        node = self.optional(index)
        value = None if node is None else constant_value(node)
        if node is not None and value is None:
            raise UnsupportedNodeError(f"{what} must be known at import, here they depend on an input of the network")
        return value

    def numbers(self, index: int, what: str) -> tuple[int, ...] | None:
        """Return input `index`, integers known at import, as a tuple; None if it is absent."""
        array = self.array(index, what)
        return None if array is None else tuple(int(v) for v in np.atleast_1d(array))

    def axes(self, rank: int, index: int, since: int) -> tuple[int, ...] | None:
        """Return `axes`, counted from the front: an attribute, and from version `since` on input `index`."""
        return self._from_front(rank, self.numbers(index, "axes") if self.opset >= since else self.integers("axes"))

    def listed_axes(self, rank: int) -> tuple[int, ...] | None:
        """Return the attribute `axes`, counted from the front."""
        return self._from_front(rank, self.integers("axes"))

    def declared_shape(self, rank: int) -> tuple[int | None, ...]:
        """Return what the file declares of the first output's shape, of `rank` dimensions."""
        shape = self.declared.get(self.proto.output[0], ())
        return shape if len(shape) == rank else (None,) * rank

    def _from_front(self, rank: int, axes: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if axes is None:
            return None
        if any(not -rank <= axis < rank for axis in axes):
            raise ImportModelError(f"axes {axes} must be in {-rank}..{rank - 1}")
        return tuple(axis % rank for axis in axes)

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer attribute; required where `default` is None."""
        value = self._attribute(name, default)
        if type(value) is not int:
            raise ImportModelError(f"attribute {name!r} must be an integer, got {value!r:.40}")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Return a float attribute; required where `default` is None."""
        value = self._attribute(name, default)
        if not isinstance(value, (int, float)):
            raise ImportModelError(f"attribute {name!r} must be a number, got {value!r:.40}")
        return float(value)

    def floats(self, name: str) -> tuple[float, ...]:
        """Return a list of floats; none if the attribute is absent."""
        value = self._attribute(name, ())
        if not isinstance(value, tuple) or not all(isinstance(entry, float) for entry in value):
            raise ImportModelError(f"attribute {name!r} must be a list of numbers, got {value!r:.40}")
        return value

    def text(self, name: str, default: str) -> str:
        """Return a text attribute."""
        value = self._attribute(name, default)
        if not isinstance(value, str):
            raise ImportModelError(f"attribute {name!r} must be text, got {value!r:.40}")
        return value

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return a list of integers; None if the attribute is absent."""
        value = self._found(name)
        if value is not None and not (isinstance(value, tuple) and all(type(item) is int for item in value)):
            raise ImportModelError(f"attribute {name!r} must be integers, got {value!r:.40}")
        return value

    def attribute(self, name: str) -> Any:
        """Return an attribute as number, text, tuple or array; None if it is absent."""
        return self._found(name)

    def apply(self, op: str, *inputs: Node, **attributes: Any) -> Node:
        """Return a node of the graph that belongs to this layer; a constant if all `inputs` are.

        Operators that move or order values take unsigned bytes as int8, less 128, and their result is that of uint8 again.
        """
        fixed = all(source.op == ops.CONSTANT for source in inputs)
        if not fixed and op in _KEEP_BYTES and any(source.dtype == "uint8" for source in inputs):
            return self._apply_to_bytes(op, inputs, attributes)
        try:
            node = call(op, inputs, name=self.name, **attributes)
        except GraphError:
            if all(source.dtype != "uint8" for source in inputs):
                raise
            raise UnsupportedNodeError(f"{op.removeprefix('nn.')} of unsigned bytes (uint8)") from None
        if op.startswith("qnn.") or not fixed:
            return node
        if node.type.nbytes > MAX_ARRAY_BYTES:
            raise ImportModelError(f"a constant of shape {node.shape} is too large")
        return self.constant(evaluate_node(node, [source.value for source in inputs if source.value is not None]))

    def constant(self, value: Any) -> Node:
        """Return a constant that belongs to this layer."""
        return constant(value, self.name)

    def typed(self, value: Node, dtype: str) -> Node:
        """Return an int8 `value` as the uint8 one that it stands for, 128 more, if `dtype`, its type in the file, is uint8."""
        return as_unsigned(value, self.name) if dtype == "uint8" else value

    def held(self, value: Node) -> Node:
        """Return unsigned bytes as int8, less 128; other values as they are."""
        return as_signed(value, self.name)

    def _apply_to_bytes(self, op: str, inputs: tuple[Node, ...], attributes: dict[str, Any]) -> Node:
        for name in _KEEP_BYTES[op]:
            attributes[name] = attributes[name] - BYTE_OFFSET
        value = call(op, [self.held(source) for source in inputs], name=self.name, **attributes)
        return self.typed(value, "uint8" if value.dtype == "int8" else value.dtype)

    def graph(self, name: str) -> onnx.GraphProto:
        """Return the graph of an attribute."""
        for attribute in self.proto.attribute:
            if attribute.name == name and attribute.type == onnx.AttributeProto.GRAPH:
                body: onnx.GraphProto = attribute.g
                return body
        raise ImportModelError(f"attribute {name!r}, a graph, is missing")

    def _attribute(self, name: str, default: Any) -> Any:
        value = self._found(name)
        if value is None:
            value = default
        if value is None:
            raise ImportModelError(f"attribute {name!r} is missing")
        return value

    def _found(self, name: str) -> Any:
        for attribute in self.proto.attribute:
            if attribute.name == name:
                return self._value(attribute)
        return None

    def _value(self, attribute: onnx.AttributeProto) -> Any:
        kind = onnx.AttributeProto
        match attribute.type:
            case kind.INT:
                return attribute.i
            case kind.FLOAT:
                return attribute.f
            case kind.STRING:
                return attribute.s.decode()
            case kind.INTS:
                return tuple(attribute.ints)
            case kind.FLOATS:
                return tuple(attribute.floats)
            case kind.STRINGS:
                return tuple(item.decode() for item in attribute.strings)
            case kind.TENSOR:
                return tensor_array(attribute.t, self.folder)
        raise UnsupportedNodeError(f"attribute {attribute.name!r} of a kind that cannot be imported")


Inside = Callable[[onnx.GraphProto, Mapping[str, Node], str], tuple[Node, ...]]
"""Gives the outputs of a graph inside of a node, for its inputs by name; the text is what its layers' names begin with."""

Converter = Callable[[Operation], Node | tuple[Node, ...]]
