"""Everything that follows from a hardware config, as names and values to print."""

from __future__ import annotations

from dataclasses import fields

from vta.config.hardware import HardwareConfig
from vta.config.targets import Capabilities, MemoryType
from vta.isa.encoding import instruction_fields, uop_fields
from vta.isa.instruction import Opcode

__all__ = ["describe"]

Value = str | int | bool
"""What a property may be; sizes are in bytes, depths in rows."""

_BUFFERS = {
    "uop": MemoryType.UOP,
    "inp": MemoryType.INP,
    "wgt": MemoryType.WGT,
    "acc": MemoryType.ACC,
    "out": MemoryType.OUT,
}


def describe(hw: HardwareConfig) -> dict[str, Value]:
    """Return every name, size, field width and capability that follows from `hw`, in an order fit for reading.

    Micro-ops have 32 bits, each of the two words of an instruction 64; the widths say how many are used.
    """
    return {
        "target": hw.target,
        "hw_version": hw.hw_version,
        "model": hw.model,
        "bitstream": hw.bitstream,
        "batch": hw.batch,
        "block": hw.block,
        "macs_per_cycle": hw.batch * hw.block * hw.block,
        **_buffers(hw),
        **_field_widths(hw),
        **_platform(hw),
        **_capabilities(hw),
    }


def _buffers(hw: HardwareConfig) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, memory in _BUFFERS.items():
        rows = hw.uop_depth if memory is MemoryType.UOP else hw.depth(memory)
        values[f"{name}_element_bytes"] = hw.elem_bytes(memory)
        values[f"{name}_depth"] = rows
        values[f"{name}_buffer_bytes"] = rows * hw.elem_bytes(memory)
    return values


def _field_widths(hw: HardwareConfig) -> dict[str, Value]:
    values: dict[str, Value] = {f"uop_{field.name}_bits": field.width for field in uop_fields(hw)}
    values["uop_bits"] = sum(field.width for field in uop_fields(hw))
    for opcode in (Opcode.GEMM, Opcode.ALU):
        for word, (low, high) in enumerate(((0, 64), (64, 128))):
            ends = [field.low + field.width for field in instruction_fields(hw)[opcode] if low <= field.low < high]
            values[f"{opcode.name.lower()}_word{word}_bits"] = max(ends) - low
    return values


def _platform(hw: HardwareConfig) -> dict[str, Value]:
    platform = hw.platform
    return {
        "device": platform.device or "none",
        "fabric_mhz": platform.fabric_mhz,
        "bus_bits": platform.bus_bits,
    }


def _capabilities(hw: HardwareConfig) -> dict[str, Value]:
    return {field.name: _plain(getattr(hw.capabilities, field.name)) for field in fields(Capabilities)}


def _plain(value: object) -> Value:
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, frozenset):
        return ", ".join(memory.name for memory in sorted(value)) or "none"
    return "none" if value is None else str(value)
