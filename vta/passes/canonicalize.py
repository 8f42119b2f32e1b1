"""One form for what can be written in several ways: float graphs as the quantiser and the partitioner expect them."""

from __future__ import annotations

from vta.ir.graph import Graph
from vta.passes.activations import name_activations
from vta.passes.finite import require_finite
from vta.passes.fold_batch_norm import fold_batch_norm
from vta.passes.fold_constants import fold_constants
from vta.passes.fold_factors_of_matmuls import fold_factors_of_matmuls
from vta.passes.fold_flattened import fold_flattened
from vta.passes.fold_padding import fold_padding
from vta.passes.fold_scales import fold_factors, fold_terms
from vta.passes.fold_unit_axes import fold_unit_axes
from vta.passes.remove_no_ops import remove_no_ops
from vta.passes.split_layers import split_layers

__all__ = ["canonicalize"]

_PASSES = (
    fold_constants,
    remove_no_ops,
    fold_unit_axes,
    fold_flattened,
    name_activations,
    fold_padding,
    fold_batch_norm,
    fold_factors,
    fold_terms,
    split_layers,
    fold_factors_of_matmuls,
)


def canonicalize(graph: Graph) -> Graph:
    """Fold constants, batch normalisation, padding and per-channel arithmetic, and name activations, until nothing changes.

    Afterwards a layer's bias is one ``nn.bias_add``. Layer names stay; float results change by rounding only, integer
    results not at all. Raises `CompileError` naming a constant that is not finite where it has to be, also one that folding
    makes so.
    """
    require_finite(graph)
    given = graph.nodes()
    folded = _folded(graph)
    require_finite(folded, frozenset(given))
    return folded


def _folded(graph: Graph) -> Graph:
    while True:
        before = graph
        for apply in _PASSES:
            graph = apply(graph)
        if all(new is old for new, old in zip(graph.outputs, before.outputs, strict=True)):
            return graph
