"""Finds the VTA operators of an integer graph: back from every value that VTA could store to where its accumulator starts."""

from __future__ import annotations

from dataclasses import replace

from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.partition.fused.copies import adds_channels
from vta.partition.fused.fused_operator import (
    ANCHORS,
    COMMUTATIVE,
    STEPS,
    Branch,
    FusedOperator,
    is_int8_operator,
    is_operand,
    is_output_padding,
    is_view,
    split_operand,
    unwrapped,
    value_and_operand,
    view_source,
)
from vta.partition.fused.host_reasons import reason_outside
from vta.partition.fused.reason import Reason

__all__ = ["find_fused_operators"]


def find_fused_operators(graph: Graph) -> tuple[dict[Node, FusedOperator], dict[Node, Reason]]:
    """Return the fused operators by the result of each, and for calls outside all of them why they start or join none."""
    users = graph.users()
    outputs = set(graph.outputs)
    fused_operators: dict[Node, FusedOperator] = {}
    reasons: dict[Node, Reason] = {}
    for node in graph.calls():
        if not _ends_operator(node, users[node], outputs) or _takes_padding(node, users[node], outputs):
            continue
        found = (
            _with_padding(node, fused_operators, users, outputs) if is_output_padding(node) else _fused_to(node, users, outputs)
        )
        if isinstance(found, FusedOperator):
            fused_operators[node] = found
        else:
            reasons[node] = found
    inside = {node for fused in fused_operators.values() for node in fused.nodes}
    for node in graph.calls():
        if node not in inside and node not in reasons:
            reasons[node] = reason_outside(node)
    return fused_operators, {node: reason for node, reason in reasons.items() if node not in inside}


def _takes_padding(node: Node, users: list[Node], outputs: set[Node]) -> bool:
    """Whether the fused operator that ends at `node` can store the pad of it, which is all that reads it."""
    return (
        node.op == ops.CAST and node.dtype == "int8" and node not in outputs and len(users) == 1 and is_output_padding(users[0])
    )


def _with_padding(
    pad: Node, fused_operators: dict[Node, FusedOperator], users: dict[Node, list[Node]], outputs: set[Node]
) -> FusedOperator | Reason:
    """The fused operator that stores `pad`: that of its source, or a copy of what another fused operator stores."""
    source = pad.inputs[0]
    if _takes_padding(source, users[source], outputs):
        found = _fused_to(source, users, outputs)
        return found if isinstance(found, Reason) else replace(found, result=pad, nodes=(*found.nodes, pad))
    if view_source(source) in fused_operators:
        return FusedOperator(pad, pad, (), (pad,), (source,))
    return Reason("padded_before", "padded on the host, before VTA reads it", pad)


def _ends_operator(node: Node, users: list[Node], outputs: set[Node]) -> bool:
    if node.dtype == "int8":
        return (
            (node.op == ops.CAST and node.inputs[0].dtype == "int32")
            or is_int8_operator(node.op)
            or is_output_padding(node)
            or adds_channels(node)
        )
    if node.dtype != "int32" or node.op not in (*ANCHORS, *STEPS):
        return False
    return node in outputs or not users or any(not _continues(user) for user in users)


def _continues(user: Node) -> bool:
    """Whether a fused operator may go on through `user`, rather than the host reading its int32 value."""
    return user.op in STEPS or (user.op == ops.CAST and user.dtype == "int8")


def _fused_to(end: Node, users: dict[Node, list[Node]], outputs: set[Node]) -> FusedOperator | Reason:
    """Walk back from `end` to the anchor; returns the fused operator, or why there is none."""
    if end.dtype == "int8" and (is_int8_operator(end.op) or adds_channels(end)):
        read = dict.fromkeys(source for source in end.inputs if source.dtype == "int8")
        return FusedOperator(end, end, (), (end,), tuple(read))
    steps: list[Node] = []
    node = unwrapped(end.inputs[0]) if end.op == ops.CAST else end
    inside = [end]
    sources: list[Node] = []
    branches: list[Branch] = []
    while node.op in STEPS:
        if node is not end and _used_outside(node, branches, users, outputs):
            return Reason("used_more_than_once", f"its int32 value {node.name} ({node.op}) is used more than once", node)
        steps.append(node)
        inside.append(node)
        node, operand = value_and_operand(node)
        if operand is not None and operand.op != ops.CONSTANT:
            branch = None if is_operand(operand) else _branch_to(operand, steps[-1], users, outputs)
            if branch is not None:
                branches.append(branch)
                inside += reversed(branch.steps)
                continue
            if not is_operand(operand):
                text = f"operand {operand.name} ({operand.op}) of {steps[-1].op} is neither a constant nor an int8 tensor"
                return Reason("operand_kind", text, operand)
            sources.append(split_operand(operand)[0])
            inside += _operand_nodes(operand)
    if node.op in ANCHORS and node is not end and _used_outside(node, branches, users, outputs):
        return Reason("used_more_than_once", f"the accumulator of {node.name} ({node.op}) is used more than once", node)
    start = _start(node, end)
    if isinstance(start, Reason):
        return start
    if node.op == ops.MATMUL2D:
        sources.append(node.inputs[1])
    sources.append(start[0])
    inside += [node, *start[1]]
    order = tuple(dict.fromkeys(reversed(inside)))
    if not all(branch.start in order for branch in branches):
        join = branches[0].join
        return Reason(
            "other_branch", f"the branch at {join.name} ({join.op}) starts from a value of another fused operator", join
        )
    return FusedOperator(
        end, node, tuple(reversed(steps)), order, tuple(dict.fromkeys(reversed(sources))), tuple(reversed(branches))
    )


def _start(node: Node, end: Node) -> tuple[Node, list[Node]] | Reason:
    """The int8 value that an anchor reads, with the nodes between; or why the operator of `end` cannot start from `node`."""
    if node.op == ops.CAST and node.dtype == "int32" and node.inputs[0].dtype == "int8":
        if end.dtype == "int32":
            return Reason("needs_a_product", "an int32 result needs a convolution, dense or pooling to start from", end)
        return node.inputs[0], []
    if node.op not in ANCHORS or node.inputs[0].dtype != "int8":
        text = f"its int32 value comes from {node.name} ({node.op}), which VTA cannot start from"
        return Reason("cannot_start", text, node)
    if node.op == ops.MATMUL2D:
        return node.inputs[0], []
    if any(source.op != ops.CONSTANT for source in node.inputs[1:]):
        return Reason("constant_weights", "its weights are not constant", node)
    return _dense_source(node)


def _used_outside(node: Node, branches: list[Branch], users: dict[Node, list[Node]], outputs: set[Node]) -> bool:
    """Whether anything but the fused operator itself, with the branches found in it, reads `node`."""
    return node in outputs or len(users[node]) > 1 + sum(branch.start is node for branch in branches)


def _branch_to(operand: Node, join: Node, users: dict[Node, list[Node]], outputs: set[Node]) -> Branch | None:
    """The branch whose last step is `operand`, back to a value that more than one step reads."""
    steps: list[Node] = []
    node = operand
    while node.op in STEPS and len(users[node]) == 1 and node not in outputs:
        before, constant = value_and_operand(node)
        if constant is not None and constant.op != ops.CONSTANT:
            return None
        steps.append(node)
        node = before
    return Branch(node, join, tuple(reversed(steps))) if steps and join.op in COMMUTATIVE else None


def _operand_nodes(operand: Node) -> list[Node]:
    return [operand] if operand.op == ops.CAST else [operand, operand.inputs[0]]


def _dense_source(anchor: Node) -> tuple[Node, list[Node]]:
    """The tensor that an anchor reads, and the node between. A dense layer reads an image by a kernel of the image's size."""
    data = anchor.inputs[0]
    if anchor.op == ops.DENSE and data.op in (ops.BATCH_FLATTEN, ops.RESHAPE) and len(data.inputs[0].shape) == 4:
        image = data.inputs[0]
        if image.dtype == "int8" and image.shape[0] == data.shape[0] and not is_view(data):
            return image, [data]
    return data, []
