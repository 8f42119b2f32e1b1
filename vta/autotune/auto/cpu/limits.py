"""What a processor has room for: what schedules must fit, and what they are judged by before they are timed."""

from __future__ import annotations

from dataclasses import replace

from vta.autotune.auto.timing import cache_sizes
from vta.host.processors import CpuTarget
from vta.support.dataclass import dataclass

__all__ = ["Limits", "limits_here", "limits_of", "with_caches"]

_NEAR_BYTES, _FAR_BYTES = 32 * 1024, 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """A processor as schedules see it."""

    vector_bytes: int
    registers: int
    """For vectors."""
    near_bytes: int = _NEAR_BYTES
    """Of the nearest cache for data."""
    far_bytes: int = _FAR_BYTES
    """Of the next one."""
    local_bytes: int = 256 * 1024
    """That a kernel may have on its stack."""
    written_out: int = 320
    """Statements that a kernel may be long, unrolled loops written out."""

    def lanes(self, item_bytes: int) -> int:
        """Values of a size in a register."""
        return max(1, self.vector_bytes // item_bytes)


def limits_of(target: CpuTarget) -> Limits:
    """The limits of a processor of which nothing but its kind is known."""
    return Limits(target.vector_bytes, target.vector_registers)


def limits_here(target: CpuTarget) -> Limits:
    """Those of this machine, its caches as the system describes them."""
    return with_caches(limits_of(target), *cache_sizes())


def with_caches(limits: Limits, near_bytes: int, far_bytes: int) -> Limits:
    """The limits with caches of some sizes, where these are known."""
    return replace(limits, near_bytes=near_bytes or limits.near_bytes, far_bytes=far_bytes or limits.far_bytes)
