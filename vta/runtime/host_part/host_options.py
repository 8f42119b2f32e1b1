"""How the host part of a module is computed."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from vta.errors import DeviceError
from vta.runtime.artifact.gpu_host import GpuScheduleChoice, GpuTileChoice
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from vta.host.gpu.drivers.device import GpuDevice

__all__ = ["OLDEST_ONNXRUNTIME", "HostOptions", "has_compiler", "require_compiler", "require_onnxruntime"]

OLDEST_ONNXRUNTIME = (1, 24)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class HostOptions:
    """How the host part of a module is computed."""

    compiled: bool = False
    """By kernels compiled for this processor, where there are some; else by the NumPy references."""
    threads: int = 1
    """That share the work of a kernel."""
    records: tuple[Path, ...] = ()
    """Logs of tuning records for kernels, beside what was tuned on this machine and what comes with the package."""
    trusted: bool = False
    """Whether the library that comes with a module is run wherever it was made; else only one that was made here."""
    refuses_foreign: bool = False
    """Whether a library for another processor is an error; else it is left alone."""
    winograd: bool = False
    """Whether kernels for this processor compute 3x3 convolutions of floats by Winograd's transforms where that takes less time:
    sums are rounded differently, and what is infinite spreads to its neighbours."""
    onnxruntime: bool = False
    """By onnxruntime, in the place of the references."""
    gpu: GpuDevice | None = None
    """By kernels on a GPU, in the place of those for this processor."""
    gpu_tiles: tuple[GpuTileChoice, ...] = ()
    """Tiles of those kernels."""
    gpu_schedules: tuple[GpuScheduleChoice, ...] = ()
    """Of those kernels, before tiles."""
    leaves_gpu: bool = False
    """Whether a module's own GPU is left alone."""

    @property
    def by_references(self) -> bool:
        """Whether the NumPy references compute all of it."""
        return not self.compiled and not self.onnxruntime and self.gpu is None


def require_onnxruntime() -> None:
    """Raise `DeviceError` if onnxruntime is not installed, or too old."""
    if find_spec("onnxruntime") is None:
        raise DeviceError("the host part is to be computed by onnxruntime, which is missing: pip install 'vta[onnxruntime]'")
    import onnxruntime

    found: str = onnxruntime.__version__
    if tuple(int(part) for part in found.split(".")[:2]) < OLDEST_ONNXRUNTIME:
        oldest = ".".join(map(str, OLDEST_ONNXRUNTIME))
        raise DeviceError(
            f"the host part is to be computed by onnxruntime {found}, which does not multiply signed bytes; "
            f"allowed: {oldest} or later, which needs Python 3.11"
        )


def has_compiler() -> bool:
    """Whether kernels can be compiled here."""
    found = find_spec("llvmlite") is not None and find_spec("vta.runtime.host_part.host_kernels") is not None
    if not found:
        _LOG.debug("llvmlite is missing: the host part is computed by its references")
    return found


def require_compiler() -> None:
    """Raise `DeviceError` if kernels cannot be compiled here."""
    if not has_compiler():
        raise DeviceError("kernels of the host are compiled by llvmlite, which is missing: pip install llvmlite")
