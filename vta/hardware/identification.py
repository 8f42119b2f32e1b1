"""What a core says of itself in its registers `identity`, `geometry` and `buffers`."""

from __future__ import annotations

from collections.abc import Callable

from vta.config.hardware import HardwareConfig
from vta.errors import DeviceError
from vta.hardware.registers import IDENTITY

__all__ = ["check_identification", "identification"]

_GEOMETRY = ("log_inp_width", "log_wgt_width", "log_acc_width", "log_batch", "log_block")
_BUFFERS = ("log_uop_buff_size", "log_inp_buff_size", "log_wgt_buff_size", "log_acc_buff_size")
_OPTIONS = ("requantize_unit", "table_unit", "depthwise_unit")
_BUS_SHIFT = 4 * len(_GEOMETRY)
_OPTIONS_SHIFT = _BUS_SHIFT + 4


def identification(hw: HardwareConfig, bus_bits: int) -> dict[str, int]:
    """The values of the three registers, by name, of a core of `hw` on a bus of `bus_bits`."""
    geometry = sum(getattr(hw, name) << 4 * index for index, name in enumerate(_GEOMETRY))
    buffers = sum(getattr(hw, name) << 8 * index for index, name in enumerate(_BUFFERS))
    geometry |= (bus_bits.bit_length() - 1) << _BUS_SHIFT
    geometry |= sum(getattr(hw, name) << _OPTIONS_SHIFT + index for index, name in enumerate(_OPTIONS))
    return {"identity": IDENTITY, "geometry": geometry, "buffers": buffers}


def check_identification(read: Callable[[str], int], hw: HardwareConfig, bus_bits: int) -> None:
    """Compare the core whose registers `read` gives, by name, with what is expected.

    Raises `DeviceError` naming what differs, and both values: nothing may run then.
    """
    found = read("identity")
    if found != IDENTITY:
        raise DeviceError(
            f"the fabric does not hold this core: its register identity is {found:#010x}, expected {IDENTITY:#010x}; program it"
        )
    geometry, buffers = read("geometry"), read("buffers")
    values = {name: geometry >> 4 * index & 0xF for index, name in enumerate(_GEOMETRY)}
    values |= {name: buffers >> 8 * index & 0xFF for index, name in enumerate(_BUFFERS)}
    values |= {name: geometry >> _OPTIONS_SHIFT + index & 1 for index, name in enumerate(_OPTIONS)}
    for name, value in values.items():
        if value != getattr(hw, name):
            raise DeviceError(
                f"the core in the fabric was built for {name.upper()} = {value}; the device is to have {getattr(hw, name)}"
            )
    bus = 1 << (geometry >> _BUS_SHIFT & 0xF)
    if bus != bus_bits:
        raise DeviceError(f"the core in the fabric has a bus of {bus} bits; the board's description says {bus_bits}")
