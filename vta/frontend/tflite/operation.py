"""What a converter sees of one TFLite operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import MAX_ARRAY_BYTES, UnsupportedNodeError
from vta.frontend._states import Variables
from vta.frontend.tflite.model import Model, OperatorRecord, TensorRecord
from vta.frontend.tflite.values import TO_FIRST, TO_LAST, channels_first, channels_last
from vta.ir import names as ops
from vta.ir.graph import Node, call, constant
from vta.ir.interpreter import evaluate_node
from vta.support.dataclass import dataclass

__all__ = ["Converter", "Operation", "Quantization", "is_quantized", "quantization_of"]

T = TypeVar("T")

QUANTIZED = ("int8", "uint8")
_UNSIGNED_OFFSET = 128


@dataclass(frozen=True)
class Quantization:
    """How int8 values stand for real numbers. An uint8 tensor is held as int8: values and zero point less 128."""

    scale: float
    zero_point: int


def is_quantized(tensor: TensorRecord) -> bool:
    """Whether the tensor holds int8 or uint8 values that stand for real numbers."""
    return tensor.dtype in QUANTIZED and bool(tensor.scales)


def quantization_of(tensor: TensorRecord) -> Quantization:
    """Return the one scale and zero point of a quantised activation."""
    if tensor.dtype == "int16" and tensor.scales:
        raise UnsupportedNodeError(
            f"tensor {tensor.name!r} holds quantised values of 16 bits (16x8 quantisation); those of 8 bits can be imported"
        )
    if not is_quantized(tensor):
        raise UnsupportedNodeError(f"tensor {tensor.name!r} is {tensor.dtype} and has no scale")
    if len(tensor.scales) != 1:
        raise UnsupportedNodeError(f"tensor {tensor.name!r} has {len(tensor.scales)} scales; an activation has one")
    offset = _UNSIGNED_OFFSET if tensor.dtype == "uint8" else 0
    return Quantization(tensor.scales[0], tensor.zero_points[0] - offset)


Inside = Callable[[int, Sequence[Node], bool], tuple[Node, ...]]
"""The outputs of a graph, by its number, for values of its inputs; and whether it may assign variables."""


@dataclass(frozen=True)
class Operation:
    """One operator: its inputs as values, its options, and the records of its tensors."""

    record: OperatorRecord
    name: str
    """The layer: what the file calls the first output."""
    model: Model
    values: Mapping[int, Node | None]
    """Values computed until now, rank 4 in NCHW, uint8 as int8; None where an operator could not be imported."""
    variables: Variables
    """What the network keeps; operators read and assign it."""
    initial: Mapping[str, NDArray[Any]]
    """What its variables hold before the first run."""
    inside: Inside
    """Gives the outputs of a graph that it calls."""

    @property
    def arity(self) -> int:
        """Number of inputs, absent ones included."""
        return len(self.record.inputs)

    def tensor(self, index: int = 0) -> TensorRecord:
        """Return the record of input `index`; raises `ImportModelError` if it is absent."""
        if index >= self.arity or self.record.inputs[index] < 0:
            raise ImportModelError(f"input {index} is missing")
        return self.model.tensors[self.record.inputs[index]]

    def output(self, index: int = 0) -> TensorRecord:
        """Return the record of output `index`."""
        return self.model.tensors[self.record.outputs[index]]

    def has(self, index: int) -> bool:
        """Whether input `index` is there."""
        return index < self.arity and self.record.inputs[index] >= 0

    def input(self, index: int = 0) -> Node:
        """Return the value of input `index`."""
        tensor = self.tensor(index)
        number = self.record.inputs[index]
        if number in self.values:
            value = self.values[number]
            if value is None:
                raise UnsupportedNodeError(f"reads {tensor.name!r}, which is not imported")
            return value
        if tensor.value is None:
            raise ImportModelError(f"reads {tensor.name!r}, which no operator before it computes")
        return self._constant_value(tensor)

    def _constant_value(self, tensor: TensorRecord) -> Node:
        assert tensor.value is not None
        value = tensor.value
        if value.dtype == np.float16:
            value = value.astype(np.float32)
        if value.dtype == np.uint8:
            value = (value.astype(np.int16) - _UNSIGNED_OFFSET).astype(np.int8)
        node = constant(value, tensor.name)
        return channels_first(self.apply, node) if len(node.shape) == 4 else node

    def array(self, index: int, what: str) -> NDArray[Any]:
        """Return the value of input `index` as the file has it; it must be constant, or follow from constants."""
        tensor = self.tensor(index)
        if tensor.value is not None:
            return tensor.value
        computed = self.values.get(self.record.inputs[index])
        if computed is None or computed.value is None:
            raise UnsupportedNodeError(f"{what} must be constant")
        return computed.value.transpose(TO_LAST) if computed.value.ndim == 4 else computed.value

    def numbers(self, index: int, what: str) -> tuple[int, ...]:
        """Return constant integers."""
        return tuple(int(value) for value in self.array(index, what).reshape(-1))

    def option(self, name: str) -> Any:
        """Return a field of the operator's options; raises `ImportModelError` if the options are missing or another's."""
        return self.record.options[name]

    def apply(self, op: str, *inputs: Node, **attributes: Any) -> Node:
        """Return a node of the graph that belongs to this layer; a constant if all `inputs` are."""
        node = call(op, inputs, name=self.name, **attributes)
        if op.startswith("qnn.") or not all(source.op == ops.CONSTANT for source in inputs):
            return node
        if node.type.nbytes > MAX_ARRAY_BYTES:
            raise ImportModelError(f"a constant of shape {node.shape} is too large")
        return self.constant(evaluate_node(node, [source.value for source in inputs if source.value is not None]))

    def constant(self, value: Any) -> Node:
        """Return a constant that belongs to this layer."""
        return constant(value, self.name)

    def in_file_layout(self, node: Node) -> Node:
        """Return a value as the file has it: rank 4 in NHWC."""
        return channels_last(self.apply, node) if len(node.shape) == 4 else node

    def from_file_layout(self, node: Node) -> Node:
        """Return a value in file layout in the layout of the graph."""
        return channels_first(self.apply, node) if len(node.shape) == 4 else node

    def reshaped(self, node: Node, shape: tuple[int, ...]) -> Node:
        """Return a value reshaped as the file has it, from the layout of the graph to that of the graph."""
        return self.from_file_layout(self.apply(ops.RESHAPE, self.in_file_layout(node), newshape=shape))

    def in_graph_order(self, values: Sequence[T]) -> tuple[T, ...]:
        """Return what the file has for each axis of a value in the order of the graph's axes."""
        return tuple(values[axis] for axis in TO_FIRST) if len(values) == 4 else tuple(values)

    def graph_axis(self, axis: int, rank: int) -> int:
        """Return the axis in the graph for one in the file."""
        if not -rank <= axis < rank:
            raise ImportModelError(f"axis {axis} is outside {rank} dimensions")
        return (0, 2, 3, 1)[axis % rank] if rank == 4 else axis % rank

    def real(self, index: int) -> Node:
        """Return input `index` as float32; integers that have no scale stay as they are."""
        node, tensor = self.input(index), self.tensor(index)
        if node.dtype == "float32" or tensor.dtype not in QUANTIZED:
            return node
        found = quantization_of(tensor)
        return self.apply(ops.QNN_DEQUANTIZE, node, scale=found.scale, zero_point=found.zero_point)

    def through_float(self, compute: Callable[..., Node]) -> Node:
        """Return compute(*inputs) on real numbers, quantised again where the output is."""
        return self.quantized(compute(*(self.real(index) for index in range(self.arity))))

    def quantized(self, result: Node) -> Node:
        """Return a real result as the output has it: quantised where that is."""
        if not is_quantized(self.output()):
            return result
        to = quantization_of(self.output())
        return self.apply(ops.QNN_QUANTIZE, result, scale=to.scale, zero_point=to.zero_point, rounding="tflite")


Converter = Callable[[Operation], Node | tuple[Node, ...]]
