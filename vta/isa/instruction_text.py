"""One instruction as a line of assembly text, and back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import EncodingError
from vta.isa.encoding import Field, instruction_fields
from vta.isa.instruction import INSTRUCTION_DTYPE, AluOp, Opcode
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

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
_PRODUCTS = {**_LOOPS, "wgt": _Operand(("wgt_factor_out", "wgt_factor_in")), "flags": _Operand(("imm",))}
_IMMEDIATES = ("imm", "unused_imm", "flags")
"""What `imm` is called: an operand, a number that the instruction has no use for, or flags of REQUANTIZE or of products."""
_OPERANDS: dict[Opcode, dict[str, _Operand]] = {
    Opcode.LOAD: _MEMORY,
    Opcode.STORE: _MEMORY,
    Opcode.GEMM: _PRODUCTS,
    Opcode.DEPTHWISE: _PRODUCTS,
    Opcode.FINISH: {},
    Opcode.ALU: {**_LOOPS, **dict.fromkeys(_IMMEDIATES, _Operand(("imm",)))},
}
_ALWAYS_SHOWN = frozenset({"sram", "dram", "y", "x", "stride", "uop", "loop", "imm"})

_MEMORIES = {memory.value: memory.name.lower() for memory in MemoryType} | {7: "memory7"}
_ALU_OPS = {op.value: op.name.lower() for op in AluOp} | {code: f"op{code}" for code in (6, 7)}
_VARIANTS: dict[Opcode, tuple[str, dict[int, str]]] = {
    Opcode.LOAD: ("memory_type", _MEMORIES),
    Opcode.STORE: ("memory_type", _MEMORIES),
    Opcode.ALU: ("alu_opcode", _ALU_OPS),
}
"""Opcodes with a second word: the field that it gives and the names of its values."""

_MOST_DIGITS = 40
"""Far more than any field takes, and few enough to print."""

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
    has_flags = opcode is not Opcode.ALU or values["alu_opcode"] == AluOp.REQUANTIZE
    immediate = "imm" if values["use_imm"] else "flags" if has_flags else "unused_imm"
    for name, operand in _OPERANDS[opcode].items():
        numbers = [values[field] for field in operand.fields]
        if name in _IMMEDIATES and name != immediate:
            continue
        if name in _ALWAYS_SHOWN or any(numbers):
            yield f"{name}={operand.separator.join(f'{n:#x}' if operand.hexadecimal else str(n) for n in numbers)}"


def parse_integer(text: str, token: str, line: int) -> int:
    """Read a decimal or 0x number out of `token`; raises `EncodingError` naming the line and the token."""
    try:
        if len(text) > _MOST_DIGITS:
            raise ValueError
        return int(text, 0)
    except ValueError:
        found = f"{shown(token)}: {shown(text)}"
        raise EncodingError(f"line {line}: {found} is not a number; allowed: decimal or 0x hexadecimal") from None


class InstructionParser:
    """Reads instruction lines for one hardware config."""

    def __init__(self, hw: HardwareConfig) -> None:
        self._readers = {
            opcode.name.lower(): _Reader(opcode, {field.name: field for field in layout})
            for opcode, layout in instruction_fields(hw).items()
        }

    def parse(self, words: list[str], line: int) -> tuple[int, ...]:
        """Return the field values, in the order of `INSTRUCTION_DTYPE`, of a line split into `words`.

        Raises `EncodingError` naming the line, the word and what is allowed.
        """
        reader = self._readers.get(words[0])
        if reader is None:
            raise EncodingError(f"line {line}: {shown(words[0])} is not a known instruction; allowed: {', '.join(self._readers)}")
        return reader.read(words, line)


_Assignment = tuple[str, tuple[tuple[str, int], ...]]
"""Name of an operand, and the fields that it sets."""


class _Reader:
    """Reads the lines of one opcode. A word means the same on every line, so each is read once."""

    def __init__(self, opcode: Opcode, fields: dict[str, Field]) -> None:
        self._name = opcode.name.lower()
        self._operands = {
            name: operand for name, operand in _OPERANDS[opcode].items() if all(field in fields for field in operand.fields)
        }
        self._variant = _VARIANTS.get(opcode)
        self._fields = fields
        self._blank: dict[str, int] = {**dict.fromkeys(INSTRUCTION_DTYPE.names or (), 0), "opcode": int(opcode)}
        self._known: dict[str, _Assignment] = {}

    def read(self, words: list[str], line: int) -> tuple[int, ...]:
        values = self._blank.copy()
        first = 1
        if self._variant is not None:
            values[self._variant[0]] = self._read_variant(words, line)
            first = 2
        seen: set[str] = set()
        for word in words[first:]:
            assignment = self._known.get(word)
            if assignment is None:
                assignment = self._known[word] = self._read_operand(word, line)
            name, fields = assignment
            if name in seen:
                raise EncodingError(f"line {line}: {shown(word)}: {name} is given twice; allowed: once")
            seen.add(name)
            values.update(fields)
        return tuple(values.values())

    def _read_variant(self, words: list[str], line: int) -> int:
        assert self._variant is not None
        field, names = self._variant
        allowed = ", ".join(names.values())
        if len(words) < 2:
            raise EncodingError(f"line {line}: {shown(words[0])} lacks its {field}; allowed: {allowed}")
        for value, name in names.items():
            if name == words[1]:
                return value
        raise EncodingError(f"line {line}: {shown(words[1])} is not a known kind of {words[0]}; allowed: {allowed}")

    def _read_operand(self, word: str, line: int) -> _Assignment:
        name, equals, text = word.partition("=")
        if word == "reset" and "reset" in self._fields:
            return name, (("reset", 1),)
        if equals and name in ("pop", "push"):
            return name, tuple(self._read_flags(word, name, text, line))
        if equals and name in self._operands:
            numbers = tuple(self._read_numbers(word, name, text, line))
            if name in _IMMEDIATES:
                return "imm", (*numbers, ("use_imm", int(name == "imm")))
            return name, numbers
        raise EncodingError(f"line {line}: {shown(word)} is not an operand of {self._name}; allowed: {self._allowed()}")

    def _allowed(self) -> str:
        names = [f"{name}=" for name in (*self._operands, "pop", "push")]
        return ", ".join([*names, "reset"] if "reset" in self._fields else names)

    def _read_flags(self, word: str, action: str, text: str, line: int) -> Iterator[tuple[str, int]]:
        for side in text.split(","):
            if side not in _SIDES:
                raise EncodingError(f"line {line}: {shown(word)}: {shown(side)} is unknown; allowed: {', '.join(_SIDES)}")
            yield f"{action}_{side}", 1

    def _read_numbers(self, word: str, name: str, text: str, line: int) -> Iterator[tuple[str, int]]:
        operand = self._operands[name]
        parts = text.split(operand.separator)
        if len(parts) != len(operand.fields):
            form = operand.separator.join(operand.fields)
            raise EncodingError(f"line {line}: {shown(word)} has {len(parts)} numbers; allowed: {name}={form}")
        for field_name, part in zip(operand.fields, parts, strict=True):
            value, field = parse_integer(part, word, line), self._fields[field_name]
            if not field.minimum <= value <= field.maximum:
                limits = f"{field.minimum} to {field.maximum}"
                raise EncodingError(f"line {line}: {shown(word)}: {field_name} = {value} does not fit; allowed: {limits}")
            yield field_name, value
