"""Reshapes that only add or drop axes of one go behind what is done to each value, so that layers meet their neighbors.

A product of rows (1, T, C) is computed as one of (T, C), a convolution of (N, C, W) as one of (N, C, 1, W), each between two such
reshapes. What lies between two layers then stands between a reshape and its inverse; moved out, they meet and vanish.
"""

from __future__ import annotations

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, rewrite
from vta.ir.ops.reduce import ReduceAttributes

__all__ = ["fold_unit_axes"]

_EACH_VALUE = frozenset(
    {ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.MAXIMUM, ops.MINIMUM, ops.RELU, ops.CLIP, ops.SIGMOID, ops.TANH}
    | {ops.ERF, ops.EXP, ops.LOG, ops.SQRT, ops.NEGATIVE, ops.ABS, ops.ELU, ops.HARD_SIGMOID, ops.HARD_SWISH, ops.LEAKY_RELU}
)
"""Operators that compute each value from those at its own place."""
_WHOLE = (ops.GLOBAL_AVG_POOL2D, ops.GLOBAL_MAX_POOL2D)
_ROWS, _IMAGE = 2, 4
"""Rank of rows of features, and of images."""


def fold_unit_axes(graph: Graph) -> Graph:
    """Move reshapes that add or drop axes of one behind operators on each value, and behind means of each row.

    So a bias joins its layer and a layer the next one. Results do not change.
    """
    return rewrite(graph, _moved)


def _moved(node: Node) -> Node:
    if node.dtype != "float32" or not any(_renames(source) for source in node.inputs):
        return node
    if node.op in _WHOLE:
        return _whole_of_image(node) or node
    if node.op in _EACH_VALUE:
        return _of_rows(node) or _of_one_shape(node) or node
    return _mean_of_rows(node) or node


def _renames(node: Node) -> bool:
    """Whether a node only adds or drops axes of one."""
    if node.op not in (ops.RESHAPE, ops.SQUEEZE, ops.EXPAND_DIMS):
        return False
    before, after = ([extent for extent in shape if extent != 1] for shape in (node.inputs[0].shape, node.shape))
    return before == after and node.inputs[0].value is None


def _adds_axes(node: Node) -> bool:
    """Whether a node only puts axes of one before those of (T, C)."""
    rows = node.inputs[0].shape if _renames(node) else ()
    return len(rows) == _ROWS < len(node.shape) and node.shape[-_ROWS:] == rows


def _of_rows(node: Node) -> Node | None:
    """An operator on values that lie in the last two axes, some of which come from rows, as one on rows."""
    if not any(map(_adds_axes, node.inputs)) or any(extent != 1 for extent in node.shape[:-_ROWS]):
        return None
    return _behind(node, [_as_rows(source, node) for source in node.inputs])


def _of_one_shape(node: Node) -> Node | None:
    """An operator on values of one shape and numbers, before what renames the axes of all of them alike."""
    tensors = [source for source in node.inputs if source.value is None]
    if not all(_renames(source) and source.shape == node.shape for source in tensors):
        return None
    shapes = {source.inputs[0].shape for source in tensors}
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    return _behind(node, [_constant(source, node.shape, shape) or source.inputs[0] for source in node.inputs])


def _behind(node: Node, sources: list[Node]) -> Node:
    return call(ops.RESHAPE, [call(node.op, sources, node.name, **vars(node.attrs))], node.name, newshape=node.shape)


def _constant(source: Node, shape: tuple[int, ...], renamed: tuple[int, ...]) -> Node | None:
    """A constant operand of a value of `shape` as one of the same value `renamed`; None if it is no constant."""
    if source.value is None:
        return None
    if source.value.size == 1:
        return constant(source.value.reshape(()), source.name) if source.shape else source
    extents = (1,) * (len(shape) - len(source.shape)) + source.shape
    kept = iter([extent for extent, whole in zip(extents, shape, strict=True) if whole != 1])
    return constant(source.value.reshape([1 if whole == 1 else next(kept) for whole in renamed]), source.name)


def _whole_of_image(node: Node) -> Node | None:
    """A pooling of whole images, of one whose rows and columns go by other names."""
    (source,) = node.inputs
    before = source.inputs[0].shape
    return call(node.op, [source.inputs[0]], node.name) if len(before) == _IMAGE and before[:2] == source.shape[:2] else None


def _as_rows(source: Node, node: Node) -> Node:
    """An operand without the axes of one in front."""
    if _adds_axes(source):
        return source.inputs[0]
    if len(source.shape) <= _ROWS:
        return source
    shape = source.shape[-_ROWS:]
    if source.value is not None:
        return constant(source.value.reshape(shape), source.name)
    return call(ops.RESHAPE, [source], node.name, newshape=shape)


def _mean_of_rows(node: Node) -> Node | None:
    source, attrs = node.inputs[0], node.attrs
    rank = len(source.shape)
    if node.op != ops.MEAN or not isinstance(attrs, ReduceAttributes) or not _adds_axes(source):
        return None
    if not attrs.keepdims or attrs.axes(rank) != (rank - 1,):
        return None
    mean = call(ops.MEAN, [source.inputs[0]], node.name, axis=(1,), keepdims=True)
    return call(ops.RESHAPE, [mean], node.name, newshape=node.shape)
