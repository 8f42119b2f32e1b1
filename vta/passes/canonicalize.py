"""One form for what can be written in several ways: float graphs as the quantiser and the partitioner expect them."""

from __future__ import annotations

from collections.abc import Callable, Set
from importlib import import_module

from vta.ir import names as ops
from vta.ir.graph import Graph
from vta.passes.finite import require_finite

__all__ = ["canonicalize"]

_RENAMING = frozenset({ops.RESHAPE, ops.SQUEEZE, ops.EXPAND_DIMS})
_WEIGHTED = frozenset({ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE})
_CUTS = frozenset({ops.RELU, ops.CLIP, ops.HARD_SIGMOID, ops.MAXIMUM, ops.MINIMUM})
_TERMS = frozenset({ops.ADD, ops.SUBTRACT, ops.BIAS_ADD})

_PASSES: tuple[tuple[str, str, tuple[Set[str], ...]], ...] = (
    ("vta.passes.folding.fold_constants", "fold_constants", ()),
    ("vta.passes.remove_no_ops", "remove_no_ops", ()),
    ("vta.passes.folding.fold_softmax_moves", "fold_softmax_moves", ({ops.SOFTMAX}, {ops.TRANSPOSE})),
    ("vta.passes.safe_softmax", "remove_needless_guards", ({ops.SOFTMAX}, {ops.EQUAL}, {ops.WHERE})),
    ("vta.passes.folding.fold_unit_axes", "fold_unit_axes", (_RENAMING,)),
    ("vta.passes.folding.fold_flattened", "fold_flattened", ({ops.DENSE, ops.QNN_DENSE}, {ops.TRANSPOSE})),
    ("vta.passes.activations", "name_activations", (_CUTS,)),
    ("vta.passes.folding.fold_padding", "fold_padding", ({ops.PAD},)),
    ("vta.passes.folding.fold_batch_norm", "fold_batch_norm", ({ops.BATCH_NORM},)),
    ("vta.passes.folding.fold_scales", "fold_factors", (_WEIGHTED, {ops.MULTIPLY})),
    ("vta.passes.folding.fold_scales", "fold_terms", (_WEIGHTED, _TERMS)),
    ("vta.passes.split_layers", "split_layers", ({ops.DENSE},)),
    ("vta.passes.folding.fold_factors_of_matmuls", "fold_factors_of_matmuls", ({ops.MATMUL},)),
)
"""The passes in order: module, function, and sets of operators. A graph that lacks one of a set is what the pass would leave it
as; then it is not imported."""


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
        before, found = graph, _operators(graph)
        for module, function, needed in _PASSES:
            if any(found.isdisjoint(names) for names in needed):
                continue
            apply: Callable[[Graph], Graph] = getattr(import_module(module), function)
            changed = apply(graph)
            graph, found = changed, found if changed is graph else _operators(changed)
        if all(new is old for new, old in zip(graph.outputs, before.outputs, strict=True)):
            return graph


def _operators(graph: Graph) -> frozenset[str]:
    return frozenset(node.op for node in graph.calls())
