"""Loop nests as text, for people and for tests."""

from __future__ import annotations

from collections import Counter

from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import (
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    children,
    map_expression,
    walk,
)
from vta.host.loop.nest import Barrier, Block, If, Let, Loop, Program, Statement, Store

__all__ = ["declared", "expression_text", "named_parts", "program_text"]

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "&", "or": "|", "xor": "^",
    "shl": "<<", "shr": ">>", "lt": "<", "le": "<=", "eq": "==",
}  # fmt: skip
_NAMED_SIZE = 5
"""Nodes of what is worth a name of its own."""
_COMBINED = {"add": "+=", "mul": "*=", "min": "min=", "max": "max="}


def program_text(program: Program) -> str:
    """A program, one statement a line."""
    lines = [f"program {program.name}({', '.join(map(declared, program.inputs))}) -> {declared(program.output)}"]
    lines += [f"  workspace {declared(buffer)}" for buffer in program.workspace]
    for function in program.functions:
        lines.append(f"function {function.name}")
        lines += [f"  local {declared(buffer)}" for buffer in function.local]
        lines += [f"  shared {declared(buffer)}" for buffer in function.shared]
        lines += _lines(function.body, "  ")
    return "\n".join(lines) + "\n"


def expression_text(expression: Expr) -> str:
    """An expression in the way of Python, with types where they change."""
    match expression:
        case Const(value, dtype):
            return str(value) if dtype in ("int64", "float32", "bool") else f"{dtype}({value})"
        case Var(name):
            return name
        case Load(buffer, indices):
            return (
                buffer.name if not indices and not buffer.shape else f"{buffer.name}[{', '.join(map(expression_text, indices))}]"
            )
        case Binary(operation, left, right) if operation in _SIGNS:
            return f"({expression_text(left)} {_SIGNS[operation]} {expression_text(right)})"
        case Binary(operation, left, right):
            return f"{operation}({expression_text(left)}, {expression_text(right)})"
        case Unary(operation, operand):
            return f"{operation}({expression_text(operand)})"
        case Select(condition, then, otherwise):
            return f"({expression_text(then)} if {expression_text(condition)} else {expression_text(otherwise)})"
        case Cast(operand, dtype):
            return f"{dtype}({expression_text(operand)})"


def _shared(expression: Expr) -> list[Expr]:
    """Parts that read memory, are used several times and are long enough for a name, in an order in which they can be named."""
    uses = Counter(id(child) for node in walk(expression) for child in children(node))
    sizes: dict[int, int] = {}
    reads: set[int] = set()
    found = []
    for node in walk(expression):
        sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children(node))
        if isinstance(node, Load) or any(id(child) in reads for child in children(node)):
            reads.add(id(node))
        if uses[id(node)] > 1 and id(node) in reads and sizes[id(node)] >= _NAMED_SIZE:
            found.append(node)
            sizes[id(node)] = 1
    return found


def named_parts(expression: Expr, indent: str) -> tuple[list[str], Expr]:
    """Indented lines that name what an expression uses several times, and what is left of it."""
    lines: list[str] = []
    names: dict[int, Expr] = {}

    def replaced(node: Expr) -> Expr:
        return map_expression(node, lambda part: names.get(id(part)))

    for at, node in enumerate(_shared(expression)):
        lines.append(f"{indent}t{at} = {expression_text(replaced(node))}")
        names[id(node)] = Load(Buffer(f"t{at}", (), node.dtype), ())
    return lines, replaced(expression)


def declared(buffer: Buffer) -> str:
    """A buffer with its type and shape."""
    return f"{buffer.name}: {buffer.dtype}[{', '.join(map(str, buffer.shape))}]"


def _lines(statement: Statement, indent: str) -> list[str]:
    match statement:
        case Store(buffer, indices, value, accumulate):
            sign = "=" if accumulate is None else _COMBINED[accumulate]
            lines, rest = named_parts(value, indent)
            return [*lines, f"{indent}{buffer.name}[{', '.join(map(expression_text, indices))}] {sign} {expression_text(rest)}"]
        case Loop(variable, extent, kind, body, thread, limit):
            note = "" if kind == "serial" else f"  # {kind}{' to ' + thread if thread else ''}"
            last = f"{extent}" if limit is None else f"min({extent}, {expression_text(limit)})"
            return [f"{indent}for {variable} in {last}:{note}", *_lines(body, indent + "  ")]
        case Let(variable, value, body):
            return [f"{indent}{variable} = {expression_text(value)}", *_lines(body, indent)]
        case If(condition, body):
            return [f"{indent}if {expression_text(condition)}:", *_lines(body, indent + "  ")]
        case Barrier():
            return [f"{indent}barrier"]
        case Block(statements):
            return [line for item in statements for line in _lines(item, indent)]
