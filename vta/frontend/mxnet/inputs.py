"""Shapes of inputs that nobody gave: a symbol file does not hold them, its first layers and its name hint at them."""

from __future__ import annotations

from vta.errors import ImportModelError
from vta.frontend.mxnet.parameters import ParameterSource
from vta.frontend.mxnet.symbol import VARIABLE, Symbol, SymbolNode

__all__ = ["assumed_shape"]

_IMAGE_CHANNELS = 3
_IMAGE_SIZES = (("cifar", 32), ("inception", 299), ("", 224))
"""Image height and width of Gluon's networks, by how the names of their layers begin."""


def assumed_shape(symbol: Symbol, parameters: ParameterSource, name: str) -> tuple[int, ...]:
    """Return the shape that input `name` most likely has, batch 1; raises `ImportModelError` if nothing tells."""
    variable = next(node for node in symbol.nodes if node.op == VARIABLE and node.name == name)
    declared = variable.attrs.integers("__shape__", ())
    if declared and all(dim > 0 for dim in declared):
        return declared
    for index in symbol.needed():
        node = symbol.nodes[index]
        if node.op in ("Convolution", "FullyConnected") and len(node.inputs) > 1:
            weight = _weight_shape(symbol.nodes[node.inputs[1][0]], parameters)
            shape = _of_first_layer(node, weight)
            if shape:
                return shape
            break
    text = f"the shape of input {name!r} is not in the file; give shapes={{{name!r}: (N, C, H, W)}} with numbers"
    raise ImportModelError(text, parameters=("shapes",))


def _weight_shape(weight: SymbolNode, parameters: ParameterSource) -> tuple[int, ...]:
    stored = parameters.find(weight.name)
    return weight.attrs.integers("__shape__", ()) if stored is None else stored.shape


def _of_first_layer(node: SymbolNode, weight: tuple[int, ...]) -> tuple[int, ...]:
    known = weight[1] if len(weight) > 1 else 0
    if node.op == "FullyConnected":
        return (1, known) if known > 0 else ()
    size = next(size for prefix, size in _IMAGE_SIZES if node.name.startswith(prefix))
    return 1, known * node.attrs.integer("num_group", 1) or _IMAGE_CHANNELS, size, size
