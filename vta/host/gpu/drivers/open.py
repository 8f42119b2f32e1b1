"""Opening a device by its kind."""

from __future__ import annotations

from functools import lru_cache

from vta.errors import UsageError
from vta.host.gpu.drivers.device import GpuDevice
from vta.support.shorten import shown

__all__ = ["GPU_KINDS", "open_gpu", "shared_gpu"]

GPU_KINDS = ("opencl", "cuda")


def open_gpu(kind: str, ordinal: int = 0, platform: str = "") -> GpuDevice:
    """Open a device: the one of a number, of OpenCL's those of platforms with `platform` in their name.

    Raises `UsageError` for another kind, and `DeviceError` saying what is missing where it cannot be opened.
    """
    # Each kind needs packages that the other does without.
    if kind == "opencl":
        from vta.host.gpu.drivers.opencl import OpenclDevice

        return OpenclDevice(ordinal, platform)
    if kind == "cuda":
        from vta.host.gpu.drivers.cuda import CudaDevice

        return CudaDevice(ordinal)
    raise UsageError(f"{shown(kind)} is no kind of GPU; allowed: {', '.join(GPU_KINDS)}")


@lru_cache(maxsize=4)
def shared_gpu(kind: str, ordinal: int = 0, platform: str = "") -> GpuDevice:
    """The same, once for all of a process."""
    return open_gpu(kind, ordinal, platform)
