"""Which softmaxes and norms of a float network integers compute on a target, and whether at all."""

from __future__ import annotations

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.ops.nn.norm import SoftmaxAttributes
from vta.ir.ops.quantized.rows import LONGEST_ROW
from vta.passes.folding.fold_norms import fold_norms
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.plan.masks import MOST_PLANES

__all__ = ["is_row_softmax", "longest_row", "longest_rows", "with_norms"]

_STATISTICS = 48
"""Rows of the accumulator that are kept for statistics and constants of one block: more than any template takes."""
_STORED_BESIDE = 64
"""Rows of what is stored where a mask leaves nothing."""


def longest_row(hw: HardwareConfig, beside: int = 0) -> int:
    """The most values along an axis that a target normalises, with so many bytes beside each: 0 where it does not."""
    target = hw.capabilities
    if hw.batch != 1 or hw.acc_bits != 32 or not (target.requantize and target.table and target.multiply):
        return 0
    statistics = _STATISTICS + (_STORED_BESIDE if beside else 0)
    return min(LONGEST_ROW, hw.depth(MemoryType.INP) // (1 + beside), hw.depth(MemoryType.ACC) - statistics)


def longest_rows(hw: HardwareConfig) -> tuple[int, ...]:
    """The most values that a softmax can be of, by how many bytes what is added to each takes."""
    return tuple(longest_row(hw, beside) for beside in range(1 + MOST_PLANES))


def with_norms(graph: Graph, config: QuantizeConfig, hw: HardwareConfig) -> Graph:
    """Return the graph with its norms as `nn.normalize`, where the target computes them and dense layers around them."""
    longest = 0 if config.skip_dense else longest_row(hw)
    if not longest:
        return graph
    return fold_norms(graph, lambda result, length: length <= longest and result.name not in config.skip_layers)


def is_row_softmax(node: Node, longest: int) -> bool:
    """Whether a node is a softmax along the last axis that a target computes."""
    if node.op != ops.SOFTMAX or node.shape[-1] > longest:
        return False
    return attrs_of(node, SoftmaxAttributes).axis in (-1, len(node.shape) - 1)
