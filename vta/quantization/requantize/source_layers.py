"""Layers of networks that came quantised: products with constant weights, a bias, and the requantisation that reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.ops.quantized.qnn import ProductAttributes, RequantizeAttributes
from vta.support.dataclass import dataclass

__all__ = ["SourceLayer", "source_layer"]

_PRODUCTS = (ops.QNN_CONV2D, ops.QNN_CONV2D_TRANSPOSE, ops.QNN_DENSE)


@dataclass(frozen=True, eq=False)
class SourceLayer:
    """A product with its bias, if any, and the requantisation to int8 that alone reads them."""

    product: Node
    bias: Node | None
    end: Node

    @property
    def source(self) -> Node:
        """What the product reads."""
        return self.product.inputs[0]

    @property
    def scales(self) -> ProductAttributes:
        """What the product says of its input and its weights."""
        return attrs_of(self.product, ProductAttributes)

    @property
    def rescaling(self) -> RequantizeAttributes:
        """What becomes of the sums."""
        return attrs_of(self.end, RequantizeAttributes)

    @property
    def stored_weight(self) -> NDArray[Any]:
        """The weights as the operator has them."""
        value = self.product.inputs[1].value
        assert value is not None
        return value

    @property
    def stored_bias(self) -> NDArray[np.int64]:
        """(C,): the integers added to the products."""
        value = None if self.bias is None else self.bias.inputs[1].value
        return np.zeros(self.end.shape[1], np.int64) if value is None else value.astype(np.int64)

    @property
    def accumulator_scale(self) -> NDArray[np.float64]:
        """(C,): what an accumulator's unit stands for."""
        attrs = self.scales
        return np.broadcast_to(np.asarray(attrs.kernel_scale, np.float64) * attrs.input_scale, (self.end.shape[1],))


def source_layer(end: Node, users: dict[Node, list[Node]], graph: Graph) -> SourceLayer | None:
    """Return the layer that `end` is the requantisation of, by another framework's arithmetic; None if it is not one."""
    attrs = end.attrs
    if not isinstance(attrs, RequantizeAttributes) or end.dtype != "int8" or attrs.rounding == "up" or attrs.axis != 1:
        return None
    product, bias = end.inputs[0], None
    if product.op == ops.BIAS_ADD:
        product, bias = product.inputs[0], product
        if bias.inputs[1].value is None:
            return None
    if product.op not in _PRODUCTS or product.inputs[1].value is None:
        return None
    inside = [product] if bias is None else [product, bias]
    if any(len(users[node]) != 1 or node in graph.outputs for node in inside):
        return None
    return SourceLayer(product, bias, end)
