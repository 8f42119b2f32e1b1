"""Programming the fabric of a Cyclone V from its processor.

Registers, bits and the order of steps: Cyclone V Hard Processor System Technical Reference Manual, chapters "FPGA Manager",
"Reset Manager" and "System Interconnect".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vta.devices.core_control import Registers
from vta.devices.engine.clock import Clock
from vta.errors import DeviceError

__all__ = ["DATA", "INTERCONNECT", "MANAGER", "RESETS", "program_fabric"]

MANAGER, DATA, RESETS, INTERCONNECT = 0xFF706000, 0xFFB90000, 0xFFD05000, 0xFF800000
"""Physical addresses of the blocks of registers."""
_SPAN = 4096

STATUS, CONTROL, CLOCK_COUNT, CLOCK_STATUS = 0x00, 0x04, 0x08, 0x0C
END_OF_INTERRUPTS, PINS = 0x84C, 0x850
"""Of the manager."""
BRIDGES = 0x1C
"""Of the reset manager: a bit for each bridge between processor and fabric that is in reset."""
REMAP = 0x00
"""Of the interconnect: which bridges the processor sees."""

_ENABLE, _RESET_FABRIC, _PROCESSOR_WRITES, _WIDE = 1 << 0, 1 << 2, 1 << 8, 1 << 9
"""Bits of the manager's control register. Bit 1 would take the chip's own enable away."""
_RATIO_SHIFT = 6
_RATIOS = {0b1000: 0, 0b1001: 2, 0b1010: 3}
"""Clock cycles per word for the MSEL switches: uncompressed, encrypted, compressed; all 32 bits wide."""
_STATUS_PIN, _DONE_PIN = 1 << 0, 1 << 1
_IN_RESET, _CONFIGURING, _USER = 1, 2, 4
_ALL_BRIDGES = 0b111
_REMAP_BRIDGES = 0x19
_LAST_CLOCKS = 4
_LIMIT_SECONDS = 2.0


def program_fabric(registers: Callable[[int, int], Registers], bitstream: bytes, clock: Clock) -> None:
    """Write a raw bitstream (`.rbf`) to the fabric; the bridges are closed meanwhile.

    `registers` gives the registers at a physical address. Raises `DeviceError` saying which step the fabric did not follow.
    """
    manager, resets = registers(MANAGER, _SPAN), registers(RESETS, _SPAN)
    msel = manager.read(STATUS) >> 3 & 0x1F
    if msel not in _RATIOS:
        allowed = ", ".join(f"{value:05b}" for value in _RATIOS)
        raise DeviceError(f"the switches MSEL are set to {msel:05b}; allowed: {allowed} (32 bits wide, fast)")
    resets.write(BRIDGES, _ALL_BRIDGES)
    try:
        _configure(manager, registers(DATA, _SPAN), _RATIOS[msel], bitstream, clock)
    finally:
        manager.write(CONTROL, manager.read(CONTROL) & ~(_ENABLE | _PROCESSOR_WRITES))
    resets.write(BRIDGES, 0)
    registers(INTERCONNECT, _SPAN).write(REMAP, _REMAP_BRIDGES)


def _configure(manager: Registers, data: Registers, ratio: int, bitstream: bytes, clock: Clock) -> None:
    def mode() -> int:
        return manager.read(STATUS) & 7

    def wait(condition: Callable[[], bool], step: str) -> None:
        deadline = clock.now() + _LIMIT_SECONDS
        while not condition():
            if clock.now() > deadline:
                raise DeviceError(f"programming the fabric: {step} did not come within {_LIMIT_SECONDS:g} s (mode {mode()})")
            clock.sleep(1e-4)

    base = ratio << _RATIO_SHIFT | _WIDE | _ENABLE
    manager.write(CONTROL, base)
    manager.write(CONTROL, base | _RESET_FABRIC)
    wait(lambda: mode() == _IN_RESET, "the reset phase")
    manager.write(CONTROL, base)
    wait(lambda: mode() == _CONFIGURING, "the configuration phase")
    manager.write(END_OF_INTERRUPTS, 0xFFF)
    manager.write(CONTROL, base | _PROCESSOR_WRITES)
    padded = bitstream + bytes(-len(bitstream) % 4)
    for word in np.frombuffer(padded, dtype="<u4").tolist():
        data.write(0, word)
    wait(lambda: manager.read(PINS) & (_DONE_PIN | _STATUS_PIN) != _STATUS_PIN, "an answer")
    if not manager.read(PINS) & _STATUS_PIN:
        raise DeviceError("programming the fabric: it refuses the bitstream; is it for this part, and compressed as MSEL says?")
    manager.write(CONTROL, base)
    manager.write(CLOCK_STATUS, 1)
    manager.write(CLOCK_COUNT, _LAST_CLOCKS)
    wait(lambda: bool(manager.read(CLOCK_STATUS) & 1), "the end of the last clocks")
    manager.write(CLOCK_STATUS, 1)
    wait(lambda: mode() == _USER, "the user mode")
