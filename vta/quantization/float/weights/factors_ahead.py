"""Factors of the covariances of layers, computed on another thread before their weights are rounded."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from threading import Lock, Semaphore, Thread
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.quantization.float.calibration.input_moments import Moments
from vta.quantization.float.weights.gptq import Factor, factor_of, rounded_by
from vta.support.on_cores import threads_at_once

__all__ = ["FactorsAhead"]

Array = NDArray[Any]
_AHEAD = 4
"""Factors that wait to be used: each takes as much memory as its covariance."""


class FactorsAhead:
    """Within its block `compensated` finds factors that were computed meanwhile, in the order of the moments given."""

    def __init__(self, moments: Iterable[Moments]) -> None:
        self._places = {id(one): _Place(one) for one in moments}
        self._room = Semaphore(_AHEAD)
        self._ended = False
        self._thread = Thread(target=self._run, name="vta-factors") if self._places and threads_at_once() > 1 else None

    def __enter__(self) -> FactorsAhead:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended = True
        self._room.release()
        if self._thread is not None:
            self._thread.join()

    def compensated(self, weight: Array, scales: Array, moments: Moments) -> NDArray[np.int8]:
        """See `vta.quantization.float.weights.gptq.compensated`."""
        place = self._places.get(id(moments))
        found = None if place is None else place.taken()
        self._room.release()
        return rounded_by(factor_of(moments) if found is None else found, weight, scales)

    def _run(self) -> None:
        # Who asks for a factor that could not be computed computes it again, and says why.
        with suppress(MemoryError):
            for place in self._places.values():
                self._room.acquire()
                if self._ended:
                    return
                place.make()


class _Place:
    """Where a factor waits; it is computed by whoever wants it first."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._lock = Lock()
        self._factor: Factor | None = None
        self._wanted = True

    def make(self) -> None:
        """Compute the factor, unless nobody waits for it any more."""
        with self._lock:
            if self._wanted:
                self._factor = factor_of(self._moments)

    def taken(self) -> Factor | None:
        """The factor, which is not kept; None if it was not begun, and will not be."""
        with self._lock:
            found, self._factor, self._wanted = self._factor, None, False
        return found
