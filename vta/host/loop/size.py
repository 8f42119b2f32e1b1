"""How large a program is, before it is compiled."""

from __future__ import annotations

from vta.host.loop.nest import Barrier, Block, Loop, Program, Statement, Store

__all__ = ["local_bytes", "longest_vector", "written_out"]

_OUT = ("unrolled", "transposed")


def written_out(program: Program) -> int:
    """Statements of a program, those of unrolled loops as often as they are written out."""
    return sum(_length(function.body) for function in program.functions)


def _length(statement: Statement) -> int:
    match statement:
        case Store() | Barrier():
            return 1
        case Block(statements):
            return sum(map(_length, statements))
        case Loop(kind="tensor"):
            return 1
        case Loop(extent=extent, kind=kind, body=body):
            return _length(body) * (extent if kind in _OUT else 1)
        case _:
            return _length(statement.body)


def longest_vector(program: Program) -> int:
    """The most values that one statement computes as vectors."""
    return max((_vector(function.body) for function in program.functions), default=1)


def _vector(statement: Statement) -> int:
    match statement:
        case Store() | Barrier():
            return 1
        case Block(statements):
            return max(map(_vector, statements), default=1)
        case Loop(extent=extent, kind=kind, body=body):
            return _vector(body) * (extent if kind in ("vectorized", "dot") else 1)
        case _:
            return _vector(statement.body)


def local_bytes(program: Program) -> int:
    """The most that one of its functions has on the stack."""
    return max((sum(buffer.nbytes for buffer in function.local) for function in program.functions), default=0)
