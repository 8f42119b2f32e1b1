"""What kernels on a GPU need, and what of it is here."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from vta.host.gpu.drivers.cuda import cuda_device_count, find_driver
from vta.host.gpu.drivers.nvrtc import find_nvrtc, nvrtc_version
from vta.host.gpu.drivers.open import shared_gpu
from vta.support.dataclass import dataclass

__all__ = ["Need", "gpu_needs"]


@dataclass(frozen=True)
class Need:
    """One thing that devices of a kind need."""

    kind: str
    """``opencl`` or ``cuda``."""
    name: str
    found: str
    """What is here; "" for nothing."""
    install: str
    """What to do about it."""


def gpu_needs() -> list[Need]:
    """All that there is to say of this machine."""
    return [*_opencl(), *_cuda()]


def _opencl() -> Iterator[Need]:
    has_package = find_spec("pyopencl") is not None
    yield Need("opencl", "pyopencl", "installed" if has_package else "", "pip install 'vta[opencl]'")
    names: list[str] = []
    if has_package:
        from vta.host.gpu.drivers.opencl import opencl_devices

        names = [device.name.strip() for device in opencl_devices()]
    install = "install the OpenCL driver of the GPU, or pip install 'vta[opencl]' for one that computes on the processor"
    yield Need("opencl", "devices", _numbered(names), install)


def _cuda() -> Iterator[Need]:
    yield Need("cuda", "driver", "libcuda" if find_driver() is not None else "", "install NVIDIA's driver")
    version = ".".join(map(str, nvrtc_version())) if find_nvrtc() is not None else ""
    yield Need("cuda", "NVRTC", version, "pip install 'vta[cuda]', or install the CUDA toolkit and set CUDA_HOME")
    count = cuda_device_count() if version else 0
    names = [shared_gpu("cuda", ordinal).name for ordinal in range(count)]
    yield Need("cuda", "devices", _numbered(names), "needs an NVIDIA GPU, its driver and NVRTC")


def _numbered(names: list[str]) -> str:
    return ", ".join(f"{number}: {name}" for number, name in enumerate(names))
