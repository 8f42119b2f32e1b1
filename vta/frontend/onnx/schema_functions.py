"""Operators that ONNX itself defines as functions of others, such as Attention and RotaryEmbedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from vta.frontend.onnx.known import RANDOM
from vta.frontend.onnx.structure import IndexedNode
from vta.ir.graph import Node

__all__ = ["function_of", "nodes_of"]


def function_of(proto: onnx.NodeProto, opset: int, inputs: Sequence[Node | None]) -> onnx.FunctionProto | None:
    """Return the definition of a node's operator for the types of its `inputs` (None: absent); None where ONNX has none."""
    from onnx.defs import SchemaError, get_schema

    if proto.domain not in ("", "ai.onnx") or proto.op_type in RANDOM:
        return None
    try:
        schema: Any = get_schema(proto.op_type, opset, "")
        plain = [version for version in schema.function_opset_versions if version <= opset]
        if plain:
            return _parsed(schema.get_function_with_opset_version(max(plain)), schema)
        typed = [version for version in schema.context_dependent_function_opset_versions if version <= opset]
        if not typed:
            return None
        types = [_type_of(value).SerializeToString() for value in inputs]
        content = schema.get_context_dependent_function_with_opset_version(max(typed), proto.SerializeToString(), types)
        return _parsed(content, schema)
    except (SchemaError, RuntimeError, ValueError):
        # ONNX knows no such operator, or refuses the node, which is not imported then.
        return None


def nodes_of(function: onnx.FunctionProto, proto: onnx.NodeProto) -> list[IndexedNode]:
    """The nodes of a function as a call of it has them: with its attributes, and without what is absent of its inputs."""
    given = {attribute.name: attribute for attribute in (*function.attribute_proto, *proto.attribute)}
    absent = {name for at, name in enumerate(function.input) if at >= len(proto.input) or not proto.input[at]}
    return [(index, _in_call(node, given, absent)) for index, node in enumerate(function.node)]


def _in_call(node: onnx.NodeProto, given: dict[str, onnx.AttributeProto], absent: set[str]) -> onnx.NodeProto:
    found = onnx.NodeProto()
    found.CopyFrom(node)
    del found.input[:], found.attribute[:]
    found.input.extend("" if name in absent else name for name in node.input)
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            found.attribute.append(attribute)
        elif attribute.ref_attr_name in given:
            value = found.attribute.add()
            value.CopyFrom(given[attribute.ref_attr_name])
            value.name = attribute.name
    return found


def _type_of(value: Node | None) -> onnx.TypeProto:
    if value is None:
        return onnx.TypeProto()
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype)), value.shape)


def _parsed(content: bytes, schema: Any) -> onnx.FunctionProto | None:
    """A function with the defaults of its operator's attributes; None for one without content."""
    if not content:
        return None
    function = onnx.FunctionProto()
    function.ParseFromString(content)
    known = [attribute.default_value for attribute in schema.attributes.values()]
    function.attribute_proto.extend(value for value in known if value.type != onnx.AttributeProto.UNDEFINED)
    return function
