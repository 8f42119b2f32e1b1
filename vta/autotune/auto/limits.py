"""What a processor has room for: what schedules must fit, and what they are judged by before they are timed."""

from __future__ import annotations

from pathlib import Path

from vta.host.llvm.target import CpuTarget
from vta.support.dataclass import dataclass

__all__ = ["Limits", "limits_of", "limits_here"]

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_NEAR_BYTES, _FAR_BYTES = 32 * 1024, 1024 * 1024
_UNITS = {"K": 1 << 10, "M": 1 << 20}


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


def limits_here(target: CpuTarget, caches: Path = _CACHES) -> Limits:
    """Those of this machine, its caches as the system describes them."""
    sizes = {level: size for level, size in map(_cache, sorted(caches.glob("index*"))) if size}
    near, far = sizes.get(1, _NEAR_BYTES), sizes.get(2, _FAR_BYTES)
    return Limits(target.vector_bytes, target.vector_registers, near, far)


def _cache(folder: Path) -> tuple[int, int]:
    """Level and size of a cache; size 0 where that is not said, or where it is for instructions."""
    try:
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        number = int(size[:-1]) * _UNITS[size[-1]] if size[-1:] in _UNITS else int(size)
        return int(level), 0 if kind == "Instruction" else number
    except (OSError, ValueError):
        return 0, 0
