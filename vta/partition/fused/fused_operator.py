"""What VTA computes as one operator: an anchor with an int8 input, an int32 epilogue, and a result that is stored."""

from __future__ import annotations

from functools import cached_property

from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.quantized.rescale import RescaleAttributes
from vta.ir.ops.shape import PadAttributes
from vta.partition.fused.copies import COPIES
from vta.partition.fused.template_support import template_support
from vta.support.dataclass import dataclass

__all__ = [
    "ANCHORS",
    "COMMUTATIVE",
    "INT8_OPERATORS",
    "STEPS",
    "Branch",
    "FusedOperator",
    "is_channelwise",
    "is_int8_operator",
    "is_operand",
    "is_output_padding",
    "is_view",
    "rescaled_operand",
    "split_operand",
    "unwrapped",
    "value_and_operand",
    "view_source",
]

ANCHORS = (ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE, ops.MATMUL2D, ops.SUM_POOL2D)
COMMUTATIVE = (ops.ADD, ops.MULTIPLY, ops.MAXIMUM, ops.MINIMUM)
STEPS = (*COMMUTATIVE, ops.LEFT_SHIFT, ops.RIGHT_SHIFT, ops.CLIP, ops.RELU, ops.BIAS_ADD, ops.RESCALE)
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

    @cached_property
    def steps(self) -> tuple[Node, ...]:
        """Those of the epilogue, then those of its branches."""
        return (*self.epilogue, *(step for branch in self.branches for step in branch.steps))

    @cached_property
    def operands(self) -> dict[Node, Node | None]:
        """The second operand of each step, if it has one."""
        return {step: value_and_operand(step)[1] for step in self.steps}

    @cached_property
    def tensor_operands(self) -> tuple[Node, ...]:
        """The second operands in the epilogue that are int8 tensors, scaled or not."""
        joins = {branch.join for branch in self.branches}
        found = ((step, self.operands[step]) for step in self.epilogue)
        return tuple(node for step, node in found if node is not None and node.op != ops.CONSTANT and step not in joins)

    @cached_property
    def operand_factors(self) -> tuple[tuple[Node, Node | None, str], ...]:
        """What `split_operand` says of them."""
        return tuple(split_operand(operand) for operand in self.tensor_operands)

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


def is_output_padding(node: Node) -> bool:
    """Whether an int8 node pads height and width of an image."""
    return (
        node.op == ops.PAD
        and node.dtype == "int8"
        and len(node.shape) == _IMAGE_RANK
        and not any(map(any, attrs_of(node, PadAttributes).pad_width[:2]))
    )


def is_channelwise(shape: tuple[int, ...], result: tuple[int, ...]) -> bool:
    """Whether a tensor has a value for each sample and channel of an image of shape `result`, which has several places."""
    return len(shape) == len(result) == _IMAGE_RANK and shape[:2] == result[:2] and shape[2:] == (1, 1) != result[2:]


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

    What rescales it is no part of that: see `rescaled_operand`. Raises `ValueError` if `node` is not cast(int8), optionally
    multiplied or shifted left by a constant.
    """
    factor, op = None, ""
    rescale = rescaled_operand(node)
    node = unwrapped(node if rescale is None else rescale.inputs[0])
    if node.op in (ops.MULTIPLY, ops.LEFT_SHIFT) and node.inputs[1].op == ops.CONSTANT:
        factor, op = node.inputs[1], node.op
        node = node.inputs[0]
    if node.op != ops.CAST or node.dtype != "int32" or node.inputs[0].dtype != "int8":
        raise ValueError("not a tensor operand")
    return node.inputs[0], factor, op


def rescaled_operand(node: Node) -> Node | None:
    """The operator that rescales a tensor operand to 32 bits, if there is one."""
    return node if node.op == ops.RESCALE and not attrs_of(node, RescaleAttributes).narrow else None


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
    """The value that a step continues, and its second operand, if it has one; the wrap of a 16-bit accumulator is no step.

    What rescales holds constants only.
    """
    if len(step.inputs) == 1 or step.op == ops.RESCALE:
        return unwrapped(step.inputs[0]), None
    first, second = (unwrapped(source) for source in step.inputs)
    if second.op == ops.CONSTANT or step.op not in COMMUTATIVE:
        return first, second
    swapped = first.op == ops.CONSTANT or (is_operand(first) and not is_operand(second))
    return (second, first) if swapped else (first, second)


def _flat_shape(shape: tuple[int, ...]) -> tuple[int, int] | None:
    if len(shape) == 2:
        return shape[0], shape[1]
    if len(shape) == 4 and shape[2:] == (1, 1):
        return shape[0], shape[1]
    return None


def is_int8_operator(op: str) -> bool:
    """Whether `op` on an int8 value is a fused operator by itself."""
    return op in INT8_OPERATORS or template_support(op) is not None
