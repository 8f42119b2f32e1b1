"""Symbols that MXNet's quantisation left, as the float networks they were made from.

Such a symbol keeps the float weights and quantises while it runs, with ranges that are partly found then. What can be taken
from it is the network: `vta` quantises it again, by its own calibration.
"""

from __future__ import annotations

import logging
from dataclasses import field, replace

from vta.errors import ImportModelError
from vta.frontend.mxnet.symbol import VARIABLE, Symbol, SymbolNode
from vta.support.dataclass import dataclass

__all__ = ["without_quantization"]

_LOG = logging.getLogger(__name__)

_CONVERSIONS = frozenset({"_contrib_quantize", "_contrib_quantize_v2", "_contrib_requantize", "_contrib_dequantize"})
"""Operators that only change how numbers are held."""

_FUSED = frozenset({"_sg_mkldnn_conv", "_sg_mkldnn_fully_connected", "_sg_onednn_conv", "_sg_onednn_fully_connected"})
"""Operators that stand for a subgraph; ranges follow the inputs of that."""

_PLAIN = {
    "_contrib_quantized_act": ("Activation", 1),
    "_contrib_quantized_batch_norm": ("BatchNorm", 5),
    "_contrib_quantized_concat": ("Concat", 0),
    "_contrib_quantized_elemwise_add": ("elemwise_add", 2),
    "_contrib_quantized_elemwise_mul": ("elemwise_mul", 2),
    "_contrib_quantized_flatten": ("Flatten", 1),
    "_contrib_quantized_pooling": ("Pooling", 1),
}
"""Float operator and number of inputs (0: attribute num_args) of operators whose further inputs are ranges."""

_Entry = tuple[int, int]


@dataclass
class _Rewrite:
    nodes: list[SymbolNode] = field(default_factory=list)
    places: dict[_Entry, _Entry] = field(default_factory=dict)
    """Where each output of the old symbol is in the new one."""

    def found(self, entry: _Entry) -> _Entry:
        if entry not in self.places:
            raise ImportModelError("reads the range of a quantised value, which the float network does not have")
        return self.places[entry]

    def inputs(self, node: SymbolNode, count: int | None = None) -> tuple[_Entry, ...]:
        return tuple(self.found(entry) for entry in node.inputs[:count])


def without_quantization(symbol: Symbol, path: object) -> Symbol:
    """Return `symbol` as a float network; one that is not quantised is returned as it is.

    Operators on weights that are stored as int8 stay as they are, for the importer to refuse by name. Raises
    `ImportModelError` naming the node where something else reads a range.
    """
    kinds = _CONVERSIONS | _FUSED | _PLAIN.keys()
    if not any(node.op in kinds for node in symbol.nodes):
        return symbol
    _LOG.warning("%s: quantised by MXNet; imported as the float network that it was made from", path)
    rewrite = _Rewrite()
    for index, node in enumerate(symbol.nodes):
        _append_checked(rewrite, index, node, path)
    return Symbol(tuple(rewrite.nodes), tuple(rewrite.found(head) for head in symbol.heads))


def _append_checked(rewrite: _Rewrite, index: int, node: SymbolNode, path: object) -> None:
    try:
        _append(rewrite, index, node)
    except ImportModelError as error:
        raise ImportModelError(f"{path}: {node.op} {node.name!r} (node {index}): {error}") from None


def _append(rewrite: _Rewrite, index: int, node: SymbolNode) -> None:
    if node.op in _CONVERSIONS:
        rewrite.places[index, 0] = rewrite.found(node.inputs[0])
    elif node.op in _FUSED and node.subgraphs:
        rewrite.places[index, 0] = _inlined(rewrite, node)
    elif node.op in _PLAIN:
        op, count = _PLAIN[node.op]
        inputs = rewrite.inputs(node, count or node.attrs.integer("num_args"))
        rewrite.places[index, 0] = (len(rewrite.nodes), 0)
        rewrite.nodes.append(SymbolNode(op, node.name, inputs, node.attrs))
    else:
        # A quantised operator that is not known here is refused by the importer, so the ranges that it reads do not matter.
        refused = node.op.startswith(("_contrib_quantized_", "_sg_"))
        entries = [entry for entry in node.inputs if not refused or entry in rewrite.places]
        for output in range(_MOST_OUTPUTS):
            rewrite.places[index, output] = (len(rewrite.nodes), output)
        rewrite.nodes.append(replace(node, inputs=tuple(map(rewrite.found, entries))))


_MOST_OUTPUTS = 64
"""Outputs that a node is expected to have at most; how many it has, only its converter knows."""


def _inlined(rewrite: _Rewrite, node: SymbolNode) -> _Entry:
    """Append the nodes of a subgraph, its variables replaced by the inputs of the operator; returns its output."""
    inner = node.subgraphs[0]
    inside: dict[int, int] = {}
    outer = iter(node.inputs)
    given: dict[int, _Entry] = {}
    for index, part in enumerate(inner.nodes):
        if part.op == VARIABLE:
            entry = next(outer, None)
            if entry is None:
                raise ImportModelError(f"its subgraph has more variables than the {len(node.inputs)} inputs")
            given[index] = rewrite.found(entry)
            continue
        inputs = tuple(given[source] if source in given else (inside[source], output) for source, output in part.inputs)
        inside[index] = len(rewrite.nodes)
        rewrite.nodes.append(replace(part, inputs=inputs))
    source, output = inner.heads[0]
    return given[source] if source in given else (inside[source], output)
