"""Which rows of each memory on the chip, and which bytes of DRAM, the instructions of a program touch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.encoding import decode_uops
from vta.isa.instruction import UOP_DTYPE, Opcode
from vta.isa.program import Program

__all__ = ["DRAM", "Access", "accesses"]

DRAM = "dram"
_NAMES = {
    MemoryType.UOP: "uop",
    MemoryType.INP: "inp",
    MemoryType.WGT: "wgt",
    MemoryType.ACC: "acc",
    MemoryType.ACC_8BIT: "acc",
    MemoryType.OUT: "acc",
    MemoryType.TABLE: "table",
}
"""The output buffer holds the rows of the accumulator, narrowed: what is stored is counted there."""
_COMPUTING = (Opcode.GEMM, Opcode.ALU, Opcode.DEPTHWISE)


class _Fields(NamedTuple):
    """Fields of one instruction, which are looked at one by one for each of many."""

    opcode: int
    memory_type: int
    sram_base: int
    dram_base: int
    y_size: int
    x_size: int
    x_stride: int
    y_pad_0: int
    y_pad_1: int
    x_pad_0: int
    x_pad_1: int
    reset: int
    uop_bgn: int
    uop_end: int
    iter_out: int
    iter_in: int
    dst_factor_out: int
    dst_factor_in: int
    src_factor_out: int
    src_factor_in: int
    wgt_factor_out: int
    wgt_factor_in: int
    use_imm: int


class Access(NamedTuple):
    """Rows [first, first + rows) that an instruction reads or writes; what lies between rows of a pattern counts as touched."""

    instruction: int
    memory: str
    """``uop``, ``inp``, ``wgt``, ``acc``, ``table``, or `DRAM`, whose rows are bytes."""
    first: int
    rows: int
    reads: bool
    """Also where it writes the same rows; otherwise it only writes."""


def accesses(program: Program) -> Iterator[Access]:
    """All accesses in program order, those of an instruction with the reads first."""
    hw = program.hw
    words = np.zeros((3, hw.depth(MemoryType.UOP)), dtype=np.int64)
    for index, values in enumerate(program.instructions[list(_Fields._fields)].tolist()):
        row = _Fields(*values)
        opcode = Opcode(row.opcode)
        if opcode in (Opcode.LOAD, Opcode.STORE) and row.x_size > 0 and row.y_size > 0:
            memory = MemoryType(row.memory_type)
            if memory is MemoryType.UOP:
                _fill(words, row, program)
            yield from _transfer(index, opcode, memory, row, hw)
        elif opcode in _COMPUTING:
            yield from _computing(index, opcode, row, words)


def _transfer(index: int, opcode: Opcode, memory: MemoryType, row: _Fields, hw: HardwareConfig) -> Iterator[Access]:
    size = hw.elem_bytes(memory)
    first, span = row.dram_base * size, ((row.y_size - 1) * row.x_stride + row.x_size) * size
    name = _NAMES[memory]
    if opcode is Opcode.STORE:
        yield Access(index, name, row.sram_base, row.y_size * row.x_size, reads=True)
        yield Access(index, DRAM, first, span, reads=False)
        return
    height, width = row.y_size + row.y_pad_0 + row.y_pad_1, row.x_size + row.x_pad_0 + row.x_pad_1
    yield Access(index, DRAM, first, span, reads=True)
    yield Access(index, name, row.sram_base, height * width, reads=False)


def _fill(words: NDArray[np.int64], row: _Fields, program: Program) -> None:
    """Bring micro-ops onto the chip."""
    starts = row.dram_base + np.arange(row.y_size) * row.x_stride
    flat = (starts[:, None] + np.arange(row.x_size)).reshape(-1)
    source = program.image[: len(program.image) // 4 * 4].view(np.uint32)
    place = row.sram_base + np.arange(len(flat))
    known = (flat < len(source)) & (place < words.shape[1])
    decoded = decode_uops(source[flat[known]], program.hw)
    for line, name in zip(words, UOP_DTYPE.names or (), strict=True):
        line[place[known]] = decoded[name]


def _computing(index: int, opcode: Opcode, row: _Fields, words: NDArray[np.int64]) -> Iterator[Access]:
    count = row.uop_end - row.uop_bgn
    if count <= 0:
        return
    used = words[:, slice(row.uop_bgn, row.uop_end)]
    dst, src, wgt = used.min(axis=1).tolist()
    last_dst, last_src, last_wgt = used.max(axis=1).tolist()
    outer, inner = row.iter_out - 1, row.iter_in - 1
    yield Access(index, "uop", row.uop_bgn, count, reads=True)
    src_rows = last_src - src + 1 + max(0, outer * row.src_factor_out + inner * row.src_factor_in)
    dst_rows = last_dst - dst + 1 + max(0, outer * row.dst_factor_out + inner * row.dst_factor_in)
    if not row.reset and opcode is not Opcode.ALU:
        wgt_rows = last_wgt - wgt + 1 + max(0, outer * row.wgt_factor_out + inner * row.wgt_factor_in)
        yield Access(index, "inp", src, src_rows, reads=True)
        yield Access(index, "wgt", wgt, wgt_rows, reads=True)
    elif not row.reset and not row.use_imm:
        yield Access(index, "acc", src, src_rows, reads=True)
    yield Access(index, "acc", dst, dst_rows, reads=not row.reset)
