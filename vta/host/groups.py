"""Which operators of the host part become one kernel each, and how the values between kernels lie in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

import vta.host.kernels.by_element.elementwise
import vta.host.kernels.by_element.indexed
import vta.host.kernels.by_element.moves
import vta.host.kernels.by_element.quantized
import vta.host.kernels.by_element.rescale
import vta.host.kernels.by_element.whole_division
import vta.host.kernels.neighbours  # noqa: F401  (these declare the rules of operators)
from vta.host.kernels.anchors import is_anchor, works_in_blocks
from vta.host.kernels.by_element.checked import is_checked
from vta.host.kernels.by_element.pointwise import is_elementwise, is_pointwise, kind_of
from vta.host.kernels.group import Group
from vta.host.kernels.procedures.rules import is_procedure
from vta.host.kernels.values import Layout
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.ops.shape import PadAttributes, StridedSliceAttributes

__all__ = ["choose_layouts", "find_groups", "has_kernel", "is_view", "with_beginnings"]

_IMAGE = 4
_BLOCKED = ("float32", "int32", "int8")
_LONGEST = 40
"""Operators of a kernel: more make long code."""
_VIEWS = (ops.RESHAPE, ops.BATCH_FLATTEN, ops.SQUEEZE, ops.EXPAND_DIMS)


def is_view(node: Node) -> bool:
    """Whether a value holds the elements of its operand, in the same order, in another shape."""
    return node.op in _VIEWS


def has_kernel(node: Node) -> bool:
    """Whether an operator needs no reference: it is computed by a kernel, or is a view."""
    return is_view(node) or is_anchor(node) or is_pointwise(node) or is_procedure(node)


def find_groups(
    calls: Sequence[Node], users: Mapping[Node, Sequence[Node]], kept: Iterable[Node], procedures: bool = True
) -> list[Group]:
    """Groups of the host's operators, in an order in which they can run; operators that have no kernel, and views, are in none.

    `calls` are in topological order; `users` are those of the whole graph; values in `kept` are wanted by others. Without
    `procedures` all groups are made of expressions, and none has anything to look at when it has run.
    """
    wanted = set(kept)
    groups: dict[Node, Group] = {}
    for node in calls:
        if is_view(node) or not (procedures or _is_plain(node)):
            continue
        if procedures and is_procedure(node):
            groups[node] = Group((node,), procedure=True)
        elif is_anchor(node):
            groups[node] = Group((node,), node)
        elif is_pointwise(node):
            joined = next((source for source in node.inputs if _can_join(node, source, groups, users, wanted)), None)
            group = groups.pop(joined) if joined is not None else Group(())
            groups[node] = replace(group, nodes=(*group.nodes, node))
    return list(groups.values())


def _is_plain(node: Node) -> bool:
    """Whether there is nothing to look at after a call, and none of its operands is without elements."""
    return not is_checked(node) and all(prod(item.shape) for item in node.inputs)


def _can_join(
    node: Node, source: Node, groups: Mapping[Node, Group], users: Mapping[Node, Sequence[Node]], wanted: set[Node]
) -> bool:
    """Whether a kernel that gives `source` may go on with the operator that alone reads it."""
    if source not in groups or source in wanted or list(users[source]) != [node] or node.inputs.count(source) > 1:
        return False
    group = groups[source]
    if group.procedure or (is_checked(node) and node.inputs[0] is not source):
        return False
    if len(group.nodes) >= _LONGEST or kind_of(node) == "gather":
        return False
    if kind_of(node) == "elementwise":
        return source.shape == node.shape
    return group.anchor is None or not works_in_blocks(group.anchor)


def with_beginnings(groups: Sequence[Group], users: Mapping[Node, Sequence[Node]], kept: Iterable[Node]) -> list[Group]:
    """The groups, of which convolutions that lay their data in blocks anyway take bytes as they came and move their zero."""
    wanted = set(kept)
    first = {group.result: group for group in groups if len(group.nodes) == 1 and _moves_input(group.result)}
    joined = {
        group.nodes[0]: first[group.nodes[0].inputs[0]] for group in groups if _can_begin(group.nodes[0], first, users, wanted)
    }
    taken = {group.result for group in joined.values()}
    return [
        replace(group, nodes=(*joined[group.nodes[0]].nodes, *group.nodes)) if group.nodes[0] in joined else group
        for group in groups
        if group.result not in taken
    ]


def _moves_input(node: Node) -> bool:
    return node.op == ops.QNN_REQUANTIZE and node.inputs[0].op == ops.INPUT


def _can_begin(node: Node, first: Collection[Node], users: Mapping[Node, Sequence[Node]], wanted: set[Node]) -> bool:
    if node.op != ops.QNN_CONV2D or not works_in_blocks(node):
        return False
    source = node.inputs[0]
    return source in first and source not in wanted and list(users[source]) == [node]


def choose_layouts(
    groups: Sequence[Group],
    users: Mapping[Node, Sequence[Node]],
    kept: Iterable[Node],
    block: int,
    packed: Collection[Node] = (),
) -> dict[Node, Layout]:
    """Values that lie in blocks of channels: those of images that only kernels which like blocks give and read.

    Of those in `packed` the other side is an accelerator with such blocks, whose values are what they are, and images.
    """
    wanted = set(kept)
    inside = {node: group for group in groups for node in group.nodes}
    results = {group.result for group in groups}
    given = (node for node in packed if node not in results)
    layouts = {node: Layout(block) for node in given if _is_read_by_elements(node, users[node], inside)}
    for group in groups:
        if group.result in packed and _gives_blocks(group, layouts):
            layouts[group.result] = Layout(block)
            continue
        result = group.result
        readers = users[result]
        if (
            result not in wanted
            and result.dtype in _BLOCKED
            and _gives_blocks(group, layouts)
            and all(user in inside and _reads_blocks(user, result) for user in readers)
        ):
            layouts[result] = Layout(block, offset=result.dtype == "int8")
    return layouts


def _is_read_by_elements(node: Node, readers: Sequence[Node], inside: Mapping[Node, Group]) -> bool:
    """Whether all that kernels make of a value are elements at its own places."""
    return all(user in inside and is_elementwise(user) and user.shape == node.shape for user in readers)


def _gives_blocks(group: Group, layouts: Mapping[Node, Layout]) -> bool:
    """Whether a kernel computes in blocks anyway."""
    others = [node for node in group.nodes if node is not group.anchor]
    if len(group.result.shape) != _IMAGE or not all(map(_keeps_channels, others)):
        return False
    if group.anchor is not None:
        return works_in_blocks(group.anchor)
    return any(source in layouts for source in group.inputs())


def _reads_blocks(user: Node, value: Node) -> bool:
    """Whether an operator reads a value in blocks as fast as row by row."""
    if is_anchor(user):
        return works_in_blocks(user) and user.inputs[0] is value and value not in user.inputs[1:]
    return len(user.shape) == _IMAGE and _keeps_channels(user)


def _keeps_channels(node: Node) -> bool:
    """Whether each image and channel of a result is made of that of the operands."""
    if is_elementwise(node):
        return True
    if not is_pointwise(node) or len(node.shape) != _IMAGE:
        return False
    match node.attrs:
        case PadAttributes(pad_width=widths):
            return widths[:2] == ((0, 0), (0, 0))
        case StridedSliceAttributes() as attrs:
            return attrs.strides[:2] == (1, 1) and node.shape[:2] == node.inputs[0].shape[:2]
        case _:
            return node.op == ops.UPSAMPLING
