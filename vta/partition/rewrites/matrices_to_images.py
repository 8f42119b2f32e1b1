"""Lets VTA multiply matrices: rows of features become the columns of an image, and products of two tensors those of images.

An image of one row has its features as channels, blocks of which lie side by side in memory. There a dense layer on many rows is
one convolution, heads of an attention are groups of channels, and a tensor can serve as weights (`vta.tile.matmul`). Integer
steps follow their values into that layout; what is left of reshapes and transpositions between two products is mostly nothing.
Graphs without a product of two tensors and without norms are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from math import lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import wrap32
from vta.ir.graph import Graph, Node, attrs_of, call, constant, with_inputs
from vta.ir.operator import Attributes
from vta.ir.ops.matmul import MatmulAttributes
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.nn.norm import SoftmaxAttributes as FloatSoftmaxAttributes
from vta.ir.ops.quantized.qnn import DequantizeAttributes, QuantizeAttributes
from vta.ir.ops.quantized.rows import RowAttributes
from vta.ir.ops.quantized.softmax import SoftmaxAttributes
from vta.partition.fused.fused_operator import STEPS
from vta.partition.rewrites.placed_values import Cut, PlacedValue, PlacedValues, columns_padded, spread
from vta.passes.axis_moves import AxisMove, move_of

__all__ = ["matrices_to_images"]

Array = NDArray[Any]

_AROUND = (ops.CAST, ops.DIVIDE, ops.QNN_DEQUANTIZE, ops.QNN_LOOKUP, ops.QNN_QUANTIZE)
_BY_ELEMENT = (*(op for op in STEPS if op != ops.BIAS_ADD), *_AROUND)
_SOFTMAX = (ops.QNN_SOFTMAX, ops.SOFTMAX)
_TABLE = 4
"""The input of a rescale that is no parameter of channels."""


def matrices_to_images(graph: Graph, hw: HardwareConfig) -> Graph:
    """Return the graph with its matrix products on images, where it has products of two tensors, or norms, that VTA computes."""
    found = any(_multiplies_tensors(node) or node.op == ops.QNN_NORMALIZE for node in graph.calls())
    if hw.batch != 1 or hw.acc_bits != 32 or not found:
        return graph
    return _Rewriter(hw.block, {node.shape[0] for node in graph.inputs if node.shape}).rewritten(graph)


def _multiplies_tensors(node: Node) -> bool:
    """Whether a node is a product of two tensors, none constant, of as many matrices each."""
    left_and_right = node.inputs if node.op == ops.QNN_MATMUL else ()
    leads = {source.shape[:-2] for source in left_and_right}
    return len(left_and_right) == 2 and len(leads) == 1 and all(source.value is None for source in left_and_right)


class _Rewriter:
    def __init__(self, block: int, samples: Collection[int]) -> None:
        self._block = block
        self._samples = samples
        self._quantized: dict[tuple[Node, Attributes], Node] = {}
        self._values = PlacedValues()
        self._turned: frozenset[Node] = frozenset()
        """Products whose rows are to be channels, for what goes along their columns."""
        self._rules: dict[str, Callable[[Node], PlacedValue | None]] = {
            **dict.fromkeys(_BY_ELEMENT, self._by_element),
            **dict.fromkeys(_SOFTMAX, self._softmax),
            ops.CONV2D: self._conv,
            ops.DENSE: self._dense,
            ops.GLOBAL_MAX_POOL2D: self._of_whole_image,
            ops.QNN_MATMUL: self._matmul,
            ops.QNN_NORMALIZE: self._normalize,
            ops.QNN_SOFTMAX_SHARES: self._along_columns,
            ops.QNN_SOFTMAX_TERMS: self._along_columns,
        }

    def rewritten(self, graph: Graph) -> Graph:
        self._turned = frozenset(_product_before(node) for node in graph.calls() if node.op == ops.QNN_SOFTMAX_TERMS)
        for node in graph.nodes():
            self._values.place(node, self._placed(node))
        return graph.rebuilt({node: self._values.whole(node) for node in graph.outputs})

    def _placed(self, node: Node) -> PlacedValue:
        if not node.is_call:
            return PlacedValue.of(node)
        found, move = None, move_of(node)
        if move is not None:
            found = self._values[node.inputs[0]].moved(move)
        elif node.op in self._rules:
            found = self._rules[node.op](node)
        if found is not None:
            return found
        return PlacedValue.of(self._made(node, tuple(self._values.whole(source) for source in node.inputs)))

    def _made(self, node: Node, inputs: tuple[Node, ...]) -> Node:
        """An operator on other inputs; what is quantized in the same way is the same."""
        made = with_inputs(node, inputs)
        return self._quantized.setdefault((inputs[0], node.attrs), made) if node.op == ops.QNN_QUANTIZE else made

    def _by_element(self, node: Node) -> PlacedValue | None:
        """An operator on elements, where the first of its values that is an image lies."""
        varying = [source for source in node.inputs if source.value is None]
        like = next((self._values[source] for source in varying if self._values[source].is_image), None)
        if like is None or any(source.shape != node.shape for source in varying):
            return None
        if isinstance(node.attrs, QuantizeAttributes | DequantizeAttributes) and isinstance(node.attrs.scale, tuple):
            return None
        if any(not self._values[source].lies_like(like) for source in varying):
            like = self._values.uncut(like)
        inputs = [self._beside(at, node, like) for at in range(len(node.inputs))]
        known = tuple(given for given in inputs if given is not None)
        if len(known) < len(inputs):
            return None
        integers = not any(value.dtype.startswith("float") for value in (node, *varying))
        return replace(like, base=self._made(node, known), on_device=integers)

    def _beside(self, at: int, node: Node, like: PlacedValue) -> Node | None:
        """An input of an operator on elements where `like` lies; of constants those of one value, or one for each channel."""
        source = node.inputs[at]
        if source.value is None:
            return self._values.at(source, like) if self._values[source].is_image else self._brought(source, like)
        if source.value.size == 1 or node.op == ops.QNN_LOOKUP or (node.op == ops.RESCALE and at == _TABLE):
            return source
        if like.cut is not None or len(like.base.shape) != 4:
            return None
        if node.op == ops.RESCALE:
            by_channel = len(node.shape) == 2 and like.move.order == (1, 0)
            return source if by_channel or _keeps_channels(like) else None
        moved = like.move.inverse.applied(np.broadcast_to(source.value, node.shape))
        if node.dtype.startswith("float"):
            return constant(np.ascontiguousarray(moved), source.name)
        rows = moved.reshape(like.base.shape[1], -1)
        if (rows != rows[:, :1]).any():
            return None
        return constant(np.ascontiguousarray(rows[:, :1]).reshape(1, -1, 1, 1), source.name)

    def _brought(self, node: Node, like: PlacedValue) -> Node | None:
        """A value of the host where `like` lies; what is computed of it element by element is computed there, from its bytes."""
        if node.op not in _BY_ELEMENT or any(source.value is None and source.shape != node.shape for source in node.inputs):
            return self._values.at(node, like)
        inputs = [self._beside(at, node, like) for at in range(len(node.inputs))]
        known = tuple(given for given in inputs if given is not None)
        return with_inputs(node, known) if len(known) == len(inputs) else self._values.at(node, like)

    def _dense(self, node: Node) -> PlacedValue | None:
        """A dense layer on many rows as a convolution, unless the rows are the samples of the network."""
        data, weight = node.inputs
        if weight.value is None or data.dtype != "int8" or data.shape[0] in (1, *self._samples):
            return None
        return self._convolved(node, data, weight.value, weight.name)

    def _convolved(self, node: Node, data: Node, weights: Array, name: str) -> PlacedValue | None:
        """Rows of `data`, in its last axis, times the transpose of `weights`."""
        outputs, depth = weights.shape
        rows, held = prod(data.shape[:-1]), self._values[data]
        turned = replace(AxisMove.transposed((rows, depth), (1, 0)), source=data.shape, target=(1, depth, 1, rows))
        whole = held.move.then(turned)
        if whole is not None and whole.is_reshape and held.cut is not None:
            image: Node | None = held.base
            weights = held.cut.widened(weights)
        else:
            image = self._values.moved_to(data, turned)
        if image is None:
            return None
        made = call(ops.CONV2D, [image, constant(weights[:, :, None, None], name)], node.name)
        move = AxisMove.transposed((outputs, rows), (1, 0))
        return PlacedValue(made, replace(move, source=made.shape, target=node.shape), is_image=True, on_device=True)

    def _matmul(self, node: Node) -> PlacedValue | None:
        left, right = node.inputs
        if not _multiplies_tensors(node):
            return self._by_weights(node)
        groups, (rows, depth), columns = prod(left.shape[:-2]), left.shape[-2:], right.shape[-1]
        attrs = attrs_of(node, MatmulAttributes)
        by_depth = (
            (left, replace(AxisMove.transposed((groups, rows, depth), (0, 2, 1)), source=left.shape)),
            (right, AxisMove.reshape(right.shape, (groups, depth, columns))),
        )
        if node in self._turned:
            swapped = MatmulAttributes(lhs_zero_point=attrs.rhs_zero_point, rhs_zero_point=attrs.lhs_zero_point)
            return self._product(node, by_depth[::-1], swapped, AxisMove.reshape((groups, rows, columns), node.shape))
        back = AxisMove.transposed((groups, columns, rows), (0, 2, 1))
        return self._product(node, by_depth, attrs, replace(back, target=node.shape))

    def _product(
        self, node: Node, operands: tuple[tuple[Node, AxisMove], ...], attrs: MatmulAttributes, back: AxisMove
    ) -> PlacedValue | None:
        """A product of two tensors, each with its move to (groups, depth, places); the places of the second become channels.

        `back` is the move of (groups, channels, places) to the shape of `node`.
        """
        (left, by_left), (right, by_right) = operands
        groups, depth, channels = by_right.target
        data = self._operand(left, by_left, False, attrs.lhs_zero_point)
        weights = self._operand(right, by_right, True, 0)
        if data is None or weights is None:
            return None
        (image, filler), (factor, _) = data, weights
        product = call(ops.MATMUL2D, [image, factor], node.name, groups=groups, **vars(attrs))
        more = factor.shape[1] // groups - depth
        excess = more * (filler - attrs.lhs_zero_point) * -attrs.rhs_zero_point
        if excess:
            product = call(ops.ADD, [product, constant(wrap32(np.asarray(-excess)).astype(np.int32), node.name)], node.name)
        stored = factor.shape[3]
        cut = Cut(groups, channels, stored) if stored != channels else None
        back = back if cut else replace(back, source=product.shape)
        return PlacedValue(product, back, is_image=True, on_device=True, cut=cut)

    def _along_columns(self, node: Node) -> PlacedValue | None:
        """What goes along the last axis, where that lies as columns."""
        source, *added = node.inputs
        held, attrs = self._values[source], attrs_of(node, RowAttributes)
        along = held.move.is_reshape and held.on_device and held.base.shape[2:] == (1, node.shape[-1])
        if not along or attrs.axis not in (-1, len(node.shape) - 1) or any(each.value is None for each in added):
            return None
        if held.cut is not None:
            added = [self._widened_rows(each, held.cut) for each in added]
        made = replace(node, inputs=(held.base, *added), attrs=replace(attrs, axis=3), type=held.base.type)
        return replace(held, base=made)

    @staticmethod
    def _widened_rows(added: Node, cut: Cut) -> Node:
        """What is added to rows, which are channels, with zeros for those that do not count."""
        assert added.value is not None
        period, columns = lcm(len(added.value), cut.channels), added.value.shape[1]
        groups = np.tile(added.value, (period // len(added.value), 1)).reshape(-1, cut.channels, columns)
        wide = np.zeros((len(groups), cut.stored, columns), added.value.dtype)
        wide[:, : cut.channels] = groups
        return constant(wide.reshape(-1, columns), added.name)

    def _normalize(self, node: Node) -> PlacedValue | None:
        """Rows of features as channels while they are normalised, and as columns again after that."""
        (source,) = node.inputs
        rows, features = prod(node.shape[:-1]), node.shape[-1]
        attrs, held = attrs_of(node, RowAttributes), self._values[source]
        is_image = len(node.shape) == 4 and node.shape[2] == 1
        if is_image or attrs.axis not in (-1, len(node.shape) - 1):
            return None
        turned = replace(AxisMove.transposed((rows, features), (1, 0)), source=node.shape, target=(1, features, 1, rows))
        there = held.move.then(turned)
        if rows == 1 or (held.on_device and held.cut is None and there is not None and there.is_reshape):
            features_first = self._values.moved_to(source, turned)
            image = None if features_first is None else self._exchanged(features_first, None, features)
        else:
            image = self._side_by_side(held, rows, features)
            if image is None:
                image = self._values.moved_to(source, AxisMove.reshape(node.shape, (1, rows, 1, features)))
        if image is None:
            return None
        made = replace(node, inputs=(image,), attrs=replace(attrs, axis=3), type=image.type)
        base = self._exchanged(made, features, rows)
        back = AxisMove.transposed((features, rows), (1, 0))
        return PlacedValue(base, replace(back, source=base.shape, target=node.shape), is_image=True, on_device=True)

    def _side_by_side(self, held: PlacedValue, rows: int, features: int) -> Node | None:
        """An image of one row with the channels of neighboring columns as channels, where that is how `held` lies; else None."""
        if not held.on_device or held.cut is not None or len(held.base.shape) != 4:
            return None
        channels = held.base.shape[1]
        together = rows // channels
        lies = held.base.shape == (1, channels, 1, features * together) and rows == channels * together
        if not lies or (held.move.factors, held.move.order) != ((channels * features, together), (1, 0)):
            return None
        weights = np.zeros((together, channels, channels, 1, together), np.int8)
        place, channel = np.ix_(np.arange(together), np.arange(channels))
        weights[place, channel, channel, 0, place] = 1
        kernel = constant(weights.reshape(rows, channels, 1, together), held.base.name)
        moved = call(ops.CONV2D, [held.base, kernel], held.base.name, strides=(1, together), taps=1)
        return call(ops.CAST, [moved], held.base.name, dtype="int8")

    def _conv(self, node: Node) -> PlacedValue | None:
        """A convolution of an image of one column, which lies as an image of one row, along that."""
        data, weight = node.inputs
        held, (batch, channels, height, width) = self._values[data], data.shape
        if batch != 1 or width != 1 or not held.on_device or held.cut is not None or len(held.base.shape) != 4:
            return None
        attrs = attrs_of(node, Conv2DAttributes)
        if attrs.padding[1::2] != (0, 0) or weight.value is None or held.base.shape[2] != 1:
            return None
        there = held.move.then(AxisMove.reshape(data.shape, (1, channels, 1, height)))
        if there is not None and there.is_reshape and held.base.shape[1] == channels:
            image = held.base
        elif there is not None and there.order == (1, 0) and held.base.shape == (1, height, 1, channels):
            image = self._exchanged(held.base, channels, height)
        else:
            return None
        (top, _, bottom, _), turned = attrs.padding, constant(weight.value.swapaxes(2, 3), weight.name)
        both = {"strides": attrs.strides[::-1], "dilation": attrs.dilation[::-1], "groups": attrs.groups}
        made = call(ops.CONV2D, [image, turned], node.name, **both, padding=(0, top, 0, bottom))
        return PlacedValue(made, AxisMove.reshape(made.shape, node.shape), is_image=True, on_device=True)

    def _of_whole_image(self, node: Node) -> PlacedValue | None:
        """The largest value of each channel, whatever its rows and columns are called."""
        held = self._values[node.inputs[0]]
        if not held.is_image or held.cut is not None or not _keeps_channels(held):
            return None
        return PlacedValue.of(with_inputs(node, (held.base,)))

    def _exchanged(self, image: Node, channels: int | None, columns: int) -> Node:
        """An image of one row with channels as columns, and the first `channels`, or all, and `columns` of what they become."""
        filled = spread(columns_padded(image, self._block), 1, self._block)
        turned = call(ops.TRANSPOSE2D, [filled], image.name)
        channels = turned.shape[1] if channels is None else channels
        if turned.shape[1::2] == (channels, columns):
            return turned
        end = 1, channels, 1, columns
        return call(ops.STRIDED_SLICE, [turned], image.name, begin=(0, 0, 0, 0), end=end, strides=(1, 1, 1, 1))

    def _by_weights(self, node: Node) -> PlacedValue | None:
        """A product with one constant matrix as a convolution."""
        left, right = node.inputs
        if right.value is None or left.value is not None or prod(right.shape[:-2]) != 1:
            return None
        attrs = attrs_of(node, MatmulAttributes)
        weights = right.value.reshape(right.shape[-2:]).T.astype(np.int16) - attrs.rhs_zero_point
        narrow = weights.min() >= -128 and weights.max() <= 127
        made = self._convolved(node, left, np.ascontiguousarray(weights, np.int8 if narrow else np.int16), right.name)
        if made is None or not attrs.lhs_zero_point:
            return made
        offset = wrap32(-attrs.lhs_zero_point * weights.astype(np.int64).sum(axis=1)).astype(np.int32)
        return replace(made, base=call(ops.ADD, [made.base, constant(offset.reshape(1, -1, 1, 1), node.name)], node.name))

    def _operand(self, node: Node, to: AxisMove, as_weights: bool, filler: int) -> tuple[Node, int] | None:
        """A matrix, after the move `to` (groups, channels, places), as an image whose groups of channels fill blocks.

        So do its columns, if it is to serve as weights. Also what new channels hold: zero where VTA makes them, else `filler`.
        """
        groups, channels, places = to.target
        held = self._values[node]
        whole = held.move.then(to)
        if whole is None:
            return None
        if held.cut is not None and held.on_device and whole.order == (0, 2, 1) and held.cut.channels == places:
            turned = call(ops.TRANSPOSE2D, [columns_padded(held.base, self._block)], node.name, groups=groups)
            end = *turned.shape[:3], places
            return call(ops.STRIDED_SLICE, [turned], node.name, begin=(0,) * 4, end=end, strides=(1,) * 4), 0
        swaps = whole.order == ((1, 0) if groups == 1 else (0, 2, 1)) and held.base.shape == (1, groups * places, 1, channels)
        if swaps and held.on_device and held.cut is None and (as_weights or places % self._block == 0):
            filled = spread(columns_padded(held.base, self._block), groups, self._block)
            return call(ops.TRANSPOSE2D, [filled], node.name, groups=groups), 0
        missing, stays = -channels % self._block, whole.is_reshape and held.on_device and held.cut is None
        if not missing or stays:
            image, filler = self._values.moved_to(node, replace(to, target=(1, groups * channels, 1, places))), 0
            image = None if image is None else spread(image, groups, self._block)
        else:
            image = self._values.moved_to(node, to)
            image = None if image is None else _filled(image, missing, filler)
        if image is None:
            return None
        return columns_padded(image, self._block) if as_weights else image, filler

    def _softmax(self, node: Node) -> PlacedValue | None:
        """A softmax along the channels of each group, as the host can compute it where the products left them."""
        (source,) = node.inputs
        attrs = node.attrs
        assert isinstance(attrs, SoftmaxAttributes | FloatSoftmaxAttributes)
        held = self._values.uncut(self._values[source])
        if not held.is_image or attrs.axis not in (-1, len(node.shape) - 1) or held.move.order not in ((1, 0), (0, 2, 1)):
            return None
        factors = (1, *held.move.factors) if len(held.move.factors) == 2 else held.move.factors
        if factors[1] != node.shape[-1]:
            return None
        apart = self._values.moved_to(source, replace(held.move.inverse, target=factors))
        if apart is None:
            return None
        made = replace(node, inputs=(apart,), attrs=replace(attrs, axis=1), type=apart.type)
        return PlacedValue(made, replace(held.move, source=factors), is_image=True)


def _keeps_channels(held: PlacedValue) -> bool:
    """Whether a value is an image whose rows and columns alone go by other names."""
    return (
        held.move.is_reshape
        and len(held.base.shape) == len(held.move.target) == 4
        and (held.base.shape[:2] == held.move.target[:2])
    )


def _product_before(node: Node) -> Node:
    """What a node is computed from element by element, back to a product of matrices if there is one."""
    while node.op != ops.QNN_MATMUL and node.inputs and node.inputs[0].shape == node.shape:
        node = node.inputs[0]
    return node


def _filled(matrices: Node, missing: int, value: int) -> Node:
    """Matrices (groups, channels, places) of the host as an image, with more channels in each group."""
    groups, channels, places = matrices.shape
    more = call(ops.PAD, [matrices], matrices.name, pad_width=((0, 0), (0, missing), (0, 0)), pad_value=value)
    return call(ops.RESHAPE, [more], matrices.name, newshape=(1, groups * (channels + missing), 1, places))
