"""Finds the VTA operators of an integer graph: from an int8 anchor through an int32 epilogue to a value that is stored."""

from __future__ import annotations

from dataclasses import replace

from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.partition.copies import COPIES, adds_channels
from vta.partition.template_support import template_support
from vta.support.dataclass import dataclass

__all__ = [
    "FusedOperator",
    "Branch",
    "value_and_operand",
    "find_fused_operators",
    "is_operand",
    "is_view",
    "split_operand",
    "unwrapped",
    "view_source",
]

ANCHORS = (ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE, ops.SUM_POOL2D)
COMMUTATIVE = (ops.ADD, ops.MULTIPLY, ops.MAXIMUM, ops.MINIMUM)
STEPS = (*COMMUTATIVE, ops.LEFT_SHIFT, ops.RIGHT_SHIFT, ops.CLIP, ops.RELU, ops.BIAS_ADD)
INT8_OPERATORS = (ops.RELU, ops.CLIP, *COPIES)
"""Those that are fused operators by themselves on int8 values; those of templates are, too."""
_IMAGE_RANK = 4
_VIEWS = (ops.RESHAPE, ops.BATCH_FLATTEN, ops.SQUEEZE, ops.EXPAND_DIMS)


@dataclass(frozen=True, eq=False)
class Branch:
    """Steps that start from a value of a fused operator and join it again in an operation of both."""

    start: Node
    """The value that both continue."""
    join: Node
    """An addition, multiplication, maximum or minimum."""
    steps: tuple[Node, ...]
    """The operators on the way, each with a constant, in order."""


@dataclass(frozen=True, eq=False)
class FusedOperator:
    """One VTA operator in the graph."""

    result: Node
    """The value that it stores: int8, or int32 for a consumer on the host."""
    anchor: Node
    """What the accumulator starts from; for an operator on int8 values, `result` itself."""
    epilogue: tuple[Node, ...]
    """The int32 operators between anchor and result, in order."""
    nodes: tuple[Node, ...]
    """Everything that the fused operator computes, in topological order."""
    sources: tuple[Node, ...]
    """The int8 values that it reads, each once."""
    branches: tuple[Branch, ...] = ()
    """In the order in which they join."""

    @property
    def output_padding(self) -> Node | None:
        """The pad around what it computes, where it stores one."""
        return self.result if is_output_padding(self.result) else None

    @property
    def unpadded(self) -> Node:
        """The value that it computes, without the pad that it may store around it."""
        return self.result if self.output_padding is None or self.anchor is self.result else self.result.inputs[0]

    def branch_at(self, join: Node) -> Branch | None:
        """The branch that joins at a step."""
        return next((branch for branch in self.branches if branch.join is join), None)

    @property
    def label(self) -> str:
        """The layer that the operator is called after: that of its products, or of its result where it has none."""
        return self.anchor.name if self.anchor.op in ANCHORS else self.result.name


def find_fused_operators(graph: Graph) -> tuple[dict[Node, FusedOperator], dict[Node, str]]:
    """Return the fused operators by the result of each, and for calls outside all of them why they start or join none."""
    users = graph.users()
    outputs = set(graph.outputs)
    fused_operators: dict[Node, FusedOperator] = {}
    reasons: dict[Node, str] = {}
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
            reasons[node] = _reason(node)
    return fused_operators, {node: reason for node, reason in reasons.items() if node not in inside}


def is_output_padding(node: Node) -> bool:
    """Whether an int8 node pads height and width of an image."""
    return (
        node.op == ops.PAD
        and node.dtype == "int8"
        and len(node.shape) == _IMAGE_RANK
        and not any(map(any, node.attrs.pad_width[:2]))
    )


def _takes_padding(node: Node, users: list[Node], outputs: set[Node]) -> bool:
    """Whether the fused operator that ends at `node` can store the pad of it, which is all that reads it."""
    return (
        node.op == ops.CAST and node.dtype == "int8" and node not in outputs and len(users) == 1 and is_output_padding(users[0])
    )


def _with_padding(
    pad: Node, fused_operators: dict[Node, FusedOperator], users: dict[Node, list[Node]], outputs: set[Node]
) -> FusedOperator | str:
    """The fused operator that stores `pad`: that of its source, or a copy of what another fused operator stores."""
    source = pad.inputs[0]
    if _takes_padding(source, users[source], outputs):
        found = _fused_to(source, users, outputs)
        return found if isinstance(found, str) else replace(found, result=pad, nodes=(*found.nodes, pad))
    if view_source(source) in fused_operators:
        return FusedOperator(pad, pad, (), (pad,), (source,))
    return "padded on the host, before VTA reads it"


def is_view(node: Node) -> bool:
    """Whether an int8 node only renames (N, C, 1, 1) as (N, C) or back, which a packed tensor does not notice."""
    if node.op not in _VIEWS or node.dtype != "int8":
        return False
    before, after = _flat_shape(node.inputs[0].shape), _flat_shape(node.shape)
    return before is not None and before == after


def view_source(node: Node) -> Node:
    """The node that `node` is a view of, through any number of views."""
    while is_view(node):
        node = node.inputs[0]
    return node


def split_operand(node: Node) -> tuple[Node, Node | None, str]:
    """Take a tensor operand apart: the int8 tensor, and the constant and operator that scale it, if any.

    Raises `ValueError` if `node` is not cast(int8), optionally multiplied or shifted left by a constant.
    """
    factor, op = None, ""
    node = unwrapped(node)
    if node.op in (ops.MULTIPLY, ops.LEFT_SHIFT) and node.inputs[1].op == ops.CONSTANT:
        factor, op = node.inputs[1], node.op
        node = node.inputs[0]
    if node.op != ops.CAST or node.dtype != "int32" or node.inputs[0].dtype != "int8":
        raise ValueError("not a tensor operand")
    return node.inputs[0], factor, op


def unwrapped(node: Node) -> Node:
    """The value that `node` reduces to 16 bits and widens again, or `node` itself."""
    narrow = node.inputs[0] if node.op == ops.CAST and node.dtype == "int32" else node
    return narrow.inputs[0] if narrow.op == ops.CAST and narrow.dtype == "int16" else node


def is_operand(node: Node) -> bool:
    """Whether `node` is a tensor operand that `split_operand` takes apart."""
    try:
        split_operand(node)
    except ValueError:
        return False
    return True


def value_and_operand(step: Node) -> tuple[Node, Node | None]:
    """The value that a step continues, and its second operand, if it has one; the wrap of a 16-bit accumulator is no step."""
    if len(step.inputs) == 1:
        return unwrapped(step.inputs[0]), None
    first, second = (unwrapped(source) for source in step.inputs)
    swapped = step.op in COMMUTATIVE and (first.op == ops.CONSTANT or (is_operand(first) and not is_operand(second)))
    if swapped and second.op != ops.CONSTANT:
        return second, first
    return first, second


def _flat_shape(shape: tuple[int, ...]) -> tuple[int, int] | None:
    if len(shape) == 2:
        return shape[0], shape[1]
    if len(shape) == 4 and shape[2:] == (1, 1):
        return shape[0], shape[1]
    return None


def is_int8_operator(op: str) -> bool:
    """Whether `op` on an int8 value is a fused operator by itself."""
    return op in INT8_OPERATORS or template_support(op) is not None


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


def _fused_to(end: Node, users: dict[Node, list[Node]], outputs: set[Node]) -> FusedOperator | str:
    """Walk back from `end` to the anchor; returns the fused operator, or why there is none."""
    if end.dtype == "int8" and (is_int8_operator(end.op) or adds_channels(end)):
        return FusedOperator(end, end, (), (end,), tuple(dict.fromkeys(end.inputs)))
    steps: list[Node] = []
    node = unwrapped(end.inputs[0]) if end.op == ops.CAST else end
    inside = [end]
    sources: list[Node] = []
    branches: list[Branch] = []
    while node.op in STEPS:
        if node is not end and _used_outside(node, branches, users, outputs):
            return f"its int32 value {node.name} ({node.op}) is used more than once"
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
                return f"operand {operand.name} ({operand.op}) of {steps[-1].op} is neither a constant nor an int8 tensor"
            sources.append(split_operand(operand)[0])
            inside += _operand_nodes(operand)
    if node.op in ANCHORS and node is not end and _used_outside(node, branches, users, outputs):
        return f"the accumulator of {node.name} ({node.op}) is used more than once"
    start = _start(node, end)
    if isinstance(start, str):
        return start
    sources.append(start[0])
    inside += [node, *start[1]]
    order = tuple(dict.fromkeys(reversed(inside)))
    if not all(branch.start in order for branch in branches):
        return f"the branch at {branches[0].join.name} ({branches[0].join.op}) starts from a value of another chain"
    return FusedOperator(
        end, node, tuple(reversed(steps)), order, tuple(dict.fromkeys(reversed(sources))), tuple(reversed(branches))
    )


def _start(node: Node, end: Node) -> tuple[Node, list[Node]] | str:
    """The int8 value that an anchor reads, with the nodes between; or why the operator of `end` cannot start from `node`."""
    if node.op == ops.CAST and node.dtype == "int32" and node.inputs[0].dtype == "int8":
        if end.dtype == "int32":
            return "an int32 result needs a convolution, dense or pooling to start from"
        return node.inputs[0], []
    if node.op not in ANCHORS or node.inputs[0].dtype != "int8":
        return f"its int32 value comes from {node.name} ({node.op}), which VTA cannot start from"
    if any(source.op != ops.CONSTANT for source in node.inputs[1:]):
        return "its weights are not constant"
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


def _reason(node: Node) -> str:
    if node.op == ops.CALL:
        return f"given to target {node.attrs.target} as {node.attrs.body.name}, for which the host computes it"
    if node.op in (ops.QNN_QUANTIZE, ops.QNN_DEQUANTIZE):
        return "border between float and integer values"
    if node.dtype.startswith("float") and node.op in (ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE):
        return "left in float by the quantiser, as the first convolution is by default"
    if node.dtype.startswith("float") or any(source.dtype.startswith("float") for source in node.inputs):
        return "computes in float"
    if node.dtype == "int32":
        return "its int32 result does not lead to one that VTA can store"
    return f"no VTA template for {node.op} on {node.dtype}"
