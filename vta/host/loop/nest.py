"""Loop nests: the statements that a scheduled kernel becomes. Printers turn them into text, LLVM IR or other languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Expr, loads, substitute
from vta.support.dataclass import dataclass

__all__ = [
    "THREADS",
    "VIRTUAL",
    "Barrier",
    "Block",
    "Function",
    "If",
    "Let",
    "Loop",
    "LoopKind",
    "Program",
    "Statement",
    "Store",
    "buffers_of",
    "is_thread",
    "stores_of",
    "with_values",
]

THREADS = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")
"""The indices of a grid of threads: of a block of them, and of a thread in it."""
VIRTUAL = "vthread"
"""Several threads that one thread stands for; any number of loops may be bound to it."""

LoopKind = Literal["serial", "unrolled", "vectorized", "transposed", "parallel", "dot", "tensor", "bound"]


@dataclass(frozen=True)
class Store:
    """Put a value into a buffer. With `accumulate` it is added or multiplied, or the smaller or larger one stays."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    accumulate: Literal["add", "mul", "min", "max"] | None = None


@dataclass(frozen=True)
class Loop:
    """Run the body for each value of a variable."""

    variable: str
    extent: int
    kind: LoopKind
    body: Statement
    thread: str = ""
    """One of `THREADS`, or `VIRTUAL`, that a bound loop stands for."""
    limit: Expr | None = None
    """Where less than `extent`, how many values a serial loop runs for: worked out once, before the first of them."""


@dataclass(frozen=True)
class Let:
    """Name an index for the body."""

    variable: str
    value: Expr
    body: Statement


@dataclass(frozen=True)
class If:
    """Run the body where a condition holds."""

    condition: Expr
    body: Statement


@dataclass(frozen=True)
class Barrier:
    """No thread of a block goes on before all of them are here."""


@dataclass(frozen=True)
class Block:
    """Statements one after the other."""

    statements: tuple[Statement, ...]


Statement = Store | Loop | Let | If | Barrier | Block


def buffers_of(statement: Statement) -> set[Buffer]:
    """All that a statement reads or writes."""
    match statement:
        case Store(buffer, indices, value):
            return {buffer, *(item.buffer for part in (*indices, value) for item in loads(part))}
        case Loop(body=body, limit=limit):
            return buffers_of(body) | (set() if limit is None else {item.buffer for item in loads(limit)})
        case Let(value=value, body=body) | If(condition=value, body=body):
            return buffers_of(body) | {item.buffer for item in loads(value)}
        case Block(statements):
            return {buffer for item in statements for buffer in buffers_of(item)}
        case Barrier():
            return set()


def with_values(statement: Statement, values: Mapping[str, Expr]) -> Statement:
    """The statement with expressions in place of some variables."""
    match statement:
        case Store(indices=indices, value=value):
            places = tuple(substitute(index, values) for index in indices)
            return replace(statement, indices=places, value=substitute(value, values))
        case Loop(body=body, limit=limit):
            fewer = None if limit is None else substitute(limit, values)
            return replace(statement, body=with_values(body, values), limit=fewer)
        case Let(value=value, body=body):
            return replace(statement, value=substitute(value, values), body=with_values(body, values))
        case If(condition, body):
            return If(substitute(condition, values), with_values(body, values))
        case Block(statements):
            return Block(tuple(with_values(item, values) for item in statements))
        case Barrier():
            return statement


def stores_of(statement: Statement, times: int = 1) -> tuple[int, int]:
    """The stores in a statement that runs so many times, and how often they run together, vectors as one."""
    match statement:
        case Store():
            return 1, times
        case Loop(extent=extent, kind=kind, body=body):
            return stores_of(body, times if kind == "vectorized" else times * extent)
        case Let(body=body) | If(body=body):
            return stores_of(body, times)
        case Block(statements):
            found = [stores_of(item, times) for item in statements]
            return sum(stores for stores, _ in found), sum(runs for _, runs in found)
        case Barrier():
            return 0, 0


def is_thread(thread: str) -> bool:
    """Whether what a loop is bound to tells the threads of one block apart."""
    return thread.startswith("threadIdx") or thread == VIRTUAL


@dataclass(frozen=True)
class Function:
    """The nest of one stage, with the stages computed inside it. Its outermost loop may be cut into ranges for threads."""

    name: str
    body: Statement
    local: tuple[Buffer, ...]
    """Small buffers of its own, for registers or a stack."""
    shared: tuple[Buffer, ...] = ()
    """Small buffers that the threads of a block have together."""

    @property
    def shared_extent(self) -> int:
        """How many values the outermost loop has, if threads may share it; else 1."""
        return self.body.extent if isinstance(self.body, Loop) and self.body.kind == "parallel" else 1


@dataclass(frozen=True)
class Program:
    """Functions that run one after the other, and the memory that they share."""

    name: str
    inputs: tuple[Buffer, ...]
    output: Buffer
    workspace: tuple[Buffer, ...]
    """Buffers between the functions."""
    functions: tuple[Function, ...]

    def symbol(self, function: Function) -> str:
        """Name of the compiled function of a stage."""
        return f"{self.name}.{function.name}"
