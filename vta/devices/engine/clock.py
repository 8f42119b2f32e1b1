"""The time that a driver waits by."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Tells the time and lets it pass."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`, or a little later."""


class SystemClock:
    """The time of this machine."""

    def now(self) -> float:
        """See `Clock.now`."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """See `Clock.sleep`."""
        time.sleep(seconds)
