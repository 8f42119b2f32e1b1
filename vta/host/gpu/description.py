"""What a device is that runs printed kernels, here or on another machine."""

from __future__ import annotations

from vta.host.loop.grid import GridLimits
from vta.support.dataclass import dataclass

__all__ = ["GpuDescription"]


@dataclass(frozen=True)
class GpuDescription:
    """A device."""

    name: str
    """As its maker calls it."""
    limits: GridLimits
