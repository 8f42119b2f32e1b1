"""Which operators of the host part become one kernel each, and how the values between kernels lie in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from vta.host.kernels.elementwise import is_elementwise
from vta.host.kernels.group import Group, is_anchor
from vta.host.kernels.values import Layout
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["choose_layouts", "find_groups", "is_view"]

_IMAGE = 4
_VIEWS = (ops.RESHAPE, ops.BATCH_FLATTEN, ops.SQUEEZE, ops.EXPAND_DIMS)


def is_view(node: Node) -> bool:
    """Whether a value holds the elements of its operand, in the same order, in another shape."""
    return node.op in _VIEWS


def find_groups(calls: Sequence[Node], users: Mapping[Node, Sequence[Node]], kept: Iterable[Node]) -> list[Group]:
    """Groups of the host's operators, in an order in which they can run; operators that have no kernel are in none.

    `calls` are in topological order; `users` are those of the whole graph; values in `kept` are wanted by others.
    """
    wanted = set(kept)
    groups: dict[Node, Group] = {}
    for node in calls:
        if is_anchor(node):
            groups[node] = Group((node,), node)
        elif is_elementwise(node):
            joined = next((source for source in node.inputs if _can_join(node, source, groups, users, wanted)), None)
            group = groups.pop(joined) if joined is not None else Group(())
            groups[node] = replace(group, nodes=(*group.nodes, node))
    return list(groups.values())


def _can_join(
    node: Node, source: Node, groups: Mapping[Node, Group], users: Mapping[Node, Sequence[Node]], wanted: set[Node]
) -> bool:
    """Whether a kernel that gives `source` may go on with the operator that alone reads it."""
    return source in groups and source.shape == node.shape and source not in wanted and list(users[source]) == [node]


def choose_layouts(
    groups: Sequence[Group], users: Mapping[Node, Sequence[Node]], kept: Iterable[Node], block: int
) -> dict[Node, Layout]:
    """Values that lie in blocks of channels: those of images that only kernels give and read."""
    wanted = set(kept)
    inside = {node for group in groups for node in group.nodes}
    layouts: dict[Node, Layout] = {}
    for group in groups:
        result = group.result
        in_blocks = group.anchor is not None or any(source in layouts for source in group.inputs())
        read_by_kernels = result not in wanted and all(user in inside for user in users[result])
        if in_blocks and read_by_kernels and len(result.shape) == _IMAGE and result.dtype == "float32":
            layouts[result] = Layout(block)
    return layouts
