"""From the options of a command to a compiled network on an open device."""

from __future__ import annotations

import argparse

from vta.codegen.region_program import CompiledModule
from vta.config_files import find_config
from vta.runtime import Module
from vta.runtime.device import RunOptions
from vta.runtime.devices.sim import SimDevice

__all__ = ["open_module"]


def open_module(compiled: CompiledModule, options: argparse.Namespace) -> Module:
    """Open the device that `options` name and load `compiled` onto it; to be closed by the caller.

    Raises `DeviceError` with the bytes needed and available if the device's memory is too small, and `ArtifactError` if
    the device is to have another config than `compiled` was made for.
    """
    named = getattr(options, "device_config", None)
    hw = compiled.hw if named is None else find_config(named)
    order = RunOptions(seed=getattr(options, "order", None))
    return Module(compiled, SimDevice(hw, memory_bytes=options.memory), order)
