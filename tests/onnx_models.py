"""Small ONNX models between quantised tensors, held to what ONNX gives for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from tests.onnx_oracle import onnx_values
from vta.frontend.onnx import import_onnx
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate

Array = NDArray[Any]


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array],
    constants: Mapping[str, Any],
    outputs: Sequence[str] | Mapping[str, Any] = ("y",),
    opset: int = 17,
    **more: Any,
) -> onnx.ModelProto:
    """A model whose inputs have the shapes and types of arrays; outputs are float32 where no NumPy type is given."""
    kinds = outputs if isinstance(outputs, Mapping) else dict.fromkeys(outputs, np.float32)
    graph = helper.make_graph(
        list(nodes),
        "net",
        [helper.make_tensor_value_info(name, _kind(value.dtype), value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, _kind(dtype), None) for name, dtype in kinds.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=[*opsets, *more.pop("opsets", [])], ir_version=10, **more)


def _kind(dtype: Any) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def check(network: onnx.ModelProto, feed: Mapping[str, Array], step: float = 0.0) -> Graph:
    """Import a model, hold its outputs to ONNX Runtime's within one `step`, the level of an output, and return the graph."""
    graph = import_onnx(network)
    for got, want in zip(evaluate(graph, feed), onnx_values(network, feed), strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1.01 * step + 1e-5)
    return graph


class Quantized:
    """A model that grows node by node; its values are float, behind pairs of quantisation and dequantisation."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Any] = {}

    def node(self, op: str, *inputs: str, outputs: Sequence[str] = (), **attributes: Any) -> str:
        """Add an operator and return the name of its first output."""
        names = list(outputs) or [f"v{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op}_{len(self.nodes)}", **attributes))
        return names[0]

    def constant(self, value: Any) -> str:
        """Add an initialiser and return its name."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def dequantized(self, levels: Any, scale: Any, zero: Any = None, **attributes: Any) -> str:
        """A dequantised constant."""
        names = [self.constant(levels), self.constant(np.asarray(scale, np.float32))]
        return self.node("DequantizeLinear", *names, *([] if zero is None else [self.constant(zero)]), **attributes)

    def pair(self, value: str, scale: float, zero: Any) -> str:
        """A value, quantised and dequantised."""
        with_scale = self.constant(np.float32(scale)), self.constant(zero)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", value, *with_scale), *with_scale)

    def model(self, inputs: Mapping[str, Array], output: str, **more: Any) -> onnx.ModelProto:
        """The model that computes the value called `output`."""
        return model(self.nodes, inputs, self.constants, [output], **more)
