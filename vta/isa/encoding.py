"""Instructions and micro-ops to and from their binary form, for whole programs at once."""

from __future__ import annotations

from functools import cache
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import EncodingError
from vta.isa.instruction import INSTRUCTION_BYTES, INSTRUCTION_DTYPE, UOP_DTYPE, Opcode
from vta.support.dataclass import dataclass

__all__ = ["Field", "all_fit", "decode", "decode_uops", "encode", "encode_uops", "instruction_fields", "uop_fields"]


@dataclass(frozen=True)
class Field:
    """Where a field lies in the 128-bit instruction or the 32-bit micro-op."""

    name: str
    low: int
    """Lowest bit; bits 64 and up are in the second word."""
    width: int
    signed: bool = False

    @property
    def minimum(self) -> int:
        """Smallest value that the field holds."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def maximum(self) -> int:
        """Largest value that the field holds."""
        return (1 << (self.width - 1)) - 1 if self.signed else (1 << self.width) - 1


_WORD_BITS = 64

_HEADER = (
    Field("opcode", 0, 3),
    Field("pop_prev", 3, 1),
    Field("pop_next", 4, 1),
    Field("push_prev", 5, 1),
    Field("push_next", 6, 1),
)
_MEMORY = (
    *_HEADER,
    Field("memory_type", 7, 3),
    Field("sram_base", 10, 16),
    Field("dram_base", 26, 32),
    Field("y_size", 64, 16),
    Field("x_size", 80, 16),
    Field("x_stride", 96, 16),
    Field("y_pad_0", 112, 4),
    Field("y_pad_1", 116, 4),
    Field("x_pad_0", 120, 4),
    Field("x_pad_1", 124, 4),
)


@cache
def instruction_fields(hw: HardwareConfig) -> dict[Opcode, tuple[Field, ...]]:
    """The fields of each instruction kind under `hw`."""
    depth = hw.log_depth
    uop, inp, wgt, acc = (depth[t] for t in (MemoryType.UOP, MemoryType.INP, MemoryType.WGT, MemoryType.ACC))
    loops = (
        *_HEADER,
        *_packed(7, ("reset", 1), ("uop_bgn", uop), ("uop_end", uop + 1), ("iter_out", 14), ("iter_in", 14)),
    )
    gemm = _packed(
        64,
        ("dst_factor_out", acc),
        ("dst_factor_in", acc),
        ("src_factor_out", inp),
        ("src_factor_in", inp),
        ("wgt_factor_out", wgt),
        ("wgt_factor_in", wgt),
    )
    requantizes = _packed(8 + 2 * uop + 1 + 28, ("imm", 1)) if hw.requantize_unit else ()
    alu = (
        *_packed(
            64,
            ("dst_factor_out", acc),
            ("dst_factor_in", acc),
            ("src_factor_out", acc),
            ("src_factor_in", acc),
            ("alu_opcode", 3),
            ("use_imm", 1),
        ),
        Field("imm", 64 + 4 * acc + 4, 16, signed=True),
    )
    return {
        Opcode.LOAD: _MEMORY,
        Opcode.STORE: _MEMORY,
        Opcode.GEMM: (*loops, *requantizes, *gemm),
        Opcode.FINISH: _HEADER,
        Opcode.ALU: (*loops, *alu),
        **({Opcode.DEPTHWISE: (*loops, *requantizes, *gemm)} if hw.depthwise_unit else {}),
    }


@cache
def uop_fields(hw: HardwareConfig) -> tuple[Field, ...]:
    """The fields of a micro-op under `hw`."""
    inp, wgt, acc = (hw.log_depth[t] for t in (MemoryType.INP, MemoryType.WGT, MemoryType.ACC))
    return _packed(0, ("dst", acc), ("src", max(acc, inp)), ("wgt", wgt))


def encode(instructions: NDArray[np.void], hw: HardwareConfig) -> NDArray[np.uint8]:
    """Encode decoded instructions, shape (n,) of `INSTRUCTION_DTYPE`, to bytes, shape (n, 16), little endian.

    Raises `EncodingError` naming the first instruction and field whose value does not fit.
    """
    numbers = _numbers(instructions)
    words = np.zeros((len(numbers), 2), dtype="<u8")
    known = 0
    for opcode, layout in _layouts(hw).items():
        rows = np.flatnonzero(numbers[:, 0] == opcode)
        known += len(rows)
        if not len(rows):
            continue
        values = numbers[rows][:, layout.columns]
        if not _all_in(values, layout):
            _refuse(instructions, hw)
        placed = (values.view(np.uint64) & layout.masks) << layout.shifts
        words[rows, 0] = np.bitwise_or.reduce(placed[:, : layout.first], axis=1)
        words[rows, 1] = np.bitwise_or.reduce(placed[:, layout.first :], axis=1)
    if known < len(numbers):
        _refuse(instructions, hw)
    return words.view(np.uint8).reshape(-1, INSTRUCTION_BYTES)


def all_fit(instructions: NDArray[np.void], hw: HardwareConfig) -> bool:
    """Whether all opcodes are known, and all fields can hold their values."""
    numbers = _numbers(instructions)
    known = 0
    for opcode, layout in _layouts(hw).items():
        chosen = numbers[numbers[:, 0] == opcode]
        known += len(chosen)
        if not _all_in(chosen[:, layout.columns], layout):
            return False
    return known == len(numbers)


@dataclass(frozen=True)
class _Layout:
    """The fields of one kind of instruction, those of the first word before those of the second, as arrays."""

    columns: NDArray[np.intp]
    """Of decoded instructions."""
    first: int
    """Fields of the first word."""
    minima: NDArray[np.int64]
    maxima: NDArray[np.int64]
    masks: NDArray[np.uint64]
    shifts: NDArray[np.uint64]
    """Lowest bits, in their word."""


@cache
def _layouts(hw: HardwareConfig) -> dict[Opcode, _Layout]:
    assert INSTRUCTION_DTYPE.names is not None
    column = {name: at for at, name in enumerate(INSTRUCTION_DTYPE.names)}
    layouts = {}
    for opcode, fields in instruction_fields(hw).items():
        ordered = sorted(fields, key=lambda field: field.low // _WORD_BITS)
        layouts[opcode] = _Layout(
            columns=np.array([column[field.name] for field in ordered]),
            first=sum(field.low < _WORD_BITS for field in ordered),
            minima=np.array([field.minimum for field in ordered]),
            maxima=np.array([field.maximum for field in ordered]),
            masks=np.array([(1 << field.width) - 1 for field in ordered], np.uint64),
            shifts=np.array([field.low % _WORD_BITS for field in ordered], np.uint64),
        )
    return layouts


def _numbers(instructions: NDArray[np.void]) -> NDArray[np.int64]:
    """The fields of instructions as columns, the opcode first."""
    columns = INSTRUCTION_DTYPE.itemsize // np.dtype(np.int64).itemsize
    return np.ascontiguousarray(instructions, INSTRUCTION_DTYPE).view(np.int64).reshape(-1, columns)


def _all_in(values: NDArray[np.int64], layout: _Layout) -> bool:
    if not len(values):
        return True
    return bool((values.min(axis=0) >= layout.minima).all() and (values.max(axis=0) <= layout.maxima).all())


def _refuse(instructions: NDArray[np.void], hw: HardwareConfig) -> NoReturn:
    """Say which field of which instruction does not fit."""
    layouts = instruction_fields(hw)
    for opcode, layout in layouts.items():
        rows = np.flatnonzero(instructions["opcode"] == opcode)
        for field in layout:
            _check_range(instructions[rows][field.name], rows, field, opcode.name)
    index = int(np.flatnonzero(~np.isin(instructions["opcode"], list(layouts)))[0])
    raise EncodingError(f"instruction {index}: opcode {int(instructions['opcode'][index])} is unknown")


def decode(data: NDArray[np.uint8], hw: HardwareConfig) -> NDArray[np.void]:
    """Decode bytes, shape (n, 16), to instructions of `INSTRUCTION_DTYPE`; undefined bits are ignored.

    Raises `EncodingError` naming the first instruction of unknown opcode.
    """
    words = np.ascontiguousarray(data, dtype=np.uint8).reshape(-1, 16).view("<u8")
    result = np.zeros(len(words), dtype=INSTRUCTION_DTYPE)
    opcodes = words[:, 0] & np.uint64(7)
    unknown = np.flatnonzero(opcodes > max(instruction_fields(hw)))
    if len(unknown):
        raise EncodingError(f"instruction {unknown[0]}: opcode {int(opcodes[unknown[0]])} is unknown")
    for opcode, layout in instruction_fields(hw).items():
        rows = np.flatnonzero(opcodes == opcode)
        chosen = words[rows]
        for field in layout:
            result[field.name][rows] = _extract(chosen[:, field.low // 64], field)
    return result


def encode_uops(uops: NDArray[np.void], hw: HardwareConfig) -> NDArray[np.uint32]:
    """Encode decoded micro-ops, shape (n,) of `UOP_DTYPE`, to 32-bit words, shape (n,).

    Raises `EncodingError` naming the first micro-op and field whose value does not fit.
    """
    words = np.zeros(len(uops), dtype=np.uint64)
    rows = np.arange(len(uops))
    for field in uop_fields(hw):
        values = uops[field.name]
        _check_range(values, rows, field, "micro-op")
        words |= _place(values, field)
    return words.astype(np.uint32)


def decode_uops(words: NDArray[np.uint32], hw: HardwareConfig) -> NDArray[np.void]:
    """Decode 32-bit micro-op words, shape (n,), to records of `UOP_DTYPE`."""
    wide = np.asarray(words, dtype=np.uint64)
    result = np.zeros(len(wide), dtype=UOP_DTYPE)
    for field in uop_fields(hw):
        result[field.name] = _extract(wide, field)
    return result


def _packed(low: int, *fields: tuple[str, int]) -> tuple[Field, ...]:
    placed = []
    for name, width in fields:
        placed.append(Field(name, low, width))
        low += width
    return tuple(placed)


def _place(values: NDArray[np.int64], field: Field) -> NDArray[np.uint64]:
    mask = np.uint64((1 << field.width) - 1)
    return (values.astype(np.uint64) & mask) << np.uint64(field.low % 64)


def _extract(words: NDArray[np.uint64], field: Field) -> NDArray[np.int64]:
    mask = np.uint64((1 << field.width) - 1)
    values: NDArray[np.int64] = ((words >> np.uint64(field.low % 64)) & mask).astype(np.int64)
    if field.signed:
        values = np.where(values > field.maximum, values - (1 << field.width), values)
    return values


def _check_range(values: NDArray[np.int64], rows: NDArray[np.intp], field: Field, kind: str) -> None:
    if values.size and (values.min() < field.minimum or values.max() > field.maximum):
        bad = np.flatnonzero((values < field.minimum) | (values > field.maximum))[0]
        what = kind if kind == "micro-op" else "instruction"
        name = "" if kind == "micro-op" else f" ({kind})"
        raise EncodingError(
            f"{what} {int(rows[bad])}{name}: {field.name} = {int(values[bad])} does not fit; "
            f"allowed: {field.minimum} to {field.maximum}"
        )
