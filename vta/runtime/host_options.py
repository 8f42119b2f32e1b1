"""How the host part of a module is computed."""

from __future__ import annotations

from pathlib import Path

from vta.support.dataclass import dataclass

__all__ = ["HostOptions"]


@dataclass(frozen=True)
class HostOptions:
    """How the host part of a module is computed."""

    compiled: bool = False
    """By kernels compiled for this processor, where there are some; else by the NumPy references."""
    threads: int = 1
    """That share the work of a kernel."""
    records: tuple[Path, ...] = ()
    """Logs of tuning records for kernels, beside what was tuned on this machine and what comes with the package."""
