"""From a description to an ONNX model."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from vta.testing.import_fuzz.description import Array, Description, Step, Value

__all__ = ["attribute_proto", "element_type", "onnx_model"]

_TYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "int16": TensorProto.INT16,
    "uint16": TensorProto.UINT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}

_MICROSOFT = "com.microsoft"


def element_type(dtype: str) -> int:
    """Return ONNX's code of a data type."""
    return int(_TYPES[dtype])


def attribute_proto(name: str, value: Any) -> AttributeProto:
    """Return an attribute; an array is a tensor."""
    return helper.make_attribute(name, numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value)


def onnx_model(net: Description, every_value: bool = False) -> onnx.ModelProto:
    """Return the model; with `every_value` all values that steps compute are outputs, in their order after the real ones."""
    constants = [net.values[name] for name in net.constants()]
    listed = [value for value in constants if value.style != "node"]
    inputs = [_info(net.values[name]) for name in net.inputs]
    inputs += [_info(value) for value in listed if value.style == "input"]
    outputs = list(net.outputs)
    if every_value:
        outputs += [name for name in net.computed() if name not in net.outputs]
    nodes = [_constant_node(value) for value in constants if value.style == "node"]
    graph = helper.make_graph(
        [*nodes, *(_node(step) for step in net.steps)],
        "net",
        inputs,
        [_output(net.values[name], declared=not every_value) for name in outputs],
        [numpy_helper.from_array(_data(value), value.name) for value in listed],
    )
    domains = {step.domain for step in net.steps} - {""}
    opsets = [helper.make_opsetid("", net.opset), *(helper.make_opsetid(domain, 1) for domain in sorted(domains))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=net.ir_version, producer_name="")


def _node(step: Step) -> onnx.NodeProto:
    node = helper.make_node(step.kind, step.inputs, step.outputs, name=step.name, domain=step.domain)
    node.attribute.extend(attribute_proto(name, value) for name, value in step.attributes.items())
    return node


def _constant_node(value: Value) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [value.name], value=numpy_helper.from_array(_data(value)))


def _data(value: Value) -> Array:
    assert value.data is not None
    return value.data


def _info(value: Value) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(value.name, element_type(value.dtype), value.shape)


def _output(value: Value, declared: bool) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(value.name, element_type(value.dtype), value.shape if declared else None)
