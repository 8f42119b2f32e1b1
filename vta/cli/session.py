"""From the options of a command to a compiled network on an open device."""

from __future__ import annotations

import argparse
import os

from vta.boards.files import find_board
from vta.cli.cycles import TIMED, timing_parameters
from vta.codegen.region_program import CompiledModule
from vta.config.files import find_config, shipped_configs
from vta.config.hardware import HardwareConfig
from vta.devices.device import RunOptions
from vta.devices.open_device import DEVICE_KINDS, DeviceSpec, open_device
from vta.errors import DeviceError
from vta.runtime import Module
from vta.runtime.host_options import HostOptions

__all__ = ["default_config", "device_spec", "has_core", "open_module"]


def default_config(options: argparse.Namespace) -> str:
    """The shipped config that the device of `options` has if nothing else is said: that of its board's target, or ``sim``."""
    if options.device in DEVICE_KINDS:
        return "sim"
    target = find_board(options.device, os.environ).design(options.design).target
    return target if target in shipped_configs() else "sim"


def has_core() -> bool:
    """Whether the C++ core is installed, which has the verifier and the simulators; a board does without."""
    try:
        import vta.support.native_library  # noqa: F401
    except DeviceError:
        return False
    return True


def device_spec(hw: HardwareConfig, options: argparse.Namespace) -> DeviceSpec:
    """The device that `options` name, for hardware of config `hw`."""
    return DeviceSpec(
        kind=options.device,
        memory_bytes=options.memory,
        timing=timing_parameters(options, hw) if options.device in TIMED else None,
        preset=options.preset or "rtl",
        timing_only=getattr(options, "timing_only", False),
        trace=getattr(options, "trace", None),
        kernel=options.kernel,
        platform=options.platform,
        design=options.design,
        bitstream=options.bitstream,
        bitstreams=options.bitstreams,
    )


def open_module(compiled: CompiledModule, options: argparse.Namespace) -> Module:
    """Open the device that `options` name and load `compiled` onto it; to be closed by the caller.

    Raises `DeviceError` with the bytes needed and available if the device's memory is too small, and `ArtifactError` if
    the device is to have another config than `compiled` was made for.
    """
    named = getattr(options, "device_config", None)
    hw = compiled.hw if named is None else find_config(named)
    run = RunOptions(seed=getattr(options, "order", None), timeline=bool(getattr(options, "timeline", None)))
    host = HostOptions(getattr(options, "host", "reference") == "llvm", getattr(options, "threads", 1))
    return Module(compiled, open_device(hw, device_spec(hw, options)), run, host)
