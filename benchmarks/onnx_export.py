"""Writes canonical float networks of layers, poolings, additions and moves as ONNX files, so that other tools can read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from benchmarks.onnx_builder import OnnxBuilder
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.nn.norm import AxisAttributes, SoftmaxAttributes
from vta.ir.ops.nn.pool import AvgPool2DAttributes, Pool2DAttributes
from vta.ir.ops.shape import ConcatenateAttributes, PadAttributes, TransposeAttributes

__all__ = ["exported"]

Array = NDArray[Any]
_End = tuple[str, tuple[int, ...]]


def exported(graph: Graph, name: str) -> onnx.ModelProto:
    """Return a network of one input as ONNX, whose input has the same name; outputs are in their order.

    A bias becomes part of its layer. An operator that is not among those written raises `ValueError`.
    """
    (source,) = graph.inputs
    writer = _Writer(graph)
    results = [(writer.node("Identity", [writer.name_of(output)]), output.shape) for output in graph.outputs]
    return writer.whole(name, (source.name, source.shape), results)


class _Writer(OnnxBuilder):
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._names: dict[Node, str] = {node: node.name for node in graph.inputs}
        users = graph.users()
        biases = {node.inputs[0]: node for node in graph.calls() if node.op == ops.BIAS_ADD}
        for node in graph.nodes():
            if node in self._names or node.value is not None:
                continue
            if node.op == ops.BIAS_ADD and node.inputs[0].op in (ops.CONV2D, ops.DENSE):
                self._names[node] = self._names[node.inputs[0]]
            elif node.op in (ops.CONV2D, ops.DENSE):
                bias = biases.get(node)
                if bias is not None and users[node] != [bias]:
                    raise ValueError(f"{node.name}: read with its bias and without")
                self._names[node] = self._layer(node, [] if bias is None else [self.constant(_values(bias.inputs[1]))])
            elif node.op in _WRITTEN:
                self._names[node] = _WRITTEN[node.op](self, node)
            else:
                raise ValueError(f"{node.name}: {node.op} is not written as ONNX")

    def name_of(self, node: Node) -> str:
        """The name of a value in the file; a constant is written where it is first read."""
        if node not in self._names:
            self._names[node] = self.constant(_values(node))
        return self._names[node]

    def whole(self, name: str, given: _End, results: Sequence[_End]) -> onnx.ModelProto:
        """The network, its shapes inferred."""
        return onnx.shape_inference.infer_shapes(self.model(name, given, *results))

    def _layer(self, node: Node, bias: list[str]) -> str:
        inputs = [self.name_of(node.inputs[0]), self.constant(_values(node.inputs[1])), *bias]
        if node.op == ops.DENSE:
            return self.node("Gemm", inputs, transB=1)
        attrs = attrs_of(node, Conv2DAttributes)
        shapes = {"strides": list(attrs.strides), "pads": list(attrs.padding), "dilations": list(attrs.dilation)}
        return self.node("Conv", inputs, group=attrs.groups, kernel_shape=list(node.inputs[1].shape[2:]), **shapes)

    def plain(self, op: str, node: Node, *constants: Array, **attributes: object) -> str:
        """An operator on all inputs of `node`, then on constants."""
        more = [self.constant(values) for values in constants]
        return self.node(op, [*(self.name_of(source) for source in node.inputs), *more], **attributes)


def _values(node: Node) -> Array:
    assert node.value is not None, f"{node.name}: weights are constants"
    return node.value


def _clip(writer: _Writer, node: Node) -> str:
    attrs = attrs_of(node, ClipAttributes)
    return writer.plain("Clip", node, np.array(attrs.a_min, np.float32), np.array(attrs.a_max, np.float32))


def _average(writer: _Writer, node: Node) -> str:
    attrs = attrs_of(node, AvgPool2DAttributes)
    return writer.plain("AveragePool", node, count_include_pad=int(attrs.count_include_pad), **_windows(attrs))


def _windows(attrs: Pool2DAttributes) -> dict[str, object]:
    sizes = {"kernel_shape": list(attrs.pool_size), "strides": list(attrs.strides), "pads": list(attrs.padding)}
    return {**sizes, "ceil_mode": int(attrs.ceil_mode)}


def _padded(writer: _Writer, node: Node) -> str:
    attrs = attrs_of(node, PadAttributes)
    widths = [*(before for before, _ in attrs.pad_width), *(after for _, after in attrs.pad_width)]
    return writer.plain("Pad", node, np.array(widths, np.int64), np.array(attrs.pad_value, np.float32))


def _sloped(writer: _Writer, node: Node) -> str:
    data, slope = node.inputs
    slopes = writer.constant(_values(slope).reshape(-1, *(1,) * (len(data.shape) - 2)))
    return writer.node("PRelu", [writer.name_of(data), slopes])


def _biased(writer: _Writer, node: Node) -> str:
    data, bias = node.inputs
    shape = [1] * len(data.shape)
    shape[attrs_of(node, AxisAttributes).axis] = -1
    return writer.node("Add", [writer.name_of(data), writer.constant(_values(bias).reshape(shape))])


_WRITTEN: dict[str, Callable[[_Writer, Node], str]] = {
    ops.ADD: lambda writer, node: writer.plain("Add", node),
    ops.BIAS_ADD: _biased,
    ops.MULTIPLY: lambda writer, node: writer.plain("Mul", node),
    ops.RELU: lambda writer, node: writer.plain("Relu", node),
    ops.CLIP: _clip,
    ops.AVG_POOL2D: _average,
    ops.CONCATENATE: lambda writer, node: writer.plain("Concat", node, axis=attrs_of(node, ConcatenateAttributes).axis),
    ops.GLOBAL_AVG_POOL2D: lambda writer, node: writer.plain("GlobalAveragePool", node),
    ops.MATMUL: lambda writer, node: writer.plain("MatMul", node),
    ops.MAX_POOL2D: lambda writer, node: writer.plain("MaxPool", node, **_windows(attrs_of(node, Pool2DAttributes))),
    ops.PAD: _padded,
    ops.PRELU: _sloped,
    ops.TRANSPOSE: lambda writer, node: writer.plain("Transpose", node, perm=list(attrs_of(node, TransposeAttributes).axes)),
    ops.SOFTMAX: lambda writer, node: writer.plain("Softmax", node, axis=attrs_of(node, SoftmaxAttributes).axis),
    ops.RESHAPE: lambda writer, node: writer.plain("Reshape", node, np.array(node.shape, np.int64)),
    ops.BATCH_FLATTEN: lambda writer, node: writer.plain("Reshape", node, np.array(node.shape, np.int64)),
}
