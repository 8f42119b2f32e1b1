"""One instruction as a line of assembly text, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config import HardwareConfig
from vta.errors import EncodingError
from vta.isa.encoding import Field, instruction_fields
from vta.isa.instruction import INSTRUCTION_DTYPE, AluOp, Opcode
from vta.targets import MemoryType

__all__ = ["InstructionParser", "format_instructions", "parse_integer"]


@dataclass(frozen=True)
class _Operand:
    """``name=value`` where the value has one number for each field, separated by commas (a colon for a range)."""

    fields: tuple[str, ...]
    separator: str = ","
    hexadecimal: bool = False


_MEMORY = {
    "sram": _Operand(("sram_base",)),
    "dram": _Operand(("dram_base",), hexadecimal=True),
    "y": _Operand(("y_size",)),
    "x": _Operand(("x_size",)),
    "stride": _Operand(("x_stride",)),
    "pad": _Operand(("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")),
}
_LOOPS = {
    "uop": _Operand(("uop_bgn", "uop_end"), ":"),
    "loop": _Operand(("iter_out", "iter_in")),
    "dst": _Operand(("dst_factor_out", "dst_factor_in")),
    "src": _Operand(("src_factor_out", "src_factor_in")),
}
_OPERANDS: dict[Opcode, dict[str, _Operand]] = {
    Opcode.LOAD: _MEMORY,
    Opcode.STORE: _MEMORY,
    Opcode.GEMM: {**_LOOPS, "wgt": _Operand(("wgt_factor_out", "wgt_factor_in"))},
    Opcode.FINISH: {},
    Opcode.ALU: {**_LOOPS, "imm": _Operand(("imm",)), "unused_imm": _Operand(("imm",))},
}
_ALWAYS_SHOWN = frozenset({"sram", "dram", "y", "x", "stride", "uop", "loop", "imm"})

_MEMORIES = {memory.value: memory.name.lower() for memory in MemoryType} | {6: "memory6", 7: "memory7"}
_ALU_OPS = {op.value: op.name.lower() for op in AluOp} | {code: f"op{code}" for code in (5, 6, 7)}
_VARIANTS: dict[Opcode, tuple[str, dict[int, str]]] = {
    Opcode.LOAD: ("memory_type", _MEMORIES),
    Opcode.STORE: ("memory_type", _MEMORIES),
    Opcode.ALU: ("alu_opcode", _ALU_OPS),
}
"""Opcodes with a second word: the field that it gives and the names of its values."""

_SIDES = ("prev", "next")


def format_instructions(instructions: NDArray[np.void]) -> Iterator[str]:
    """Yield one line of text for each instruction, shape (n,) of `INSTRUCTION_DTYPE`."""
    names = INSTRUCTION_DTYPE.names
    assert names is not None
    for record in instructions.tolist():
        yield _format(dict(zip(names, record, strict=True)))


def _format(values: dict[str, int]) -> str:
    opcode = Opcode(values["opcode"])
    words = [opcode.name.lower()]
    if opcode in _VARIANTS:
        field, names = _VARIANTS[opcode]
        words.append(names[values[field]])
    if values["reset"]:
        words.append("reset")
    words += _format_operands(opcode, values)
    for action in ("pop", "push"):
        sides = [side for side in _SIDES if values[f"{action}_{side}"]]
        if sides:
            words.append(f"{action}={','.join(sides)}")
    return " ".join(words)


def _format_operands(opcode: Opcode, values: dict[str, int]) -> Iterator[str]:
    if _OPERANDS[opcode] is _MEMORY and not any(values[name] for operand in _MEMORY.values() for name in operand.fields):
        yield "x=0"
        return
    skipped = "unused_imm" if values["use_imm"] else "imm"
    for name, operand in _OPERANDS[opcode].items():
        numbers = [values[field] for field in operand.fields]
        if name != skipped and (name in _ALWAYS_SHOWN or any(numbers)):
            yield f"{name}={operand.separator.join(f'{n:#x}' if operand.hexadecimal else str(n) for n in numbers)}"


def parse_integer(text: str, token: str, line: int) -> int:
    """Read a decimal or 0x number out of `token`; raises `EncodingError` naming the line and the token."""
    try:
        return int(text, 0)
    except ValueError:
        raise EncodingError(f"line {line}: {token!r}: {text!r} is not a number; allowed: decimal or 0x hexadecimal") from None


class InstructionParser:
    """Reads instruction lines for one hardware config."""

    def __init__(self, hw: HardwareConfig) -> None:
        self._fields: dict[Opcode, dict[str, Field]] = {
            opcode: {field.name: field for field in layout} for opcode, layout in instruction_fields(hw).items()
        }

    def parse(self, words: list[str], line: int) -> tuple[int, ...]:
        """Return the field values, in the order of `INSTRUCTION_DTYPE`, of a line split into `words`.

        Raises `EncodingError` naming the line, the word and what is allowed.
        """
        opcode = _choose(words[0], {op.value: op.name.lower() for op in Opcode}, words[0], line)
        return _LineParser(Opcode(opcode), self._fields[Opcode(opcode)], line).parse(words)


class _LineParser:
    def __init__(self, opcode: Opcode, fields: dict[str, Field], line: int) -> None:
        self.opcode = opcode
        self.fields = fields
        self.line = line
        self.values: dict[str, int] = dict.fromkeys(INSTRUCTION_DTYPE.names or (), 0)
        self.values["opcode"] = opcode
        self.seen: set[str] = set()

    def parse(self, words: list[str]) -> tuple[int, ...]:
        rest = words[1:]
        if self.opcode in _VARIANTS:
            field, names = _VARIANTS[self.opcode]
            allowed = ", ".join(names.values())
            if not rest:
                raise EncodingError(f"line {self.line}: {words[0]!r} lacks its {field}; allowed: {allowed}")
            self.values[field] = _choose(rest.pop(0), names, words[0], self.line)
        for word in rest:
            self.operand(word)
        return tuple(self.values.values())

    def operand(self, word: str) -> None:
        name, equals, text = word.partition("=")
        if name in self.seen:
            raise EncodingError(f"line {self.line}: {word!r}: {name} is given twice")
        self.seen.add(name)
        if word == "reset" and "reset" in self.fields:
            self.values["reset"] = 1
        elif equals and name in ("pop", "push"):
            self.flags(word, name, text)
        elif equals and name in _OPERANDS[self.opcode]:
            self.numbers(word, name, text)
        else:
            raise EncodingError(f"line {self.line}: {word!r} is not an operand of {self.name}; allowed: {self.allowed()}")

    @property
    def name(self) -> str:
        return self.opcode.name.lower()

    def allowed(self) -> str:
        names = [f"{name}=" for name in (*_OPERANDS[self.opcode], "pop", "push")]
        return ", ".join([*names, "reset"] if "reset" in self.fields else names)

    def flags(self, word: str, action: str, text: str) -> None:
        for side in text.split(","):
            if side not in _SIDES:
                raise EncodingError(f"line {self.line}: {word!r}: {side!r} is unknown; allowed: {', '.join(_SIDES)}")
            self.values[f"{action}_{side}"] = 1

    def numbers(self, word: str, name: str, text: str) -> None:
        operand = _OPERANDS[self.opcode][name]
        parts = text.split(operand.separator)
        if len(parts) != len(operand.fields):
            form = operand.separator.join(operand.fields)
            raise EncodingError(f"line {self.line}: {word!r} has {len(parts)} numbers; allowed: {name}={form}")
        for field, part in zip(operand.fields, parts, strict=True):
            self.values[field] = self.fitting(parse_integer(part, word, self.line), self.fields[field], word)
        if name in ("imm", "unused_imm"):
            if {"imm", "unused_imm"} <= self.seen:
                raise EncodingError(f"line {self.line}: {word!r}: imm= and unused_imm= are one field; allowed: one of them")
            self.values["use_imm"] = int(name == "imm")

    def fitting(self, value: int, field: Field, word: str) -> int:
        if not field.minimum <= value <= field.maximum:
            limits = f"{field.minimum} to {field.maximum}"
            raise EncodingError(f"line {self.line}: {word!r}: {field.name} = {value} does not fit; allowed: {limits}")
        return value


def _choose(word: str, names: dict[Any, str], owner: str, line: int) -> int:
    for value, name in names.items():
        if name == word:
            return int(value)
    what = "instruction" if word == owner else f"kind of {owner}"
    raise EncodingError(f"line {line}: {word!r} is not a known {what}; allowed: {', '.join(names.values())}")
