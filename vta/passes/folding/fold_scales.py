"""Per-channel constants after a layer become its bias and part of its weight."""

from __future__ import annotations

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant
from vta.ir.transforms.pattern import Match, is_constant, is_op, rewrite_pattern
from vta.passes.folding._channels import along_axis_1, channel_vector, is_foldable, scaled_layer, weighted_layer

__all__ = ["fold_factors", "fold_terms"]


def fold_factors(graph: Graph) -> Graph:
    """Fold a constant factor per channel into the weight and bias of the float32 layer that only it reads."""
    layer, bias, biased = weighted_layer()
    factor = is_constant()

    def fold(found: Match) -> Node | None:
        scale = channel_vector(found[factor], found.root.shape)
        if scale is None or not is_foldable(found, layer, biased):
            return None
        return scaled_layer(found[layer], found[bias].value if biased in found else None, scale, None, found.root.name)

    return rewrite_pattern(graph, is_op(ops.MULTIPLY)(biased | layer, factor), fold)


def fold_terms(graph: Graph) -> Graph:
    """Turn a constant term per channel after a float32 layer into the layer's ``nn.bias_add``, or join it with that."""
    layer, bias, biased = weighted_layer()
    term = is_constant()
    total = biased | layer
    added = is_op(ops.ADD)(total, term) | is_op(ops.BIAS_ADD)(biased, term).where(along_axis_1)
    subtracted = is_op(ops.SUBTRACT)(total, term)

    def fold(found: Match) -> Node | None:
        root = found.root
        vector = found[term].value if root.op == ops.BIAS_ADD else channel_vector(found[term], root.shape)
        if vector is None:
            return None
        value = -vector if subtracted in found else vector
        if biased in found:
            value = value + np.asarray(found[bias].value)
        return call(ops.BIAS_ADD, [found[layer], constant(value, root.name)], root.name)

    return rewrite_pattern(graph, added | subtracted, fold)
