"""What a procedure is made of, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vta.host.loop.buffer import Buffer
from vta.host.loop.nest import Function
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["MOST_WORKSPACE_BYTES", "Procedure", "ProcedureRule"]

MOST_WORKSPACE_BYTES = 1 << 23
"""For parts that threads share; more is not worth the memory, and they follow each other."""


@dataclass(frozen=True)
class Procedure:
    """Functions that compute an operator one after the other, and the memory that they have together."""

    functions: tuple[Function, ...]
    workspace: tuple[Buffer, ...]
    output: Buffer


ProcedureRule = Callable[[Node, Sequence[Buffer], int], Procedure]
"""Writes the procedure of an operator from buffers in which its operands lie row by row, and the lanes of a vector of 32 bits."""
