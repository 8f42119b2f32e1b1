"""From the options of a command to a compiled network on an open device."""

from __future__ import annotations

import argparse

from vta.cli.cycles import timing_parameters
from vta.codegen.region_program import CompiledModule
from vta.config import HardwareConfig
from vta.config_files import find_config
from vta.runtime import Module
from vta.runtime.device import Device, RunOptions
from vta.runtime.devices.cycle import CycleDevice
from vta.runtime.devices.sim import SimDevice

__all__ = ["open_device", "open_module"]


def open_device(hw: HardwareConfig, options: argparse.Namespace) -> Device:
    """Open the device that `options` name."""
    if options.device == "sim":
        return SimDevice(hw, memory_bytes=options.memory)
    if options.device == "rtl":
        from vta.runtime.devices.rtl import RtlDevice

        return RtlDevice(hw, timing_parameters(options, hw), options.memory, getattr(options, "trace", None))
    timing_only = getattr(options, "timing_only", False)
    return CycleDevice(hw, timing_parameters(options, hw), options.memory, options.preset or "rtl", timing_only)


def open_module(compiled: CompiledModule, options: argparse.Namespace) -> Module:
    """Open the device that `options` name and load `compiled` onto it; to be closed by the caller.

    Raises `DeviceError` with the bytes needed and available if the device's memory is too small, and `ArtifactError` if
    the device is to have another config than `compiled` was made for.
    """
    named = getattr(options, "device_config", None)
    hw = compiled.hw if named is None else find_config(named)
    run = RunOptions(seed=getattr(options, "order", None), timeline=bool(getattr(options, "timeline", None)))
    return Module(compiled, open_device(hw, options), run)
