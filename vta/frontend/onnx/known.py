"""Nodes whose inputs are known at import and that no converter takes: ONNX's own evaluator computes them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from vta.frontend._errors import MAX_ARRAY_BYTES
from vta.frontend.onnx.tensors import as_imported

__all__ = ["RANDOM", "evaluated"]

Array = NDArray[Any]

RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")

_ROUNDED_BETWEEN = ("Attention",)
"""Operators whose steps inside are rounded to the type of their inputs, which is wider here for floats of 16 bits."""

_GRAPHS = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def evaluated(proto: onnx.NodeProto, opset: int, inputs: Sequence[Array | None]) -> tuple[Array | None, ...] | None:
    """Return the outputs of a node of ONNX's own operators for the values of its inputs (None: absent), in types that we have.

    None for outputs that are absent. None altogether where that cannot be: for an operator that ONNX's evaluator lacks or
    refuses, that draws random numbers, holds other graphs, or gives more than an importer may compute.
    """
    if (
        proto.op_type in (*RANDOM, *_ROUNDED_BETWEEN)
        or proto.domain not in ("", "ai.onnx")
        or any(a.type in _GRAPHS for a in proto.attribute)
    ):
        return None
    names = [f"i{index}" for index in range(len(inputs))]
    feed = {name: value for name, value in zip(names, inputs, strict=True) if value is not None}
    outputs = [f"o{index}" if name else "" for index, name in enumerate(proto.output)]
    node = onnx.NodeProto()
    node.CopyFrom(proto)
    del node.input[:], node.output[:]
    node.input.extend(name if name in feed else "" for name in names)
    node.output.extend(outputs)
    model = _model(node, opset, feed)
    if not _is_small(model):
        return None
    try:
        from onnx.reference import ReferenceEvaluator

        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = dict(zip(filter(None, outputs), ReferenceEvaluator(model).run(None, feed), strict=True))
        return tuple(as_imported(np.asarray(results[name])) if name else None for name in outputs)
    except Exception:  # What the evaluator raises has no common base, and the reason of the converter is the better one.
        return None


def _model(node: onnx.NodeProto, opset: int, feed: dict[str, Array]) -> onnx.ModelProto:
    kinds = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in feed.items()}
    inputs = [helper.make_tensor_value_info(name, kinds[name], value.shape) for name, value in feed.items()]
    results = [helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, results)
    # Shapes that depend on small values are inferred from them.
    small = [name for name, value in feed.items() if value.size <= 64]
    graph.initializer.extend(onnx.numpy_helper.from_array(feed[name], name) for name in small)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def _is_small(model: onnx.ModelProto) -> bool:
    """Whether the outputs, where their shapes can be told beforehand, are small enough."""
    try:
        shaped = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # The evaluator then says what is wrong, or computes it.
        return True
    for info in shaped.graph.output:
        dims = info.type.tensor_type.shape.dim
        if math.prod(dim.dim_value for dim in dims if dim.HasField("dim_value")) * 8 > MAX_ARRAY_BYTES:
            return False
    return True
