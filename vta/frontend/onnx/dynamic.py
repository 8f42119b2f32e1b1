"""Products of values that are quantised as they come: they are taken as the float products that they were made from.

Dynamic quantisation finds the range of the data at run time. That is no scale which a program of VTA could have; the float
network is quantised here, with ranges from calibration, as any other.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from vta.frontend.onnx.structure import kind_of
from vta.frontend.onnx.tensors import tensor_array
from vta.support.dataclass import dataclass

__all__ = ["with_real_products"]

Array = NDArray[Any]

_RANGES = "DynamicQuantizeLinear"
_PRODUCTS = {"ConvInteger": "Conv", "MatMulInteger": "MatMul"}
_LONGEST_CHAIN = 8
"""Operators between a bias, or a scale, and where it is used; the nodes may be a circle, which is refused later."""
_MOVES = ("Reshape", "Unsqueeze", "Squeeze")


def with_real_products(network: onnx.GraphProto, folder: Path | None) -> onnx.GraphProto:
    """Return a graph in which float convolutions and products of matrices stand for those of dynamically quantised data.

    Such a product takes bytes and zero point of a DynamicQuantizeLinear and constant weights; a rounded bias may be added to it,
    and it is scaled back to real numbers. What else reads the quantised data, and what has another form, stays. `folder` is that
    of the model's external data.
    """
    if not any(node.op_type == _RANGES for node in network.node):
        return network
    search = _Search.of(network, folder)
    found = {id(last): made for node in network.node if (pair := search.real_product(node)) for last, made in [pair]}
    if not found:
        return network
    result = onnx.GraphProto()
    result.CopyFrom(network)
    del result.node[:]
    for node in network.node:
        made = found.get(id(node))
        result.node.append(node if made is None else made.node)
        if made is not None:
            result.initializer.extend(numpy_helper.from_array(value, name) for name, value in made.constants)
    return result


@dataclass(frozen=True)
class _Made:
    """A float product and its constants by name."""

    node: onnx.NodeProto
    constants: list[tuple[str, Array]]


@dataclass(frozen=True)
class _Search:
    """Who computes and who reads the values of a graph."""

    makers: dict[str, onnx.NodeProto]
    readers: dict[str, list[onnx.NodeProto]]
    stored: dict[str, onnx.TensorProto]
    outputs: frozenset[str]
    folder: Path | None

    @classmethod
    def of(cls, network: onnx.GraphProto, folder: Path | None) -> _Search:
        """Of a graph."""
        readers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in network.node:
            for name in node.input:
                readers[name].append(node)
        makers = {name: node for node in network.node for name in node.output}
        stored = {tensor.name: tensor for tensor in network.initializer}
        return cls(makers, dict(readers), stored, frozenset(output.name for output in network.output), folder)

    def real_product(self, product: onnx.NodeProto) -> tuple[onnx.NodeProto, _Made] | None:
        """The node that gives the real numbers which `product` stands for, and what takes its place; None where there is none."""
        ranges = self._ranges(product)
        weight = self._constant(product.input[1]) if ranges is not None else None
        last = self._only_reader(product.output[0])
        if ranges is None or weight is None or last is None:
            return None
        bias = None
        if last.op_type == "Add":
            other = [name for name in last.input if name != product.output[0]]
            bias, last = self._rounded_bias(*other[:1] or [""]), self._only_reader(last.output[0])
            if bias is None or product.op_type != "ConvInteger":
                return None
        scaled = self._only_reader(last.output[0]) if last is not None and last.op_type == "Cast" else None
        if last is None or scaled is None or scaled.op_type != "Mul":
            return None
        scale = self._weight_scale([name for name in scaled.input if name != last.output[0]], ranges)
        zero = self._constant(product.input[3]) if len(product.input) > 3 and product.input[3] else np.zeros(1, np.int32)
        if scale is None or zero is None:
            return None
        real = _real(weight, scale, zero, 0 if product.op_type == "ConvInteger" else weight.ndim - 1)
        return None if real is None else (scaled, _written(product, ranges.input[0], scaled.output[0], real, bias))

    def _ranges(self, product: onnx.NodeProto) -> onnx.NodeProto | None:
        """What quantises the data of a product."""
        if kind_of(product) not in _PRODUCTS or len(product.input) < 3:
            return None
        found = self.makers.get(product.input[0])
        if found is None or found.op_type != _RANGES:
            return None
        return found if [product.input[0], product.input[2]] == [found.output[0], found.output[2]] else None

    def _constant(self, name: str) -> Array | None:
        return tensor_array(self.stored[name], self.folder) if name in self.stored else None

    def _only_reader(self, name: str) -> onnx.NodeProto | None:
        readers = self.readers.get(name, [])
        return readers[0] if len(readers) == 1 and name not in self.outputs else None

    def _weight_scale(self, names: list[str], ranges: onnx.NodeProto) -> Array | None:
        """The scale of the weights, of a product with that of the data."""
        maker = self._before(names[0], _MOVES) if len(names) == 1 else None
        if maker is None or maker.op_type != "Mul" or ranges.output[1] not in maker.input:
            return None
        others = [name for name in maker.input if name != ranges.output[1]]
        return self._constant(others[0]) if len(others) == 1 else None

    def _before(self, name: str, kinds: tuple[str, ...]) -> onnx.NodeProto | None:
        """What computes a value, before operators of some kinds."""
        maker = self.makers.get(name)
        for _ in range(_LONGEST_CHAIN):
            if maker is None or maker.op_type not in kinds:
                return maker
            maker = self.makers.get(maker.input[0])
        return None

    def _rounded_bias(self, name: str) -> Array | None:
        """The bias of which `name` is the number of levels."""
        maker = self._before(name, (*_MOVES, "Cast", "Floor", "Round"))
        return self._constant(maker.input[0]) if maker is not None and maker.op_type == "Div" else None


def _real(weight: Array, scale: Array, zero: Array, axis: int) -> Array | None:
    """Weights as real numbers; scale and zero point are one number, or one along `axis`."""
    parts = []
    for part in (zero.astype(np.float32), scale.astype(np.float32)):
        if part.size not in (1, weight.shape[axis]):
            return None
        shape = [1] * weight.ndim
        shape[axis] = part.size
        parts.append(part.reshape(shape))
    return np.asarray((weight.astype(np.float32) - parts[0]) * parts[1])


def _written(product: onnx.NodeProto, data: str, output: str, weight: Array, bias: Array | None) -> _Made:
    constants = [(f"{output}/weight", weight)]
    if bias is not None:
        constants.append((f"{output}/bias", bias.reshape(-1).astype(np.float32)))
    made = onnx.helper.make_node(
        _PRODUCTS[product.op_type], [data, *(name for name, _ in constants)], [output], name=product.name
    )
    made.attribute.extend(product.attribute)
    return _Made(made, constants)
