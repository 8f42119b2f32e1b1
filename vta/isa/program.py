"""A program: instructions, micro-ops and constants in one relocatable DRAM image."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import EncodingError
from vta.isa.encoding import encode
from vta.isa.instruction import Opcode, missing_stage_flags
from vta.support.dataclass import dataclass

__all__ = ["PAGE_BYTES", "Origin", "Program", "Symbol", "SymbolKind", "whole_pages"]

PAGE_BYTES = 4096
"""Images are placed at multiples of this, which every element size divides."""


def whole_pages(nbytes: int) -> int:
    """The bytes of as many pages as hold `nbytes`."""
    return -(-nbytes // PAGE_BYTES) * PAGE_BYTES


class SymbolKind(Enum):
    """What a range of the DRAM image holds."""

    UOP = "uop"
    CONSTANT = "constant"
    INPUT = "input"
    STATE = "state"
    """An input that the program itself replaces by an output, for its next run."""
    OUTPUT = "output"
    SCRATCH = "scratch"


@dataclass(frozen=True)
class Symbol:
    """A named range of the DRAM image. Scratch symbols may overlap each other in the arena."""

    name: str
    kind: SymbolKind
    offset: int
    """Bytes from the start of the image."""
    nbytes: int


@dataclass(frozen=True)
class Origin:
    """Where an instruction came from."""

    operator: str
    tile: int


@dataclass(frozen=True)
class Program:
    """One instruction stream and the DRAM image that it works on.

    DRAM addresses in `instructions` are relative to the start of the image, in elements of each memory type.
    Raises `EncodingError` on construction if a dependency flag names a stage that does not exist, or if origins are
    given for some instructions only.
    """

    hw: HardwareConfig
    instructions: NDArray[np.void]
    """Shape (n,) of `INSTRUCTION_DTYPE`."""
    image: NDArray[np.uint8]
    """Initial contents of the first bytes of the image: micro-ops and constants."""
    image_bytes: int
    """Size of the whole image: the initialised part and the activation arena."""
    symbols: tuple[Symbol, ...]
    operators: tuple[str, ...] = ()
    """Names of the operators that instructions come from."""
    operator_index: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """Shape (n,): index into `operators` of each instruction, or -1."""
    tile_index: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """Shape (n,): tile within the operator, or -1."""

    def __post_init__(self) -> None:
        for index, flag in missing_stage_flags(self.instructions):
            opcode = Opcode(int(self.instructions["opcode"][index])).name
            raise EncodingError(f"instruction {index} ({opcode}): {flag} names a stage that this unit does not have")
        operators, tiles = len(self.operator_index), len(self.tile_index)
        if operators != tiles or operators not in (0, len(self.instructions)):
            count = len(self.instructions)
            raise EncodingError(f"{count} instructions with {operators} operator and {tiles} tile indices; allowed: all or none")

    def symbol(self, name: str) -> Symbol:
        """Return the symbol called `name`; raises `KeyError` if there is none."""
        for symbol in self.symbols:
            if symbol.name == name:
                return symbol
        raise KeyError(name)

    def origin(self, index: int) -> Origin | None:
        """Where instruction `index` came from, if known."""
        if index >= len(self.operator_index) or self.operator_index[index] < 0:
            return None
        return Origin(self.operators[self.operator_index[index]], int(self.tile_index[index]))

    @property
    def uop_count(self) -> int:
        """Micro-ops held in the image."""
        return sum(symbol.nbytes for symbol in self.symbols if symbol.kind is SymbolKind.UOP) // 4

    def encoded(self, base: int = 0) -> NDArray[np.uint8]:
        """The binary stream, shape (n, 16), for an image placed at byte address `base`.

        `base` must be a multiple of `PAGE_BYTES`. Raises `EncodingError` if an address does not fit.
        """
        if base % PAGE_BYTES:
            raise ValueError(f"base {base:#x} is not a multiple of {PAGE_BYTES}")
        placed = self.instructions.copy()
        moves = (placed["opcode"] == Opcode.LOAD) | (placed["opcode"] == Opcode.STORE)
        moves &= placed["x_size"] != 0
        shifts = np.zeros(8, dtype=np.int64)
        for memory in MemoryType:
            shifts[memory] = self.hw.log_elem_bytes[memory]
        placed["dram_base"][moves] += base >> shifts[placed["memory_type"][moves]]
        return encode(placed, self.hw)
