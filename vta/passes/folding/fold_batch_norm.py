"""Batch normalisation becomes part of the layer before it, or a multiplication and an addition."""

from __future__ import annotations

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, call
from vta.ir.ops.nn.norm import BatchNormAttributes
from vta.ir.transforms.pattern import Match, is_constant, is_op, rewrite_pattern, wildcard
from vta.passes.folding._channels import along_axis_1, is_foldable, per_channel, scaled_layer, weighted_layer

__all__ = ["fold_batch_norm"]


def fold_batch_norm(graph: Graph) -> Graph:
    """Fold every batch normalisation that has constant float32 parameters and normalises axis 1.

    After a convolution, transposed convolution or dense layer (with or without bias) that nothing else reads, it goes
    into that layer's weight and bias. Elsewhere, as before the activation of a ResNet v2 block, it becomes a
    multiplication and an addition per channel.
    """
    layer, bias, biased = weighted_layer()
    plain = wildcard()
    gamma, beta, mean, var = (is_constant() for _ in range(4))
    norm = is_op(ops.BATCH_NORM)(biased | layer | plain, gamma, beta, mean, var).has_dtype("float32").where(along_axis_1)

    def fold(found: Match) -> Node | None:
        node = found.root
        vectors = [np.asarray(found[p].value, np.float64) for p in (gamma, beta, mean, var)]
        scale = vectors[0] / np.sqrt(vectors[3] + attrs_of(node, BatchNormAttributes).epsilon)
        shift = vectors[1] - vectors[2] * scale
        if is_foldable(found, layer, biased):
            return scaled_layer(found[layer], found[bias].value if biased in found else None, scale, shift, node.name)
        rank = len(node.shape)
        scaled = call(ops.MULTIPLY, [node.inputs[0], per_channel(scale, rank, node.name)], node.name)
        return call(ops.ADD, [scaled, per_channel(shift, rank, node.name)], node.name)

    return rewrite_pattern(graph, norm, fold)
