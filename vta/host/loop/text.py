"""Loop nests as text, for people and for tests."""

from __future__ import annotations

from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Binary, Cast, Const, Expr, Load, Select, Unary, Var
from vta.host.loop.nest import Block, If, Let, Loop, Program, Statement, Store

__all__ = ["expression_text", "program_text"]

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "&", "or": "|", "xor": "^",
    "shl": "<<", "shr": ">>", "lt": "<", "le": "<=", "eq": "==",
}  # fmt: skip
_COMBINED = {"add": "+=", "min": "min=", "max": "max="}


def program_text(program: Program) -> str:
    """A program, one statement a line."""
    lines = [f"program {program.name}({', '.join(map(_declared, program.inputs))}) -> {_declared(program.output)}"]
    lines += [f"  workspace {_declared(buffer)}" for buffer in program.workspace]
    for function in program.functions:
        lines.append(f"function {function.name}")
        lines += [f"  local {_declared(buffer)}" for buffer in function.local]
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
            return f"{buffer.name}[{', '.join(map(expression_text, indices))}]"
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


def _declared(buffer: Buffer) -> str:
    return f"{buffer.name}: {buffer.dtype}[{', '.join(map(str, buffer.shape))}]"


def _lines(statement: Statement, indent: str) -> list[str]:
    match statement:
        case Store(buffer, indices, value, accumulate):
            sign = "=" if accumulate is None else _COMBINED[accumulate]
            return [f"{indent}{buffer.name}[{', '.join(map(expression_text, indices))}] {sign} {expression_text(value)}"]
        case Loop(variable, extent, kind, body, thread):
            note = "" if kind == "serial" else f"  # {kind}{' to ' + thread if thread else ''}"
            return [f"{indent}for {variable} in {extent}:{note}", *_lines(body, indent + "  ")]
        case Let(variable, value, body):
            return [f"{indent}{variable} = {expression_text(value)}", *_lines(body, indent)]
        case If(condition, body):
            return [f"{indent}if {expression_text(condition)}:", *_lines(body, indent + "  ")]
        case Block(statements):
            return [line for item in statements for line in _lines(item, indent)]
