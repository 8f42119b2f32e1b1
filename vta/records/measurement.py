"""The result of a trial."""

from __future__ import annotations

import time
from enum import IntEnum

from vta.support.dataclass import dataclass

__all__ = ["COUNTING", "ErrorKind", "Measured", "Measurement", "failed", "measured_on"]

COUNTING = ("cycle", "rtl")
"""The simulators that count cycles."""


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


class Measured(IntEnum):
    """What a cost is, the most trusted first. Costs of different kinds are never compared."""

    CYCLES = 0
    """Clock cycles of the design, counted, as seconds at the clock of the config's platform."""
    HARDWARE_SECONDS = 1
    """By the clock, on hardware: what published records have."""
    KERNEL_SECONDS = 2
    """Of the OpenCL kernel, on whatever runs it."""
    SIMULATION_SECONDS = 3
    """What a simulator took: it says nothing of the design that it simulates."""

    @property
    def words(self) -> str:
        """For messages."""
        return self.name.lower().replace("_", " ")


def measured_on(device: str, cycles: int | None) -> Measured:
    """What the cost of a run on a device is. `device` is a kind as records name it, `cycles` what it counted, if anything."""
    if cycles is not None:
        return Measured.CYCLES
    if device in ("sim", *COUNTING):
        return Measured.SIMULATION_SECONDS
    return Measured.KERNEL_SECONDS if device == "opencl" else Measured.HARDWARE_SECONDS


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
    energy_pj: float | None = None
    """Energy of a run by the figures of `technology`, where it was asked for."""
    technology: str = ""

    @property
    def cost(self) -> float:
        """Mean seconds of a run, infinite if it failed."""
        return sum(self.costs) / len(self.costs) if self.costs else float("inf")


def failed(error: ErrorKind, message: str, seconds: float = 0.0) -> Measurement:
    """The result of a trial that failed."""
    return Measurement(error=error, message=message, seconds=seconds, timestamp=time.time())
