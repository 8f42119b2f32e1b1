"""What a compiled network says of the GPU that computes its host part: its kernels are made where it is loaded."""

from __future__ import annotations

from vta.config.target_list import TargetEntry
from vta.support.dataclass import dataclass

__all__ = ["GpuHost", "GpuKnob", "GpuScheduleChoice", "GpuTileChoice", "gpu_host_of"]


@dataclass(frozen=True)
class GpuKnob:
    """A knob of a tile: its factors, or its one value."""

    name: str
    values: tuple[int, ...]


@dataclass(frozen=True)
class GpuTileChoice:
    """The tile of a workload's kernel."""

    workload: str
    knobs: tuple[GpuKnob, ...]


@dataclass(frozen=True)
class GpuScheduleChoice:
    """The schedule of a kernel."""

    compute: str
    """The digest of what it computes."""
    steps: str
    """As JSON."""


@dataclass(frozen=True)
class GpuHost:
    """A GPU in the place of the host."""

    kind: str
    """``opencl`` or ``cuda``."""
    platform: str = ""
    """Of OpenCL's, a part of the name of its platform."""
    ordinal: int = 0
    """Which of the devices."""
    tiles: tuple[GpuTileChoice, ...] = ()
    """Those that records say; others are chosen where the network is loaded."""
    schedules: tuple[GpuScheduleChoice, ...] = ()
    """Of whole kernels, before tiles."""


def gpu_host_of(entry: TargetEntry) -> GpuHost:
    """The GPU that a target names."""
    return GpuHost(entry.kind, entry.option("platform") or "", int(entry.option("ordinal") or 0))
