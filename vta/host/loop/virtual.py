"""Virtual threads: several threads of a block that one thread stands for.

A loop bound to `VIRTUAL` becomes loops around single statements, as far inside as these are, so that what the threads have in
common is done once, and what one of them keeps is kept for each.
"""

from __future__ import annotations

from dataclasses import replace

from vta.host.loop.buffer import Buffer
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Expr, Load, Var, map_expression, substitute, walk
from vta.host.loop.nest import VIRTUAL, Barrier, Block, Function, If, Let, Loop, Program, Statement, Store
from vta.support.dataclass import dataclass

__all__ = ["with_real_threads"]


def with_real_threads(program: Program) -> Program:
    """A program without loops that are bound to `VIRTUAL`. Raises `LoopError` where threads would wait inside of a test."""
    return replace(program, functions=tuple(map(_real, program.functions)))


def _real(function: Function) -> Function:
    while (loop := _virtual_loop(function.body)) is not None:
        wider = {buffer: replace(buffer, shape=(loop.extent, *buffer.shape)) for buffer in function.local}
        spread = _Spread(loop.variable, loop.extent, wider)
        body = _replaced(function.body, loop, spread.statement(loop.body))
        function = replace(function, body=body, local=tuple(wider.values()))
    return function


def _virtual_loop(statement: Statement) -> Loop | None:
    """The innermost one, of those that come first."""
    match statement:
        case Loop():
            return _virtual_loop(statement.body) or (statement if statement.thread == VIRTUAL else None)
        case Let(body=body) | If(body=body):
            return _virtual_loop(body)
        case Block(statements):
            return next((found for item in statements if (found := _virtual_loop(item)) is not None), None)
        case _:
            return None


def _replaced(statement: Statement, old: Statement, new: Statement) -> Statement:
    if statement is old:
        return new
    match statement:
        case Loop() | Let() | If():
            return replace(statement, body=_replaced(statement.body, old, new))
        case Block(statements):
            return Block(tuple(_replaced(item, old, new) for item in statements))
        case _:
            return statement


@dataclass(frozen=True)
class _Spread:
    """Puts the loop over virtual threads where they differ."""

    variable: str
    extent: int
    wider: dict[Buffer, Buffer]
    """Buffers of a thread, each with one part for each virtual thread."""

    def statement(self, statement: Statement) -> Statement:
        """A statement for all virtual threads."""
        match statement:
            case Barrier():
                return statement
            case Block(statements):
                return Block(tuple(map(self.statement, statements)))
            case Let(variable, value, body):
                # The value may differ from thread to thread: what it names is written out.
                if self.differs(value):
                    return self.statement(_substituted(body, variable, value))
                return Let(variable, value, self.statement(body))
            case Loop():
                return replace(statement, body=self.statement(statement.body))
            case If(condition, body) if not self.differs(condition):
                return If(condition, self.statement(body))
            case If(condition, body):
                if _waits(body):
                    raise LoopError(f"virtual thread {self.variable}: threads would wait inside of a test")
                return self.loop(If(self.expression(condition), self.relocated(body)))
            case Store(buffer, indices, value) if buffer in self.wider or any(map(self.differs, (*indices, value))):
                return self.loop(self.relocated(statement))
            case Store():
                return statement

    def loop(self, statement: Statement) -> Loop:
        """A statement for each of them."""
        return Loop(self.variable, self.extent, "unrolled", statement)

    def differs(self, expression: Expr) -> bool:
        """Whether a value is another for each virtual thread."""
        return any(
            (isinstance(node, Var) and node.name == self.variable) or (isinstance(node, Load) and node.buffer in self.wider)
            for node in walk(expression)
        )

    def expression(self, expression: Expr) -> Expr:
        """An expression that reads what each virtual thread keeps for itself."""

        def change(node: Expr) -> Expr | None:
            if isinstance(node, Load) and node.buffer in self.wider:
                return Load(self.wider[node.buffer], (Var(self.variable), *map(self.expression, node.indices)))
            return None

        return map_expression(expression, change)

    def relocated(self, statement: Statement) -> Statement:
        """A statement of one virtual thread."""
        match statement:
            case Store(buffer, indices, value, accumulate):
                places = tuple(map(self.expression, indices))
                if buffer in self.wider:
                    buffer, places = self.wider[buffer], (Var(self.variable), *places)
                return Store(buffer, places, self.expression(value), accumulate)
            case Let(variable, value, body):
                return Let(variable, self.expression(value), self.relocated(body))
            case If(condition, body):
                return If(self.expression(condition), self.relocated(body))
            case Loop():
                return replace(statement, body=self.relocated(statement.body))
            case Block(statements):
                return Block(tuple(map(self.relocated, statements)))
            case Barrier():
                return statement


def _waits(statement: Statement) -> bool:
    match statement:
        case Barrier():
            return True
        case Loop(body=body) | Let(body=body) | If(body=body):
            return _waits(body)
        case Block(statements):
            return any(map(_waits, statements))
        case _:
            return False


def _substituted(statement: Statement, variable: str, value: Expr) -> Statement:
    values = {variable: value}
    match statement:
        case Store(buffer, indices, what, accumulate):
            return Store(buffer, tuple(substitute(item, values) for item in indices), substitute(what, values), accumulate)
        case Let(name, what, body):
            return Let(name, substitute(what, values), _substituted(body, variable, value))
        case If(condition, body):
            return If(substitute(condition, values), _substituted(body, variable, value))
        case Loop():
            return replace(statement, body=_substituted(statement.body, variable, value))
        case Block(statements):
            return Block(tuple(_substituted(item, variable, value) for item in statements))
        case Barrier():
            return statement
