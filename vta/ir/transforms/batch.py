"""The same network for another number of samples at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, graph_input, with_inputs
from vta.ir.operator import Attributes
from vta.ir.ops.shape import BroadcastToAttributes, ReshapeAttributes, StridedSliceAttributes

__all__ = ["batch_size", "with_batch"]


def batch_size(graph: Graph) -> int:
    """Samples that one run of `graph` takes: the leading dimension that all inputs and outputs share.

    Raises `GraphError` if they do not share one.
    """
    sizes = {node.shape[0] if node.shape else 0 for node in (*graph.inputs, *graph.outputs)}
    if len(sizes) != 1 or 0 in sizes:
        shapes = ", ".join(f"{node.name} {node.type}" for node in (*graph.inputs, *graph.outputs))
        raise GraphError(f"inputs and outputs do not share a leading batch dimension: {shapes}")
    return sizes.pop()


def with_batch(graph: Graph, samples: int) -> Graph:
    """Rebuild `graph` to take `samples` samples at once, each computed as before.

    Raises `GraphError` naming the first layer that does not treat its samples one by one along the leading dimension.
    """
    old = batch_size(graph)
    if old == samples:
        return graph
    if graph.states:
        raise GraphError(f"state {graph.states[0].name!r} of graph {graph.name!r} follows one sequence of samples, not {samples}")
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        if node.op == ops.INPUT:
            done[node] = graph_input(node.name, (samples, *node.shape[1:]), node.dtype)
        elif any(done[source] is not source for source in node.inputs):
            done[node] = _rebatched(node, tuple(done[source] for source in node.inputs), old, samples)
        else:
            done[node] = node
    return replace(graph.rebuilt(done), inputs=tuple(done[node] for node in graph.inputs))


def _rebatched(node: Node, inputs: tuple[Node, ...], old: int, samples: int) -> Node:
    """A node for other inputs. Its leading dimension holds samples, or so many rows of each, one sample after the other."""
    _check_samplewise(node, inputs)
    lengths = {source.shape[:1] for source, new in zip(node.inputs, inputs, strict=True) if new is not source}
    change = _ATTRIBUTES.get(node.op)
    changed = replace(node, attrs=change(node, old, samples)) if change else node
    try:
        new = with_inputs(changed, inputs)
    except GraphError as error:
        raise GraphError(f"cannot run {samples} samples at once: {error}") from None
    leads = node.op == ops.RESHAPE or lengths == {node.shape[:1]}
    length = node.shape[0] if node.shape else 0
    if not leads or length % old or not length or new.shape != (length // old * samples, *node.shape[1:]):
        raise GraphError(
            f"{node.name}: {node.op} gives {new.type} for {samples} samples and {node.type} for {old}; "
            "it does not treat samples one by one"
        )
    return new


def _check_samplewise(node: Node, inputs: tuple[Node, ...]) -> None:
    """Refuse operators that mix samples although their shapes do not show it."""
    axis = getattr(node.attrs, "axis", None)
    axes = axis if isinstance(axis, tuple) else () if axis is None else (axis,)
    rank = len(node.inputs[0].shape)
    if any(entry in (0, -rank) for entry in axes):
        raise GraphError(f"{node.name}: {node.op} works along the batch dimension (axis {axis})")
    if node.op in (ops.MATMUL, ops.DENSE) and inputs[1] is not node.inputs[1] and len(inputs[1].shape) == 2:
        raise GraphError(f"{node.name}: {node.op} multiplies samples with each other")


def _reshape(node: Node, old: int, samples: int) -> Attributes:
    attrs = attrs_of(node, ReshapeAttributes)
    if not node.shape or node.shape[0] % old:
        return attrs
    return replace(attrs, newshape=(node.shape[0] // old * samples, *node.shape[1:]))


def _broadcast(node: Node, old: int, samples: int) -> Attributes:
    attrs, length = attrs_of(node, BroadcastToAttributes), node.inputs[0].shape[0]
    return replace(attrs, shape=(length // old * samples, *attrs.shape[1:])) if attrs.shape[:1] == (length,) else attrs


def _slice(node: Node, old: int, samples: int) -> Attributes:
    attrs, length = attrs_of(node, StridedSliceAttributes), node.inputs[0].shape[0]
    whole = attrs.begin[:1] == (0,) and attrs.end[0] >= length and attrs.strides[:1] in ((), (1,))
    return replace(attrs, end=(length // old * samples, *attrs.end[1:])) if whole else attrs


_ATTRIBUTES: dict[str, Callable[[Node, int, int], Attributes]] = {
    ops.RESHAPE: _reshape,
    ops.BROADCAST_TO: _broadcast,
    ops.STRIDED_SLICE: _slice,
}
"""How the attributes that spell out the batch follow it."""
