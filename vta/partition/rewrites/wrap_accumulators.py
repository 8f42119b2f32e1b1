"""States in the graph what accumulators narrower than 32 bits do to its values."""

from __future__ import annotations

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, rewrite

__all__ = ["wrap_accumulators"]

_GROWING = (ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE, ops.SUM_POOL2D, ops.ADD, ops.BIAS_ADD, ops.MULTIPLY, ops.LEFT_SHIFT)


def wrap_accumulators(graph: Graph, hw: HardwareConfig) -> Graph:
    """Reduce every int32 result that may leave 16 bits to its low 16 bits, for hardware whose accumulators have as many.

    The interpreter then computes what the hardware computes. With 32-bit accumulators the graph is returned as it is.
    """
    if hw.acc_bits == 32:
        return graph

    def wrapped(node: Node) -> Node:
        if node.dtype != "int32" or node.op not in _GROWING:
            return node
        narrow = call(ops.CAST, [node], node.name, dtype=f"int{hw.acc_bits}")
        return call(ops.CAST, [narrow], node.name, dtype="int32")

    return rewrite(graph, wrapped)
