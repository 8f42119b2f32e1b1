"""The statements of a program that store something, each with the loops around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from vta.autotune.auto.structure import arithmetic
from vta.host.loop.affine import affine_of
from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Binary, Expr, Load, Var, loads, walk
from vta.host.loop.nest import Barrier, Block, Function, Let, Loop, Program, Statement, Store
from vta.support.dataclass import dataclass

__all__ = ["Access", "Leaf", "function_leaves", "leaves_of"]

_INNER = ("unrolled", "vectorized", "transposed", "dot", "tensor")
_LINE_BYTES = 64


@dataclass(frozen=True)
class Access:
    """A place that a statement reads or writes."""

    buffer: Buffer
    factors: Mapping[str, int]
    """By how many elements it moves with each variable."""
    known: bool
    """Whether it moves evenly; else the variables that it depends on have factor 0 or 1 here."""
    dimensions: tuple[Mapping[str, int] | None, ...]
    """The same of each index; None where it is no sum."""

    def moves(self, variable: str) -> bool:
        """Whether it depends on a variable."""
        return variable in self.factors

    def nbytes(self, extents: Mapping[str, int]) -> int:
        """Bytes of the lines of memory that it touches while some variables take all their values."""
        sizes = [
            min(size, 1 + sum(abs(factor) * (extents[name] - 1) for name, factor in (moves or {}).items() if name in extents))
            if moves is not None
            else size
            for size, moves in zip(self.buffer.shape, self.dimensions, strict=True)
        ]
        item = np.dtype(self.buffer.dtype).itemsize
        row = sizes[-1] * item if sizes else item
        return prod(sizes[:-1]) * -(-row // _LINE_BYTES) * _LINE_BYTES


@dataclass(frozen=True)
class Leaf:
    """A statement that stores, and the loops around it."""

    outer: tuple[Loop, ...]
    """Those that count, outermost first."""
    inner: tuple[Loop, ...]
    """Those that are written out or run as vectors."""
    target: Access
    reads: tuple[Access, ...]
    operations: int
    """Of one value; a product that is added up counts as one with the sum."""
    accumulates: bool

    @property
    def trips(self) -> int:
        """How often what is written out is run."""
        return prod(loop.extent for loop in self.outer)

    @property
    def copies(self) -> int:
        """How often the statement is written out."""
        return prod(loop.extent for loop in self.inner if loop.kind == "unrolled")

    def lane_loop(self) -> Loop | None:
        """The loop that runs as vectors."""
        return next((loop for loop in self.inner if loop.kind == "vectorized"), None)


def leaves_of(program: Program) -> list[Leaf]:
    """All leaves of all functions."""
    return [leaf for function in program.functions for leaf in function_leaves(function)]


def function_leaves(function: Function) -> list[Leaf]:
    """Those of one function."""
    return list(_leaves(function.body, (), {}))


_Named = Mapping[str, tuple[str, ...]]
"""The loops that named parts of fused ones come from."""


def _leaves(statement: Statement, loops: tuple[Loop, ...], named: _Named) -> Iterator[Leaf]:
    match statement:
        case Store():
            yield _leaf(statement, loops, named)
        case Block(statements):
            for item in statements:
                yield from _leaves(item, loops, named)
        case Loop(body=body):
            yield from _leaves(body, (*loops, statement), named)
        case Let(variable, value, body):
            origins = tuple(dict.fromkeys(origin for name in _names(value) for origin in named.get(name, (name,))))
            yield from _leaves(body, loops, {**named, variable: origins})
        case Barrier():
            return
        case _:
            yield from _leaves(statement.body, loops, named)


def _leaf(store: Store, loops: tuple[Loop, ...], named: _Named) -> Leaf:
    count = len(loops)
    while count and loops[count - 1].kind in _INNER:
        count -= 1
    value = store.value
    work = arithmetic(value)
    if store.accumulate is not None and not (isinstance(value, Binary) and value.operation == "mul"):
        work += 1
    reads = tuple(_access(item, named) for item in loads(value))
    target = _access(Load(store.buffer, store.indices), named)
    return Leaf(loops[:count], loops[count:], target, reads, work, store.accumulate is not None)


def _access(place: Load, named: _Named) -> Access:
    parts = [affine_of(item) for item in place.indices]
    factors: dict[str, int] = {}
    dimensions: list[Mapping[str, int] | None] = []
    for part, stride, position in zip(parts, place.buffer.strides, place.indices, strict=True):
        if part is None:
            origins = [origin for name in _names(position) for origin in named.get(name, (name,))]
            factors.update(dict.fromkeys(origins, 1))
            dimensions.append(None)
            continue
        moves = {origin: factor for name, factor in part.factors.items() for origin in named.get(name, (name,))}
        dimensions.append(moves)
        for name, factor in moves.items():
            factors[name] = factors.get(name, 0) + factor * stride
    return Access(place.buffer, factors, all(part is not None for part in parts), tuple(dimensions))


def _names(position: Expr) -> list[str]:
    return [node.name for node in walk(position) if isinstance(node, Var)]
