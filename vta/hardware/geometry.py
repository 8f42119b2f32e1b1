"""Widths and ratios that every module derives from the hardware config and the timing parameters."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Value
from amaranth.lib.data import View

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.fabric import PLAIN, Fabric
from vta.hardware.layouts import element_layout, instruction_layout
from vta.isa import INSTRUCTION_BYTES

__all__ = ["ADDRESS_BITS", "INSTRUCTION_BITS", "Geometry", "base_name", "buffer_name", "log2"]

ADDRESS_BITS = 32
"""Width of a byte address on the bus."""
INSTRUCTION_BITS = 8 * INSTRUCTION_BYTES


def log2(value: int) -> int:
    """Return the base 2 logarithm of a power of two."""
    return value.bit_length() - 1


def buffer_name(memory: MemoryType) -> str:
    """Return the name of the memory whose rows `memory` means: that of the accumulator has two types."""
    return (MemoryType.ACC if memory is MemoryType.ACC_8BIT else memory).name.lower()


def base_name(memory: MemoryType) -> str:
    """Return the name of the base address that the DRAM elements of `memory` count from: tables have that of micro-ops."""
    return buffer_name(MemoryType.UOP if memory is MemoryType.TABLE else memory)


@dataclass(frozen=True)
class Geometry:
    """One accelerator around one bus, built for one kind of FPGA."""

    hw: HardwareConfig
    timing: TimingParameters
    fabric: Fabric = PLAIN

    @property
    def word_bytes(self) -> int:
        """Bytes of one beat (W in the timing contract)."""
        return self.timing.bus_bytes

    @property
    def word_bits(self) -> int:
        """Bits of one beat."""
        return 8 * self.word_bytes

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

    def instruction(self, word: Value) -> View:
        """Return the instruction that `word` is: ``.gemm.uop_bgn`` is that field of it, if it is a GEMM."""
        return instruction_layout(self.hw)(word)

    def element(self, memory: MemoryType, word: Value) -> View:
        """Return the element of `memory` that `word` is: scalars by row and column, of accumulators and outputs by lane."""
        return element_layout(self.hw, memory)(word)
