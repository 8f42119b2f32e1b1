"""Pooling."""

from __future__ import annotations

from typing import Any

from vta.frontend.tflite.converters._fused import activated, limits, same_quantization, window_padding
from vta.frontend.tflite.operation import Converter, Operation, quantization_of
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _geometry(node: Operation) -> dict[str, Any]:
    size = (node.option("FilterHeight"), node.option("FilterWidth"))
    strides = (node.option("StrideH"), node.option("StrideW"))
    return {"pool_size": size, "strides": strides, "padding": window_padding(node, node.input().shape, size, strides)}


def _average_pool(node: Operation) -> Node:
    if not same_quantization(node):
        return activated(node, node.apply(ops.AVG_POOL2D, node.input(), **_geometry(node)))
    to = quantization_of(node.output())
    return node.apply(
        ops.QNN_AVG_POOL2D,
        node.input(),
        input_scale=to.scale,
        input_zero_point=to.zero_point,
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="tflite_unsigned" if node.output().dtype == "uint8" else "tflite",
        **_geometry(node),
        **limits(node),
    )


def _max_pool(node: Operation) -> Node:
    quantized = same_quantization(node)
    pooled = node.apply(ops.MAX_POOL2D, node.input(), **_geometry(node))
    if not quantized:
        return activated(node, pooled)
    bounds = limits(node)
    return pooled if bounds == {"a_min": -128, "a_max": 127} else node.apply(ops.CLIP, pooled, **bounds)


CONVERTERS: dict[str, Converter] = {
    "AVERAGE_POOL_2D": _average_pool,
    "MAX_POOL_2D": _max_pool,
}
