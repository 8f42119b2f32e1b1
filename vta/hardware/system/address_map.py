"""What the host sees through the link: the address map of the system, as data for the driver and the hardware."""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "CONTROLLER_BASE",
    "CORE_BASE",
    "INFORMATION_BASE",
    "NOBODY",
    "ORDERED_BASE",
    "REGION_BITS",
    "SYSTEM_IDENTITY",
    "Information",
    "MemoryKind",
    "Ordered",
    "StateBit",
]

CORE_BASE = 0xF0000000
"""Registers of the core (`vta.hardware.registers`). Everything below is memory, at the addresses that the core sees."""
CONTROLLER_BASE = 0xF0010000
"""Registers of the memory controller, where there is one that the host sets up."""
INFORMATION_BASE = 0xF0020000
"""Registers that say what the system is."""
ORDERED_BASE = 0xF0030000
"""Writes that are executed once and in their order, for hosts on a network (`Ordered`)."""
REGION_BITS = 16
"""log2 of the bytes of each region of registers."""

SYSTEM_IDENTITY = 0x56544153
"""Value of the first register of information: the letters V, T, A, S."""
NOBODY = 0xFFFFFFFF
"""What is read where nothing answers."""


class Information(IntEnum):
    """Byte offsets of the registers of information, all of them read only."""

    IDENTITY = 0x0
    CLOCK_HZ = 0x4
    """Of the core and the bus."""
    MEMORY_BYTES = 0x8
    STATE = 0xC
    """Bits as in `StateBit`."""
    MEMORY_KIND = 0x10
    """One of `MemoryKind`."""


class StateBit(IntEnum):
    """Bits of the register `Information.STATE`."""

    MEMORY_READY = 0
    """Memory may be used; until then it reads as `NOBODY` and ignores what is written."""


class MemoryKind(IntEnum):
    """What the memory is made of."""

    BLOCK = 0
    """Block memories of the FPGA."""
    DRAM = 1
    """Chips beside it, behind a controller that the host sets up."""


class Ordered(IntEnum):
    """Byte offsets for writes that carry a number. What follows a number other than the next one is ignored.

    A host that does not know whether a packet arrived may thus send it again.
    """

    NUMBER = 0x0
    """Written: the number of the words that follow. Read: the next one."""
    ADDRESS = 0x4
    """Where the words go."""
    WORDS = 0x8
    """From here on: the words, which go to consecutive addresses."""
