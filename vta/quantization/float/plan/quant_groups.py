"""Finds what is quantised together: a convolution with its bias, residual addition and activation has one rounding at its end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.arithmetic.not_finite import is_finite
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.ops.nn.activation import LeakyReluAttributes
from vta.ir.ops.nn.norm import AxisAttributes
from vta.ir.state import state_nodes
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.plan.functions import Function, functions_of
from vta.quantization.float.plan.masks import MaskedScores, masked_scores
from vta.quantization.float.plan.rows import is_row_softmax
from vta.support.dataclass import dataclass

__all__ = [
    "LAYOUT_OPS",
    "RECTIFIERS",
    "WEIGHTED_OPS",
    "Plan",
    "QuantGroup",
    "channel_vector",
    "make_plan",
    "scalar_factor",
    "slopes_of",
]

LAYOUT_OPS = frozenset(
    {
        ops.RESHAPE,
        ops.TRANSPOSE,
        ops.SQUEEZE,
        ops.EXPAND_DIMS,
        ops.STRIDED_SLICE,
        ops.BROADCAST_TO,
        ops.BATCH_FLATTEN,
        ops.UPSAMPLING,
    }
)
"""Operators that only move values."""

WEIGHTED_OPS = (ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE)
"""Products with constant weights."""

_UNMEASURED = (0,)
"""Convolutions that stay in float where nobody has said which, or measured it."""
_ACTIVATIONS = frozenset({ops.RELU, ops.CLIP})
RECTIFIERS = frozenset({ops.LEAKY_RELU, ops.PRELU})
"""Activations with a slope below zero."""
_MOVES = LAYOUT_OPS | _ACTIVATIONS | RECTIFIERS | {ops.CONCATENATE, ops.PAD}
"""Operators whose result is integer if what they read is."""
_POOLS = frozenset({ops.MAX_POOL2D, ops.AVG_POOL2D, ops.GLOBAL_AVG_POOL2D, ops.GLOBAL_MAX_POOL2D})


@dataclass(frozen=True)
class QuantGroup:
    """Float nodes that become one integer operator, from `anchor` to `result`: they get one rounding together."""

    anchor: Node
    """nn.conv2d, nn.conv2d_transpose, nn.dense, nn.matmul, a per-channel multiply or nn.batch_norm, or an add of two tensors."""
    nodes: tuple[Node, ...]
    """All nodes, anchor first."""
    biases: tuple[Node, ...]
    addition: Node | None
    """The residual addition."""
    residual: Node | None
    """Its other operand."""
    activation: Node | None

    @property
    def result(self) -> Node:
        """The node whose value the integer operator gives."""
        return self.nodes[-1]

    @property
    def before_addition(self) -> Node:
        """The node whose value meets the residual."""
        assert self.addition is not None
        return self.nodes[self.nodes.index(self.addition) - 1]

    @property
    def rectifies(self) -> bool:
        """Whether its activation has a slope below zero."""
        return self.activation is not None and self.activation.op in RECTIFIERS

    @property
    def before_activation(self) -> Node:
        """The node whose value the activation takes; without one, the result."""
        return self.result if self.activation is None else self.activation.inputs[0]


@dataclass(frozen=True)
class Plan:
    """What of a float graph can be quantised, and how."""

    groups: dict[Node, QuantGroup]
    """By their result."""
    members: frozenset[Node]
    """All nodes of all groups."""
    partial: frozenset[Node]
    """The results of groups, and the values that meet a residual or a rectifier."""
    integer_use: frozenset[Node]
    """Values that an integer operator reads, perhaps through operators that only move values."""
    functions: dict[Node, Function]
    """Functions of one value, by their results."""
    products: frozenset[Node]
    """Products of two tensors, of one shape or one of them a value for each channel, that integer steps can compute."""
    softmaxes: dict[Node, MaskedScores]
    """Softmaxes between products of two tensors, along the last axis, and what they are of."""

    @cached_property
    def inner(self) -> frozenset[Node]:
        """Values within groups, but for those that rectifiers take: hardly any of them ever gets a scale."""
        rectified = {group.before_activation for group in self.groups.values() if group.rectifies}
        return self.members - self.groups.keys() - rectified

    @cached_property
    def inside(self) -> frozenset[Node]:
        """The nodes of all functions."""
        return frozenset(node for function in self.functions.values() for node in function.nodes)


def make_plan(
    graph: Graph,
    config: QuantizeConfig,
    kept: Collection[Node] = frozenset(),
    *,
    multiplies: bool = False,
    multiplies_matrices: bool = False,
    longest_rows: Sequence[int] = (),
) -> Plan:
    """Group the nodes of a canonical float graph: each in at most one group, weighted ones taking precedence over additions.

    Nodes among `kept` stay in float. `multiplies`: products of two tensors can be integer, too; `multiplies_matrices`: those of
    matrices. `longest_rows`: how many values a softmax can be of, by the bytes that what is added to each takes.
    """
    finder = _Finder(graph, config, kept)
    finder.grow_all(finder.is_weighted)
    if multiplies_matrices:
        finder.grow_matmuls()
    functions = functions_of(graph, finder.members | {node for node in graph.calls() if finder.is_kept(node)})
    finder.functions = frozenset(node for function in functions.values() for node in function.nodes)
    finder.grow_all(finder.is_scaling)
    finder.grow_all(finder.is_addition)
    products = frozenset(node for node in graph.calls() if multiplies and finder.is_product(node))
    groups = {group.result: group for group in finder.groups}
    partial = {group.before_addition for group in finder.groups if group.addition is not None}
    partial |= {group.before_activation for group in finder.groups if group.rectifies}
    softmaxes = finder.softmaxes(longest_rows)
    used = _integer_use(graph, finder, functions, products | softmaxes.keys(), softmaxes.values())
    return Plan(groups, frozenset(finder.members), frozenset(partial | groups.keys()), used, functions, products, softmaxes)


def channel_vector(node: Node, rank: int, channels: int) -> NDArray[np.float64] | None:
    """Return a constant operand as one value for each channel (axis 1), or None if it is not one, or not finite."""
    if node.value is None or not is_finite(node.value):
        return None
    value = node.value.astype(np.float64)
    if value.size == 1:
        return np.full(channels, value.reshape(()))
    padded = (1,) * (rank - value.ndim) + value.shape
    if padded != tuple(channels if axis == 1 else 1 for axis in range(rank)):
        return None
    return value.reshape(channels)


class _Finder:
    def __init__(self, graph: Graph, config: QuantizeConfig, kept: Collection[Node]) -> None:
        self.nodes = graph.calls()
        self.users = graph.users()
        self.functions: frozenset[Node] = frozenset()
        self.outputs = frozenset(graph.outputs)
        self.config = config
        self.members: set[Node] = set()
        self.groups: list[QuantGroup] = []
        convolutions = [node for node in self.nodes if node.op == ops.CONV2D]
        self.kept = frozenset(kept)
        skipped = _UNMEASURED if config.skip_conv_layers is None else config.skip_conv_layers
        self.skipped = self.kept | {node for index, node in enumerate(convolutions) if index in skipped}

    def grow_all(self, accepts: Callable[[Node], bool]) -> None:
        """Make a group of each node that is in none, and that `accepts` says may be an anchor."""
        for node in self.nodes:
            if node not in self.members and node not in self.functions and accepts(node):
                self.grow(node)

    def is_kept(self, node: Node) -> bool:
        """Whether a node stays in float."""
        return node in self.skipped or node.name in self.config.skip_layers or node.dtype != "float32"

    def is_weighted(self, node: Node) -> bool:
        if node.op not in WEIGHTED_OPS or self.is_kept(node):
            return False
        return node.inputs[1].value is not None and not (node.op == ops.DENSE and self.config.skip_dense)

    def grow_matmuls(self) -> None:
        """Make a group of each product of as many matrices of two tensors, with a number that it is multiplied by."""
        for node in self.nodes:
            if node.op != ops.MATMUL or self.is_kept(node) or node in self.members or self.config.skip_dense:
                continue
            if node.inputs[0].shape[:-2] != node.inputs[1].shape[:-2] or not all(map(self._varies, node.inputs)):
                continue
            user = self._follower(node)
            nodes = (node,) if user is None or scalar_factor(user, node) is None else (node, user)
            self.members.update(nodes)
            self.groups.append(QuantGroup(node, nodes, (), None, None, None))

    def _varies(self, node: Node) -> bool:
        return node.value is None and node not in self.kept

    def is_scaling(self, node: Node) -> bool:
        if self.is_kept(node) or len(node.shape) != 4:
            return False
        if node.op == ops.BATCH_NORM:
            return attrs_of(node, AxisAttributes).axis == 1 and all(source.value is not None for source in node.inputs[1:])
        return node.op == ops.MULTIPLY and self._constant(node) is not None

    def is_addition(self, node: Node) -> bool:
        return node.op == ops.ADD and not self.is_kept(node) and self._tensors(node)

    def is_product(self, node: Node) -> bool:
        """Whether a node multiplies two tensors, one of which may have a value for each channel."""
        if node.op != ops.MULTIPLY or node in self.functions or self.is_kept(node) or len(node.shape) not in (2, 4):
            return False
        shapes = {node.shape, (*node.shape[:2], *(1 for _ in node.shape[2:]))}
        alike = all(source.value is None and source not in self.kept and source.shape in shapes for source in node.inputs)
        return alike and any(source.shape == node.shape for source in node.inputs)

    def softmaxes(self, longest: Sequence[int]) -> dict[Node, MaskedScores]:
        """The softmaxes of what products of two tensors give, and constants are added to, which other products read."""
        products = [group for group in self.groups if group.anchor.op == ops.MATMUL]
        results, read = {group.result for group in products}, {node for group in products for node in group.anchor.inputs}
        found = dict[Node, MaskedScores]()
        for node in self.nodes if longest else ():
            if node in read and not self.is_kept(node) and is_row_softmax(node, longest[0]):
                scores = masked_scores(node.inputs[0], results.__contains__, self.is_kept)
                if scores is not None and node.shape[-1] <= longest[scores.planes]:
                    found[node] = scores
        return found

    def _tensors(self, node: Node) -> bool:
        sources = node.inputs
        return all(source.value is None and source.shape == node.shape and source not in self.kept for source in sources)

    @staticmethod
    def _constant(node: Node) -> NDArray[np.float64] | None:
        data, operand = node.inputs
        if data.shape != node.shape or len(node.shape) < 2:
            return None
        return channel_vector(operand, len(node.shape), node.shape[1])

    def _follower(self, node: Node) -> Node | None:
        users = self.users[node]
        if node in self.outputs or len(users) != 1:
            return None
        user = users[0]
        taken = user in self.members or user in self.functions or self.is_kept(user) or user.inputs.count(node) != 1
        return None if taken else user

    def grow(self, anchor: Node) -> None:
        nodes, biases = [anchor], []
        addition = residual = activation = None
        weighted = not self.is_addition(anchor)
        while activation is None and (user := self._follower(nodes[-1])) is not None:
            if user.op in _ACTIVATIONS or (weighted and addition is None and slopes_of(user) is not None):
                activation = user
            elif weighted and addition is None and self._is_bias(user, nodes[-1]):
                biases.append(user)
            elif weighted and addition is None and user.op == ops.ADD and self._tensors(user):
                addition = user
                residual = next(source for source in user.inputs if source is not nodes[-1])
            else:
                break
            nodes.append(user)
        self.members.update(nodes)
        self.groups.append(QuantGroup(anchor, tuple(nodes), tuple(biases), addition, residual, activation))

    def _is_bias(self, node: Node, source: Node) -> bool:
        if node.inputs[0] is not source:
            return False
        if node.op == ops.BIAS_ADD:
            return attrs_of(node, AxisAttributes).axis == 1 and node.inputs[1].value is not None
        return node.op == ops.ADD and self._constant(node) is not None


def scalar_factor(node: Node, value: Node) -> float | None:
    """The positive number that a node multiplies `value` by; None if it does something else."""
    if node.op not in (ops.MULTIPLY, ops.DIVIDE) or node.inputs[0] is not value or node.shape != value.shape:
        return None
    number = node.inputs[1].value
    if number is None or number.size != 1 or not 0 < number.item() < np.inf:
        return None
    return float(number.item() if node.op == ops.MULTIPLY else 1 / number.item())


def slopes_of(node: Node) -> float | tuple[float, ...] | None:
    """The slope below zero of a rectifier, one or one for each channel; None for what the integer operator cannot do."""
    if node.op == ops.LEAKY_RELU:
        slopes = np.array([attrs_of(node, LeakyReluAttributes).alpha])
    elif node.op == ops.PRELU and node.inputs[1].value is not None:
        slopes = node.inputs[1].value.astype(np.float64).reshape(-1)
    else:
        return None
    if not slopes.size or not np.abs(slopes).max() <= 128:
        return None
    return float(slopes[0]) if (slopes == slopes[0]).all() else tuple(float(slope) for slope in slopes)


def _integer_use(
    graph: Graph,
    finder: _Finder,
    functions: dict[Node, Function],
    products: Collection[Node],
    softmaxes: Collection[MaskedScores],
) -> frozenset[Node]:
    """Those of the graph, and the next values of states that are read so."""
    scores = frozenset(of.scores for of in softmaxes)
    used = _read_as_integers(graph, finder, functions, products, scores)
    while added := {after for held, after in state_nodes(graph) if held in used} - used - finder.kept:
        used = _read_as_integers(graph, finder, functions, products, used | added)
    return used - frozenset(node for of in softmaxes for node in of.between)


def _read_as_integers(
    graph: Graph, finder: _Finder, functions: dict[Node, Function], products: Collection[Node], known: frozenset[Node]
) -> frozenset[Node]:
    anchors = {group.anchor for group in finder.groups}
    residuals = {group.residual for group in finder.groups}
    used = set(known)
    results: dict[Node, list[Node]] = {}
    for function in functions.values():
        results.setdefault(function.root, []).append(function.result)
    for node in reversed(graph.nodes()):
        read = any(_reads(user, anchors, used, products) for user in finder.users[node] if user not in finder.functions)
        if read or node in residuals or any(result in used for result in results.get(node, ())):
            used.add(node)
    return frozenset(used - finder.kept)


def _reads(user: Node, anchors: Collection[Node], used: Collection[Node], products: Collection[Node]) -> bool:
    """Whether an operator reads integers, of which `used` are those that others want of it."""
    if user in anchors or user.op in _POOLS or user.op == ops.NORMALIZE:
        return True
    return user in used and (user.op in _MOVES or user in products)
