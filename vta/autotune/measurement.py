"""The result of a trial."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["ErrorKind", "Measurement", "failed"]


class ErrorKind(IntEnum):
    """What became of a trial; numbered as in the published records."""

    NONE = 0
    INSTANTIATION = 1
    """The schedule breaks a limit."""
    COMPILE_HOST = 2
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4
    WRONG_ANSWER = 5
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN = 8


@dataclass(frozen=True)
class Measurement:
    """The result of one trial."""

    costs: tuple[float, ...] = ()
    """Seconds of one run, one entry a repeat; empty if it failed."""
    cycles: int | None = None
    """Clock cycles, where the device counts them."""
    error: ErrorKind = ErrorKind.NONE
    message: str = ""
    seconds: float = 0.0
    """Wall-clock time of building and running."""
    timestamp: float = 0.0

    @property
    def cost(self) -> float:
        """Mean seconds of a run, infinite if it failed."""
        return sum(self.costs) / len(self.costs) if self.costs else float("inf")


def failed(error: ErrorKind, message: str, seconds: float = 0.0) -> Measurement:
    """The result of a trial that failed."""
    return Measurement(error=error, message=message, seconds=seconds, timestamp=time.time())
