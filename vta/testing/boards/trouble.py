"""What can be wrong with a board, and with whoever drives it."""

from __future__ import annotations

from vta.support.dataclass import dataclass

__all__ = ["MisuseError", "SimulatedClock", "Trouble"]

_ACCESS_SECONDS = 1e-7


class MisuseError(AssertionError):
    """A driver did what hardware would take without a word, and then do something else than was meant."""


@dataclass
class Trouble:
    """Faults of a board; may be changed at any time."""

    slow: float = 1.0
    """Runs take so many times as long."""
    hang: bool = False
    """Runs do not end."""
    errors: int = 0
    """Bits of the core's register of errors that every run sets."""
    wrong_counter: str = ""
    """A register of the core that counts one too many."""
    dead_after: int | None = None
    """Accesses to registers after which all reads give ones."""
    offset: int = 0
    """What is added to the address of every buffer: to be misaligned, too high, or out of the window."""


class SimulatedClock:
    """Time that passes only when somebody sleeps or accesses a register."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """Seconds since the start."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._now += max(seconds, 0.0)

    def access(self) -> None:
        """The time of one access over the bus."""
        self._now += _ACCESS_SECONDS
