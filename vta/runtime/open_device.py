"""Devices by name, and what each can be told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vta.config import HardwareConfig
from vta.errors import UsageError
from vta.runtime.device import Device
from vta.timing import TimingParameters

__all__ = ["DEVICE_KINDS", "DeviceSpec", "open_device"]

DEVICE_KINDS = ("sim", "cycle", "rtl", "opencl")


@dataclass(frozen=True)
class DeviceSpec:
    """Which device to open, and how; what a kind does not have is ignored."""

    kind: str = "sim"
    memory_bytes: int = 1 << 28
    timing: TimingParameters | None = None
    """By default those of the config's platform."""
    preset: str = "rtl"
    """Whose timing, for ``cycle``."""
    timing_only: bool = False
    trace: Path | None = None
    """Where ``rtl`` writes its signals."""
    kernel: Path | None = None
    """What ``opencl`` runs, source or binary; by default the kernel of this package."""
    platform: str = ""
    """Part of the name of the platform for ``opencl``; by default the first that can take the kernel."""


def open_device(hw: HardwareConfig, spec: DeviceSpec) -> Device:
    """Open a device for `hw`. Raises `UsageError` for an unknown kind, and `DeviceError` if it cannot be opened."""
    if spec.kind == "sim":
        from vta.runtime.devices.sim import SimDevice

        return SimDevice(hw, spec.memory_bytes)
    if spec.kind == "cycle":
        from vta.runtime.devices.cycle import CycleDevice

        return CycleDevice(hw, spec.timing, spec.memory_bytes, spec.preset, spec.timing_only)
    if spec.kind == "rtl":
        from vta.runtime.devices.rtl import RtlDevice

        return RtlDevice(hw, spec.timing, spec.memory_bytes, spec.trace)
    if spec.kind == "opencl":
        from vta.runtime.devices.opencl import OpenclDevice

        return OpenclDevice(hw, spec.memory_bytes, spec.kernel, spec.platform)
    raise UsageError(f"no device {spec.kind!r}; allowed: {', '.join(DEVICE_KINDS)}")
