"""Writes the nodes and constants of an ONNX graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from vta.errors import DeviceError
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["ModelWriter", "Tensor", "element_type", "refusal"]

_OPSET, _IR_VERSION = 18, 9
"""The oldest that have all that is written: integers, bit by bit."""


@dataclass(frozen=True)
class Tensor:
    """A value of the graph that is written."""

    name: str
    dtype: str


def element_type(dtype: str) -> int:
    """ONNX's number of a data type."""
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def refusal(node: Node, why: str) -> DeviceError:
    """The error of an operator that onnxruntime cannot compute as its reference does."""
    return DeviceError(f"onnxruntime cannot compute {node.op} {node.name!r}: {why}")


class ModelWriter:
    """A graph as far as it has been written."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._scalars: dict[tuple[str, str], Tensor] = {}

    def apply(self, kind: str, inputs: Sequence[Tensor], dtype: str, **attributes: Any) -> Tensor:
        """The result, of a data type, of one of ONNX's operators."""
        made = Tensor(f"v{len(self._nodes)}", dtype)
        self._add(kind, inputs, [made.name], attributes)
        return made

    def second(self, kind: str, inputs: Sequence[Tensor], dtype: str, **attributes: Any) -> Tensor:
        """The second result of one of ONNX's operators, of a data type."""
        made = Tensor(f"v{len(self._nodes)}", dtype)
        self._add(kind, inputs, [f"{made.name}_first", made.name], attributes)
        return made

    def _add(self, kind: str, inputs: Sequence[Tensor], outputs: Sequence[str], attributes: Mapping[str, Any]) -> None:
        self._nodes.append(helper.make_node(kind, [item.name for item in inputs], outputs, outputs[-1], **attributes))

    def constant(self, values: NDArray[Any]) -> Tensor:
        """An array."""
        made = Tensor(f"c{len(self._constants)}", values.dtype.name)
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values).reshape(values.shape), made.name))
        return made

    def scalar(self, value: float, dtype: str) -> Tensor:
        """A number."""
        key = (repr(value), dtype)
        if key not in self._scalars:
            self._scalars[key] = self.constant(np.array(value).astype(dtype))
        return self._scalars[key]

    def integers(self, values: Sequence[int]) -> Tensor:
        """A list of whole numbers, such as a shape."""
        return self.constant(np.asarray(values, np.int64))

    def cast(self, value: Tensor, dtype: str) -> Tensor:
        """A value in another data type."""
        return value if value.dtype == dtype else self.apply("Cast", [value], dtype, to=element_type(dtype))

    def reshape(self, value: Tensor, shape: Sequence[int]) -> Tensor:
        """The same elements in another shape."""
        return self.apply("Reshape", [value, self.integers(shape)], value.dtype, allowzero=1)

    def transpose(self, value: Tensor, axes: Sequence[int]) -> Tensor:
        """A value with its axes in another order."""
        return self.apply("Transpose", [value], value.dtype, perm=list(axes))

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        """A sum."""
        return self.apply("Add", [left, right], left.dtype)

    def model(self, inputs: Sequence[tuple[Tensor, Node]], outputs: Sequence[tuple[Tensor, Node]]) -> bytes:
        """The whole model: its inputs and outputs, with the nodes whose values they are."""
        ends = [self.apply("Identity", [tensor], node.dtype) for tensor, node in outputs]
        given = [helper.make_tensor_value_info(tensor.name, element_type(node.dtype), node.shape) for tensor, node in inputs]
        gives = [
            helper.make_tensor_value_info(end.name, element_type(node.dtype), node.shape)
            for end, (_, node) in zip(ends, outputs, strict=True)
        ]
        graph = helper.make_graph(self._nodes, "host", given, gives, self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
        return bytes(model.SerializeToString())
