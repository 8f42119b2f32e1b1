"""Widths and ratios that every module derives from the hardware config and the timing parameters."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Value

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.isa import Opcode
from vta.isa.encoding import Field, instruction_fields, uop_fields

__all__ = ["ADDRESS_BITS", "INSTRUCTION_BITS", "Geometry", "log2"]

ADDRESS_BITS = 32
"""Width of a byte address on the bus."""
INSTRUCTION_BITS = 128


def log2(value: int) -> int:
    """Return the base 2 logarithm of a power of two."""
    return value.bit_length() - 1


@dataclass(frozen=True)
class Geometry:
    """One accelerator around one bus."""

    hw: HardwareConfig
    timing: TimingParameters

    @property
    def word_bytes(self) -> int:
        """Bytes of one beat (W in the timing contract)."""
        return self.timing.bus_bytes

    @property
    def log_word_bytes(self) -> int:
        """log2 of the bytes of one beat."""
        return log2(self.word_bytes)

    def lanes(self, memory: MemoryType) -> int:
        """Elements that one beat holds; 1 where an element fills whole beats."""
        return max(1, self.word_bytes // self.hw.elem_bytes(memory))

    def beats(self, memory: MemoryType) -> int:
        """Beats that one element fills; 1 where a beat holds whole elements."""
        return max(1, self.hw.elem_bytes(memory) // self.word_bytes)

    def row_bits(self, memory: MemoryType) -> int:
        """Bits of an SRAM row number of `memory`."""
        return self.hw.log_depth[memory]

    def elem_bits(self, memory: MemoryType) -> int:
        """Bits of one element of `memory` in DRAM."""
        return 8 * self.hw.elem_bytes(memory)

    def field(self, opcode: Opcode, name: str, instruction: Value) -> Value:
        """Return the field `name` of `instruction`, 128 bits, read as an `opcode`."""
        return _slice(instruction_fields(self.hw)[opcode], name, instruction)

    def uop_field(self, name: str, uop: Value) -> Value:
        """Return the field `name` of a micro-op of 32 bits."""
        return _slice(uop_fields(self.hw), name, uop)


def _slice(layout: tuple[Field, ...], name: str, word: Value) -> Value:
    field = next(field for field in layout if field.name == name)
    bits = word[field.low : field.low + field.width]
    return bits.as_signed() if field.signed else bits
