"""From the options of a command to an open device, of this machine or another."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from vta.boards.files import find_board
from vta.cli.running.cycles import TIMED, timing_parameters
from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.devices.device import RunOptions
from vta.devices.open_device import DEVICE_KINDS, DeviceSpec, open_device
from vta.errors import DeviceError
from vta.runtime import LocalDevice, ModuleDevice
from vta.runtime.host_part.host_options import HostOptions

__all__ = ["default_config", "device_spec", "has_core", "open_module_device"]


def default_config(options: argparse.Namespace) -> str:
    """The shipped config that the device of `options` has if nothing else is said: that of its board's target, or ``sim``."""
    if options.device in DEVICE_KINDS:
        return "sim"
    target = find_board(options.device, os.environ).design(options.design).target
    return target if target in shipped_configs() else "sim"


def has_core() -> bool:
    """Whether the C++ core is installed, which has the verifier and the simulators; a board does without."""
    try:
        import vta.native  # noqa: F401
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
        link=options.link,
    )


def _host_records(options: argparse.Namespace) -> tuple[Path, ...]:
    """Logs for the kernels that are compiled here."""
    return tuple(getattr(options, "records", None) or ()) if getattr(options, "host", None) == "llvm" else ()


def open_module_device(options: argparse.Namespace, hw: HardwareConfig, progress: Callable[[str], None]) -> ModuleDevice:
    """Open the device that `options` name, with hardware of config `hw`, or lease it where they name another machine.

    To be closed by the caller. Raises `DeviceError` and `RemoteError` if there is none.
    """
    if options.remote is not None:
        from vta.cli.running.remote import open_session

        progress("waiting for a device")
        return open_session(options)
    named = getattr(options, "device_config", None)
    hw = hw if named is None else HardwareConfig.named(named)
    run = RunOptions(seed=getattr(options, "order", None), timeline=bool(getattr(options, "timeline", None)))
    host = HostOptions(
        compiled=getattr(options, "host", None) == "llvm",
        threads=getattr(options, "threads", 1),
        onnxruntime=getattr(options, "host", None) == "onnxruntime",
        records=_host_records(options),
        trusted=getattr(options, "trust_library", False),
        refuses_foreign=getattr(options, "host", None) == "llvm",
        leaves_gpu=getattr(options, "host", None) is not None,
    )
    return LocalDevice(open_device(hw, device_spec(hw, options)), run, host)
