"""Tuning element-wise operators of their own: additions and multiplications of packed tensors, clipped and narrowed to int8."""

from __future__ import annotations

import numpy as np

from vta.autotune.task import Task, task_of_graph
from vta.config.hardware import HardwareConfig
from vta.config.targets import TARGETS
from vta.errors import TuningError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.records.workload import Workload, tensor_argument

__all__ = ["alu_calls", "alu_task", "require_alu"]

_NAMES = {ops.ADD: "add.vta", ops.BIAS_ADD: "add.vta", ops.MULTIPLY: "multiply.vta"}
_OPERATORS = {"add.vta": ops.ADD, "multiply.vta": ops.MULTIPLY}
_CLIP = (0, 127)


def require_alu(hw: HardwareConfig) -> None:
    """Raise `TuningError` unless the target of `hw` has operators of the ALU alone: it must multiply."""
    if not hw.capabilities.multiply:
        have = ", ".join(name for name, target in TARGETS.items() if target.capabilities.multiply)
        raise TuningError(f"{hw.target} has no operators of the ALU alone; targets that have them: {have}")


def alu_calls(graph: Graph, hw: HardwareConfig) -> list[Workload]:
    """The workload of every addition and multiplication of `graph`, in order, of any type.

    Images (N, C, H, W) are packed into the blocks of `hw`; a second operand of one value, or of one a channel, is a scalar.
    """
    return [_workload(node, hw) for node in graph.nodes() if node.is_call and node.op in _NAMES]


def alu_task(workload: Workload, hw: HardwareConfig) -> Task:
    """The task of a packed ``add.vta`` or ``multiply.vta`` of two equal shapes, then clip to 0..127 as a minimum and a maximum.

    Raises `TuningError` if the workload is none of these, or is packed for another geometry.
    """
    shape = workload.tensors[0] if workload.tensors else ()
    if workload.name not in _OPERATORS or len(shape) != 6 or workload.tensors != (shape, shape):
        raise TuningError(f"{workload.identity}: not an addition or a multiplication of two packed tensors of one shape")
    if shape[4:] != (hw.batch, hw.block):
        raise TuningError(f"{workload.identity}: packed for {shape[4]}x{shape[5]}; {hw.model} has {hw.batch}x{hw.block}")
    image = (shape[0] * hw.batch, shape[1] * hw.block, *shape[2:4])
    inputs = [graph_input(name, image, "int8") for name in ("lhs", "rhs")]
    name = workload.name
    wide = [call(ops.CAST, [node], name, dtype="int32") for node in inputs]
    value = call(_OPERATORS[name], wide, name)
    low, high = (constant(np.int32(limit)) for limit in _CLIP)
    value = call(ops.MAXIMUM, [call(ops.MINIMUM, [value, high], name), low], name)
    return task_of_graph(Graph(tuple(inputs), (call(ops.CAST, [value], name, dtype="int8"),), name), hw)


def _workload(node: Node, hw: HardwareConfig) -> Workload:
    first, second = node.inputs[:2]
    if second.shape != first.shape and first.shape == node.shape and _is_scalar(second, first):
        arguments = (tensor_argument(_packed(first.shape, hw), first.dtype), tensor_argument((), second.dtype))
    else:
        arguments = (
            tensor_argument(_packed(node.shape, hw), first.dtype),
            tensor_argument(_packed(second.shape, hw), second.dtype),
        )
    return Workload(_NAMES[node.op], arguments)


def _is_scalar(second: Node, first: Node) -> bool:
    """One value for all of `first`, or for each of its channels: both are one pass over a tile."""
    channels = first.shape[1] if len(first.shape) > 1 else 1
    return int(np.prod(second.shape)) in (1, channels)


def _packed(shape: tuple[int, ...], hw: HardwareConfig) -> tuple[int, ...]:
    if len(shape) != 4:
        return shape
    batch, channels, *image = shape
    return (-(-batch // hw.batch), -(-channels // hw.block), *image, hw.batch, hw.block)
