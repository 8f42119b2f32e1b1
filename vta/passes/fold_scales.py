"""Per-channel constants after a layer become its bias and part of its weight."""

from __future__ import annotations

import numpy as np

from vta.ir.graph import Graph, Node, call, constant
from vta.ir.pattern import Match, is_constant, is_op, rewrite_pattern
from vta.passes._channels import channel_vector, is_foldable, scaled_layer, weighted_layer

__all__ = ["fold_scales"]


def fold_scales(graph: Graph) -> Graph:
    """Fold what float32 layers with constant weights are added to or multiplied by, where it depends on the channel only.

    An addition becomes the layer's ``nn.bias_add``, or joins the one that is there; a multiplication goes into weight and bias.
    """
    return rewrite_pattern(_fold_products(graph), *_sum_rule())


def _fold_products(graph: Graph) -> Graph:
    layer, bias, biased = weighted_layer()
    factor = is_constant()
    product = is_op("multiply")(biased | layer, factor)

    def fold(found: Match) -> Node | None:
        scale = _vector(found, factor)
        if scale is None or not is_foldable(found, layer, biased):
            return None
        old = found.get(biased)
        value = found[bias].value if old is not None else None
        return scaled_layer(found[layer], value, scale, None, found.root.name)

    return rewrite_pattern(graph, product, fold)
