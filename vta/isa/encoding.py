"""Instructions and micro-ops to and from their binary form, for whole programs at once."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import EncodingError
from vta.isa.instruction import INSTRUCTION_DTYPE, UOP_DTYPE, Opcode
from vta.support.dataclass import dataclass

__all__ = ["Field", "decode", "decode_uops", "encode", "encode_uops", "instruction_fields", "uop_fields"]


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
    words = np.zeros((len(instructions), 2), dtype="<u8")
    known = np.zeros(len(instructions), dtype=bool)
    for opcode, layout in instruction_fields(hw).items():
        rows = np.flatnonzero(instructions["opcode"] == opcode)
        known[rows] = True
        if len(rows) == 0:
            continue
        chosen = instructions[rows]
        for field in layout:
            values = chosen[field.name]
            _check_range(values, rows, field, opcode.name)
            words[rows, field.low // 64] |= _place(values, field)
    if not known.all():
        index = int(np.flatnonzero(~known)[0])
        raise EncodingError(f"instruction {index}: opcode {int(instructions['opcode'][index])} is unknown")
    return words.view(np.uint8).reshape(-1, 16)


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
