"""What became of jobs in worker processes, as builds and measurements."""

from __future__ import annotations

import time

from vta.autotune.measure.measure import Build
from vta.autotune.measure.workers import Crashed, Failed, Finished, Outcome, TimedOut
from vta.records.measurement import ErrorKind, Measurement, failed

__all__ = ["build_of", "measurement_of"]


def build_of(outcome: Outcome) -> Build:
    """The build that a job of a builder became."""
    if isinstance(outcome, Finished):
        return Build(outcome.value, seconds=outcome.seconds)
    kinds = {Failed: ErrorKind.COMPILE_DEVICE, Crashed: ErrorKind.COMPILE_HOST, TimedOut: ErrorKind.BUILD_TIMEOUT}
    return Build(error=kinds[type(outcome)], message=outcome.message, seconds=outcome.seconds)


def measurement_of(outcome: Outcome, build_seconds: float) -> Measurement:
    """The measurement that a job of a runner became, whose build took some time."""
    if isinstance(outcome, Finished):
        found: Measurement = outcome.value
        seconds = build_seconds + outcome.seconds
        return Measurement(found.costs, found.cycles, found.error, found.message, seconds, time.time())
    error = ErrorKind.RUN_TIMEOUT if isinstance(outcome, TimedOut) else ErrorKind.RUNTIME_DEVICE
    return failed(error, outcome.message, build_seconds + outcome.seconds)
