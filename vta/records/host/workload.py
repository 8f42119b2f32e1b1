"""Workloads of kernels of the host, named as in the published records for ARM processors."""

from __future__ import annotations

from typing import Any

import numpy as np

from vta.errors import TuningError
from vta.host.kernels.products.convolution_shape import has_tile, is_depthwise
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of, call, constant, graph_input
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.records.workload import Workload, tensor_argument

__all__ = ["CONVOLUTION", "DEPTHWISE", "host_workload", "node_of"]

CONVOLUTION = "conv2d_nchw_spatial_pack.arm_cpu"
DEPTHWISE = "depthwise_conv2d_nchw_spatial_pack.arm_cpu"


def host_workload(node: Node) -> Workload | None:
    """The workload of an operator; None if its kernel has nothing to choose."""
    if not has_tile(node):
        return None
    attrs = attrs_of(node, Conv2DAttributes)
    tensors = [tensor_argument(item.shape, item.dtype) for item in node.inputs]
    sizes = [tuple(int(size) for size in group) for group in (attrs.strides, attrs.padding, attrs.dilation)]
    return Workload(DEPTHWISE if is_depthwise(node) else CONVOLUTION, (*tensors, *sizes, node.dtype))


def node_of(workload: Workload) -> Node:
    """An operator of a workload, with random weights. Raises `TuningError` if it is none of the host's."""
    if workload.name not in (CONVOLUTION, DEPTHWISE):
        raise TuningError(f"workload {workload.name} is not of the host; allowed: {CONVOLUTION}, {DEPTHWISE}")
    try:
        (_, shape, dtype), (_, weights, _), strides, padding, dilation, _ = workload.args
        data = graph_input("data", shape, dtype)
        values: Any = np.random.default_rng(0).standard_normal(weights)
        groups = shape[1] if workload.name == DEPTHWISE else 1
        attributes = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
        return call(ops.CONV2D, [data, constant(values.astype(dtype))], **attributes)
    except (TypeError, ValueError) as error:
        raise TuningError(f"{workload.identity}: these are not the arguments of a convolution: {error}") from None
