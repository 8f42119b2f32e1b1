"""How the bits of instructions, micro-ops and elements are read, from the tables of the instruction set.

They travel as plain words: each signal of such a layout would put the names of all its fields into the Verilog.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import signed, unsigned
from amaranth.lib.data import ArrayLayout, Field, FlexibleLayout, Layout, UnionLayout

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa import INSTRUCTION_BYTES, encoding

__all__ = ["element_layout", "instruction_layout", "uop_layout"]

_NARROW_BITS = 8
"""Bits of a scalar of an input, a weight or an output."""


def instruction_layout(hw: HardwareConfig) -> UnionLayout:
    """Return the layout of an instruction, 128 bits, with all kinds of instructions in one place."""
    fields = encoding.instruction_fields(hw)
    return UnionLayout({opcode.name.lower(): _packed(8 * INSTRUCTION_BYTES, fields[opcode]) for opcode in fields})


def uop_layout(hw: HardwareConfig) -> FlexibleLayout:
    """Return the layout of a micro-op of 32 bits."""
    return _packed(8 * hw.elem_bytes(MemoryType.UOP), encoding.uop_fields(hw))


def element_layout(hw: HardwareConfig, memory: MemoryType) -> Layout:
    """Return the layout of one element of `memory` in DRAM."""
    lanes = hw.batch * hw.block
    narrow = signed(_NARROW_BITS)
    layouts: dict[MemoryType, Layout] = {
        MemoryType.UOP: uop_layout(hw),
        MemoryType.INP: ArrayLayout(ArrayLayout(narrow, hw.block), hw.batch),
        MemoryType.WGT: ArrayLayout(ArrayLayout(narrow, hw.block), hw.block),
        MemoryType.ACC: ArrayLayout(signed(hw.acc_bits), lanes),
        MemoryType.ACC_8BIT: ArrayLayout(narrow, lanes),
        MemoryType.OUT: ArrayLayout(narrow, lanes),
    }
    return layouts[memory]


def _packed(bits: int, fields: Sequence[encoding.Field]) -> FlexibleLayout:
    return FlexibleLayout(
        bits, {field.name: Field(signed(field.width) if field.signed else unsigned(field.width), field.low) for field in fields}
    )
