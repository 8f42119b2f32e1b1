"""A device of this machine that compiled modules are loaded onto."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import NoReturn

from vta.config.hardware import AnyConfig, HardwareConfig, config_of
from vta.config.timing import TimingParameters
from vta.devices.device import Device, ProgrammableDevice, RunOptions
from vta.devices.open_device import DeviceSpec
from vta.devices.open_device import open_device as open_raw_device
from vta.errors import DeviceError
from vta.runtime.compiled_module import CompiledModule, load
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.module import Module

__all__ = ["LocalDevice", "open_device"]

_OPTIONS = RunOptions()
_HOST_OPTIONS = HostOptions()


class LocalDevice:
    """A simulator, or an accelerator of this machine; see `ModuleDevice`."""

    def __init__(self, device: Device, options: RunOptions = _OPTIONS, host: HostOptions = _HOST_OPTIONS) -> None:
        """`options` say how modules run on the device, `host` how the rest of them is computed."""
        self.device = device
        """Its memory, and running instruction streams."""
        self._options = options
        self._host = host

    def __enter__(self) -> LocalDevice:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        """A second one would close the first."""
        raise DeviceError(f"a {self.kind} device can be neither copied nor pickled: open another where it is needed")

    def __repr__(self) -> str:
        return (
            f"LocalDevice: {self.kind}, {self.hw.model}, {self.device.memory_bytes:,} bytes, {self.device.status().state.value}"
        )

    @property
    def kind(self) -> str:
        """See `ModuleDevice.kind`."""
        return self.device.name

    @property
    def hw(self) -> HardwareConfig:
        """See `ModuleDevice.hw`."""
        return self.device.hw

    def load(self, module: CompiledModule | str | Path) -> Module:
        """See `ModuleDevice.load`."""
        if not isinstance(module, CompiledModule):
            # A board need not have the C++ core, and so no verifier.
            module = load(module, contained=isinstance(self.device, ProgrammableDevice))
        return Module(module, self.device, self._options, self._host)

    def close(self) -> None:
        """Close the device, and with it what is loaded there; closing again does nothing."""
        self.device.close()


def open_device(
    kind: str = "sim",
    hw: AnyConfig = "sim",
    *,
    memory_bytes: int = 1 << 28,
    timing: TimingParameters | None = None,
    preset: str = "rtl",
    trace: str | Path | None = None,
    kernel: str | Path | None = None,
    platform: str = "",
    design: str = "",
    bitstream: str | Path | None = None,
    bitstreams: str | Path | None = None,
    compiled_host: bool = False,
    threads: int = 1,
) -> LocalDevice:
    """Open a device for `hw`: ``sim``, ``cycle``, ``rtl``, ``opencl``, or a board by its name.

    What a kind does not have is ignored: `timing` and `preset` are for devices that count cycles, `trace` is where ``rtl`` writes
    its signals, `kernel` and `platform` are for ``opencl``, `design`, `bitstream` and `bitstreams` for boards (see `DeviceSpec`).
    With `compiled_host`, operators that are not on the device run by kernels that LLVM compiles for this processor, on `threads`
    threads. Raises `UsageError` for an unknown kind, `ConfigError` for a config or board that is not good, and `DeviceError` if
    the device cannot be opened.
    """
    spec = DeviceSpec(
        kind=kind,
        memory_bytes=memory_bytes,
        timing=timing,
        preset=preset,
        trace=_path(trace),
        kernel=_path(kernel),
        platform=platform,
        design=design,
        bitstream=_path(bitstream),
        bitstreams=_path(bitstreams),
    )
    return LocalDevice(open_raw_device(config_of(hw), spec), host=HostOptions(compiled_host, threads))


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)
