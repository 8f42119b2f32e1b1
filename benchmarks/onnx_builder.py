"""Writes networks of published architectures as ONNX files, node by node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["OnnxBuilder"]


class OnnxBuilder:
    """Adds nodes to a graph; tensors are named by number."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def nodes(self, op: str, inputs: Sequence[str], outputs: int, **attributes: object) -> list[str]:
        """Add a node of several outputs, and return their names."""
        names = [f"t{len(self._nodes)}_{index}" for index in range(outputs)]
        self._nodes.append(helper.make_node(op, list(inputs), names, name=f"n{len(self._nodes)}", **attributes))
        return names

    def node(self, op: str, inputs: Sequence[str], **attributes: object) -> str:
        """Add a node of one output, and return its name."""
        return self.nodes(op, inputs, 1, **attributes)[0]

    def constant(self, values: NDArray[np.generic]) -> str:
        """Add a constant, and return its name."""
        self._constants.append(numpy_helper.from_array(values, f"c{len(self._constants)}"))
        return str(self._constants[-1].name)

    def model(self, name: str, given: tuple[str, Sequence[int]], *results: tuple[str, Sequence[int]]) -> onnx.ModelProto:
        """Return the network of one input and some outputs, each a name and a shape, float; checked."""
        ends = [helper.make_tensor_value_info(end, TensorProto.FLOAT, shape) for end, shape in (given, *results)]
        graph = helper.make_graph(self._nodes, name, ends[:1], ends[1:], self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        return model
