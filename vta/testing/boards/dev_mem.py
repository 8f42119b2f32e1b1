"""A stand-in for /dev/mem of a Cyclone V over a `BoardModel`, with the chip's FPGA manager."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.devices.cyclone_fpga import DATA, INTERCONNECT, MANAGER, RESETS
from vta.testing.boards.model import BoardModel
from vta.testing.boards.trouble import MisuseError

__all__ = ["FpgaManager", "PhysicalModel"]

_STATUS, _CONTROL, _CLOCK_COUNT, _CLOCK_STATUS = 0x00, 0x04, 0x08, 0x0C
_END_OF_INTERRUPTS, _PINS, _BRIDGES = 0x84C, 0x850, 0x1C
_OFF, _IN_RESET, _CONFIGURING, _INITIALISING, _USER = range(5)
_SPAN = 4096


class FpgaManager:
    """The steps that lead from one content of the fabric to the next, in their order."""

    def __init__(self, model: BoardModel, msel: int = 0b01010) -> None:
        self._model = model
        self._msel = msel
        programmed = model.programmed > 0
        self._mode = _USER if programmed else _OFF
        self._control = 0
        self._bridges = 0 if programmed else 0b111
        self._remap = 0x19 if programmed else 0
        self._received = bytearray()
        self._pins = 0b01
        self._clocked = 0

    @property
    def open(self) -> bool:
        """Whether the processor reaches the fabric."""
        return self._mode == _USER and not self._bridges & 0b010 and bool(self._remap & 0x10)

    def read(self, address: int) -> int:
        """A register by physical address."""
        values = {
            MANAGER + _STATUS: self._msel << 3 | self._mode,
            MANAGER + _CONTROL: self._control,
            MANAGER + _CLOCK_STATUS: self._clocked,
            MANAGER + _PINS: self._pins,
            RESETS + _BRIDGES: self._bridges,
        }
        return values.get(address, 0)

    def write(self, address: int, value: int) -> None:
        """Set a register by physical address."""
        if address == MANAGER + _CONTROL:
            self._set_control(value)
        elif address == DATA:
            self._take(value)
        elif address == MANAGER + _CLOCK_COUNT:
            self._clocked = 1
            if self._mode == _INITIALISING:
                self._mode = _USER
        elif address == MANAGER + _CLOCK_STATUS:
            self._clocked &= ~value
        elif address == RESETS + _BRIDGES:
            self._bridges = value
        elif address == INTERCONNECT:
            self._remap = value
        elif address != MANAGER + _END_OF_INTERRUPTS:
            raise MisuseError(f"a write to {address:#x}, where nothing can be written")

    def _set_control(self, value: int) -> None:
        self._control = value
        if not value & 1:
            return
        if value >> 9 & 1 != 1 or value >> 6 & 3 != {0b01000: 0, 0b01001: 2, 0b01010: 3}[self._msel]:
            raise MisuseError(f"control {value:#x} does not fit MSEL {self._msel:05b}")
        if value & 0b100:
            if self._bridges != 0b111:
                raise MisuseError("the fabric is reset while bridges to it are open")
            self._mode, self._pins = _IN_RESET, 0b01
            self._received.clear()
        elif self._mode == _IN_RESET:
            self._mode = _CONFIGURING

    def _take(self, word: int) -> None:
        if self._mode == _INITIALISING or self._pins == 0:
            return
        if self._mode != _CONFIGURING or not self._control >> 8 & 1:
            raise MisuseError("data for a fabric that does not take any")
        self._received += word.to_bytes(4, "little")
        length = 4 + int.from_bytes(self._received[:4], "little")
        if length > 1 << 16:
            self._pins = 0
        elif len(self._received) >= length:
            self._model.program(bytes(self._received))
            self._mode, self._pins = _INITIALISING, 0b11


class PhysicalModel:
    """See `vta.devices.de10nano.PhysicalMemory`. A fabric that is not empty was programmed during the boot."""

    def __init__(self, model: BoardModel, msel: int = 0b01010) -> None:
        self.model = model
        self.msel = msel
        self._manager: FpgaManager | None = None

    @property
    def manager(self) -> FpgaManager:
        """The chip's FPGA manager, as it is from the first access on."""
        if self._manager is None:
            self._manager = FpgaManager(self.model, self.msel)
        return self._manager

    def registers(self, address: int, nbytes: int) -> _Registers:
        """See `PhysicalMemory.registers`."""
        return _Registers(self, address, nbytes)

    def words(self, address: int, nbytes: int) -> NDArray[np.uint32]:
        """See `PhysicalMemory.words`."""
        memory = self.model.memory
        if not memory.start <= address < address + nbytes <= memory.end:
            raise MisuseError(f"{nbytes} bytes at {address:#x} are not all in the window")
        return memory.dram[address - memory.start : address - memory.start + nbytes].view("<u4")

    def close(self) -> None:
        """See `PhysicalMemory.close`."""


class _Registers:
    def __init__(self, physical: PhysicalModel, address: int, nbytes: int) -> None:
        self._physical = physical
        self._address = address
        self._nbytes = nbytes

    def read(self, offset: int) -> int:
        """Read a word."""
        address = self._place(offset)
        if address // _SPAN * _SPAN in (MANAGER, DATA, RESETS, INTERCONNECT):
            return self._physical.manager.read(address)
        self._check_open(address)
        return self._physical.model.read(address)

    def write(self, offset: int, value: int) -> None:
        """Write a word."""
        address = self._place(offset)
        if address // _SPAN * _SPAN in (MANAGER, DATA, RESETS, INTERCONNECT):
            self._physical.manager.write(address, value)
            return
        self._check_open(address)
        self._physical.model.write(address, value)

    def _place(self, offset: int) -> int:
        if not 0 <= offset < self._nbytes or offset % 4:
            raise MisuseError(f"offset {offset:#x} of {self._nbytes:#x} bytes of registers")
        return self._address + offset

    def _check_open(self, address: int) -> None:
        if not self._physical.manager.open:
            raise OSError(f"bus error at {address:#x}: the bridge is closed")
