"""Dataflow patterns: expressions that describe a piece of a graph, and the rewriting of what matches.

    x, bound = wildcard(), is_constant()
    pattern = is_op("maximum")(is_op("nn.relu")(x), bound)
    graph = rewrite_pattern(graph, pattern, lambda found: call("maximum", [found[x], found[bound]], found.root.name))

A pattern object that stands at two places must match the same node at both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, with_inputs
from vta.ir.operator import lookup
from vta.support.dataclass import dataclass

__all__ = [
    "COMMUTATIVE",
    "Match",
    "Pattern",
    "is_constant",
    "is_filled_with",
    "is_input",
    "is_op",
    "match",
    "matches",
    "rewrite_pattern",
    "wildcard",
]

COMMUTATIVE = frozenset({ops.ADD, ops.MULTIPLY, ops.MAXIMUM, ops.MINIMUM})
"""Operators whose two operands match in either order."""

_Bindings = dict["Pattern", Node]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Describes a node and what it is computed from. Compared by identity."""

    def __or__(self, other: Pattern) -> Pattern:
        """Match this pattern, or else `other`."""
        return _Alternative(self, other)

    def __call__(self, *inputs: Pattern) -> Pattern:
        """Match a call whose inputs match `inputs`; only patterns made by `is_op` can be called."""
        raise GraphError("only is_op(...) and alternatives of it take inputs")

    def where(self, test: Callable[[Node], bool]) -> Pattern:
        """Match only nodes for which `test` holds."""
        return _Constrained(self, test)

    def has_attr(self, wanted: Mapping[str, Any] | None = None, **more: Any) -> Pattern:
        """Match only calls whose attributes have the given values; a callable value is a test of the attribute."""
        expected = {**(wanted or {}), **more}
        return self.where(lambda node: all(_attribute_is(node, key, value) for key, value in expected.items()))

    def has_dtype(self, dtype: str) -> Pattern:
        """Match only values of data type `dtype`."""
        return self.where(lambda node: node.dtype == dtype)

    def has_shape(self, shape: tuple[int | None, ...]) -> Pattern:
        """Match only values of `shape`; None matches any size."""
        return self.where(
            lambda node: (
                len(node.shape) == len(shape)
                and all(want is None or want == have for want, have in zip(shape, node.shape, strict=True))
            )
        )

    def optional(self, wrap: Callable[[Pattern], Pattern]) -> Pattern:
        """Match ``wrap(self)`` if that is there, or else just this pattern."""
        return wrap(self) | self

    def _matches(self, node: Node, bound: _Bindings) -> Iterator[_Bindings]:
        """Every way to match `node` that agrees with `bound`."""
        raise NotImplementedError


def _attribute_is(node: Node, key: str, expected: Any) -> bool:
    if not hasattr(node.attrs, key):
        return False
    value = getattr(node.attrs, key)
    return bool(expected(value) if callable(expected) else value == expected)


@dataclass(frozen=True, eq=False)
class _Wildcard(Pattern):
    def _matches(self, node: Node, bound: _Bindings) -> Iterator[_Bindings]:
        yield bound


@dataclass(frozen=True, eq=False)
class _Leaf(Pattern):
    op: str

    def _matches(self, node: Node, bound: _Bindings) -> Iterator[_Bindings]:
        if node.op == self.op:
            yield bound


@dataclass(frozen=True, eq=False)
class _Call(Pattern):
    op: str
    sources: tuple[Pattern, ...] | None = None
    """None: any inputs."""

    def __call__(self, *inputs: Pattern) -> Pattern:
        return _Call(self.op, inputs)

    def _matches(self, node: Node, bound: _Bindings) -> Iterator[_Bindings]:
        if node.op != self.op:
            return
        if self.sources is None:
            yield bound
            return
        if len(self.sources) != len(node.inputs):
            return
        yield from _match_all(self.sources, node.inputs, bound)
        if self.op in COMMUTATIVE:
            yield from _match_all(self.sources, node.inputs[::-1], bound)


@dataclass(frozen=True, eq=False)
class _Alternative(Pattern):
    first: Pattern
    second: Pattern

    def __call__(self, *inputs: Pattern) -> Pattern:
        return self.first(*inputs) | self.second(*inputs)

    def _matches(self, node: Node, bound: _Bindings) -> Iterator[_Bindings]:
        yield from _match(self.first, node, bound)
        yield from _match(self.second, node, bound)


@dataclass(frozen=True, eq=False)
class _Constrained(Pattern):
    inner: Pattern
    test: Callable[[Node], bool]

    def __call__(self, *inputs: Pattern) -> Pattern:
        return _Constrained(self.inner(*inputs), self.test)

    def _matches(self, node: Node, bound: _Bindings) -> Iterator[_Bindings]:
        for found in _match(self.inner, node, bound):
            if self.test(node):
                yield found


def _match(pattern: Pattern, node: Node, bound: _Bindings) -> Iterator[_Bindings]:
    if pattern in bound:
        if bound[pattern] is node:
            yield bound
        return
    for found in pattern._matches(node, bound):
        if found.get(pattern, node) is node:
            yield {**found, pattern: node}


def _match_all(patterns: tuple[Pattern, ...], nodes: tuple[Node, ...], bound: _Bindings) -> Iterator[_Bindings]:
    if not patterns:
        yield bound
        return
    for found in _match(patterns[0], nodes[0], bound):
        yield from _match_all(patterns[1:], nodes[1:], found)


@dataclass(frozen=True)
class Match:
    """What each part of a pattern matched."""

    root: Node
    bindings: Mapping[Pattern, Node]
    uses: Mapping[Node, int] = field(default_factory=dict)
    """How many nodes and outputs of the graph read a node; a node that only the matched expression reads may lack."""

    def __getitem__(self, pattern: Pattern) -> Node:
        return self.bindings[pattern]

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self.bindings

    def get(self, pattern: Pattern) -> Node | None:
        """Return what `pattern` matched, or None if it is an optional part or alternative that is not there."""
        return self.bindings.get(pattern)

    def calls(self) -> tuple[Node, ...]:
        """The nodes that an ``is_op`` of the pattern matched, each once: what the pattern stands for, without what it reads."""
        return tuple(dict.fromkeys(node for pattern, node in self.bindings.items() if isinstance(pattern, _Call)))

    def is_shared(self, pattern: Pattern) -> bool:
        """Whether the graph reads what `pattern` matched at more than one place."""
        return self.uses.get(self.bindings[pattern], 1) > 1


def wildcard() -> Pattern:
    """Return a pattern that matches any node."""
    return _Wildcard()


def is_constant() -> Pattern:
    """Return a pattern that matches constants."""
    return _Leaf(ops.CONSTANT)


def is_input() -> Pattern:
    """Return a pattern that matches graph inputs."""
    return _Leaf(ops.INPUT)


def is_op(name: str) -> Pattern:
    """Return a pattern that matches calls of operator `name`; call it with patterns to match the inputs as well.

    Raises `GraphError` if no such operator is declared.
    """
    return _Call(lookup(name).name)


def match(pattern: Pattern, node: Node, uses: Mapping[Node, int] | None = None) -> Match | None:
    """Return the first way in which `pattern` matches the expression that ends in `node`, or None."""
    return next(matches(pattern, node, uses), None)


def matches(pattern: Pattern, node: Node, uses: Mapping[Node, int] | None = None) -> Iterator[Match]:
    """Every way in which `pattern` matches the expression that ends in `node`; alternatives and optional parts in their order."""
    return (Match(node, found, uses or {}) for found in _match(pattern, node, {}))


def rewrite_pattern(graph: Graph, pattern: Pattern, callback: Callable[[Match], Node | None]) -> Graph:
    """Replace every expression that matches `pattern` by what `callback` returns; None keeps the expression.

    Works from the inputs to the outputs, once: `callback` sees expressions whose inputs are rewritten already. The
    replacement must have the type of what it replaces.
    """
    uses: dict[Node, int] = {}
    readers = {node: len(nodes) + graph.outputs.count(node) for node, nodes in graph.users().items()}
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        current = with_inputs(node, tuple([done[source] for source in node.inputs]))
        found = match(pattern, current, uses) if node.op != ops.INPUT else None
        replacement = None if found is None else callback(found)
        if replacement is not None and replacement.type != current.type:
            raise GraphError(f"{node.name}: a rewrite of {node.op} changes its type from {current.type} to {replacement.type}")
        done[node] = current if replacement is None else replacement
        uses[done[node]] = uses.get(done[node], 0) + readers[node]
    return graph.rebuilt(done)


def is_filled_with(value: float) -> Callable[[Node], bool]:
    """Return a test for constants all of whose elements equal `value`; for `Pattern.where`."""
    return lambda node: node.value is not None and bool(np.all(node.value == value))
