"""Workloads of kernels of GPUs, named as in the published records for NVIDIA's."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from vta.errors import TuningError
from vta.host.gpu.schedule import are_few
from vta.ir import names as ops
from vta.ir.graph import Node, call, constant, graph_input
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.quantized.qnn import base_attributes
from vta.records.workload import Workload, tensor_argument
from vta.support.shorten import shown

__all__ = ["BYTES", "CONVOLUTION", "DENSE", "DENSE_FEW", "DEPTHWISE", "WORKLOADS", "gpu_workload", "node_of"]

CONVOLUTION = "conv2d_nchw.cuda"
BYTES = "conv2d_NCHWc_int8.cuda"
"""Of int8 data and weights; the channels of both count as blocks of four."""
DEPTHWISE = "depthwise_conv2d_nchw.cuda"
DENSE = "dense_large_batch.gpu"
DENSE_FEW = "dense_small_batch.gpu"
"""Of few results, with long sums."""
WORKLOADS = (CONVOLUTION, BYTES, DEPTHWISE, DENSE, DENSE_FEW)
_FOUR = 4


def gpu_workload(node: Node) -> Workload | None:
    """The workload of an operator; None if its kernel has nothing to choose."""
    if len(node.inputs) < 2 or any(item.value is None for item in node.inputs[1:]):
        return None
    if node.op in (ops.DENSE, ops.QNN_DENSE):
        few = are_few(prod(node.shape), node.inputs[1].shape[1])
        return Workload(DENSE_FEW if few else DENSE, (*_tensors(node), None, node.dtype))
    if node.op not in (ops.CONV2D, ops.QNN_CONV2D):
        return None
    attrs = base_attributes(Conv2DAttributes, node.attrs)
    sizes = [tuple(int(size) for size in group) for group in (attrs.strides, attrs.padding, attrs.dilation)]
    data, weight = node.inputs
    if attrs.groups == 1 and weight.dtype == "int8":
        batch, channels, *size = data.shape
        packed = (batch, -(-channels // _FOUR), *size, _FOUR)
        outputs, inputs, *kernel = weight.shape
        blocks = (-(-outputs // _FOUR), -(-inputs // _FOUR), *kernel, _FOUR, _FOUR)
        tensors = (tensor_argument(packed, "int8"), tensor_argument(blocks, "int8"))
        return Workload(BYTES, (*tensors, *sizes, "NCHW4c", node.dtype))
    if attrs.groups == 1:
        return Workload(CONVOLUTION, (*_tensors(node), *sizes, node.dtype))
    if attrs.groups == data.shape[1] == node.shape[1]:
        return Workload(DEPTHWISE, (*_tensors(node), *sizes, node.dtype))
    return None


def _tensors(node: Node) -> tuple[Any, Any]:
    data, weight = node.inputs[:2]
    return tensor_argument(data.shape, data.dtype), tensor_argument(weight.shape, weight.dtype)


def node_of(workload: Workload) -> Node:
    """An operator of a workload, with random weights. Raises `TuningError` if it is none of a GPU's."""
    if workload.name not in WORKLOADS:
        raise TuningError(f"workload {shown(workload.name)} is none of a GPU's; allowed: {', '.join(WORKLOADS)}")
    try:
        (_, shape, dtype), (_, weights, kind), *rest = workload.args
        if workload.name in (DENSE, DENSE_FEW):
            return call(ops.DENSE, [graph_input("data", shape, dtype), _random(weights, kind)])
        strides, padding, dilation = rest[:3]
        if workload.name == BYTES:
            batch, blocks, high, wide, block = shape
            shape = (batch, blocks * block, high, wide)
            weights = (weights[0] * weights[4], weights[1] * weights[5], *weights[2:4])
        groups = shape[1] if workload.name == DEPTHWISE else 1
        attributes = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
        return call(ops.CONV2D, [graph_input("data", shape, dtype), _random(weights, kind)], **attributes)
    except (TypeError, ValueError) as error:
        raise TuningError(f"{workload.identity}: these are not the arguments of such an operator: {error}") from None


def _random(shape: tuple[int, ...], dtype: str) -> Node:
    rng = np.random.default_rng(0)
    values: Any = rng.standard_normal(shape) if dtype.startswith("float") else rng.integers(-127, 128, shape)
    return constant(values.astype(dtype))
