"""What a system has beside the core."""

from __future__ import annotations

from vta.hardware.system.address_map import MemoryKind
from vta.support.dataclass import dataclass

__all__ = ["SystemParameters"]

_PATIENCE_SECONDS = 0.1


@dataclass(frozen=True)
class SystemParameters:
    """What a system has beside the core."""

    clock_hz: int
    memory_bytes: int
    memory_kind: MemoryKind
    network: bool = False
    """A network is a second way in, beside the serial line."""

    @property
    def patience_cycles(self) -> int:
        """How long the bridge waits for the rest of a command."""
        return int(self.clock_hz * _PATIENCE_SECONDS)
