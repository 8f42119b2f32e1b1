"""Outputs of a graph that a copy of this process computes."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.files.forked_call import ForkedCall

__all__ = ["ForkedOutputs"]

Array = NDArray[Any]
_LIMIT_SECONDS = 3600.0
"""Of the wait for what the other process computes; then this one does."""


class ForkedOutputs:
    """A process that computes outputs; at the end of a ``with`` it ends, if it has not come to its own."""

    def __init__(self, compute: Callable[[], Sequence[Array]], nice: int = 0) -> None:
        """With `nice`, as for `ForkedCall`. Raises `OSError` if this process cannot be copied; see `ForkedCall.possible`."""
        self._call = ForkedCall(lambda: _computed(compute), nice)

    def __enter__(self) -> ForkedOutputs:
        return self

    def __exit__(self, *_: object) -> None:
        self._call.__exit__()

    def outputs(self) -> tuple[list[Array], float] | None:
        """Wait for the outputs of all samples, and the seconds that they took; None if the other process failed."""
        found = self._call.result(_LIMIT_SECONDS)
        if found is None:
            return None
        stream = io.BytesIO(found)
        seconds, count = np.load(stream, allow_pickle=False)
        return [np.load(stream, allow_pickle=False) for _ in range(int(count))], float(seconds)


def _computed(compute: Callable[[], Sequence[Array]]) -> bytes:
    start = time.perf_counter()
    outputs = compute()
    stream = io.BytesIO()
    for array in (np.array([time.perf_counter() - start, len(outputs)]), *outputs):
        np.save(stream, array, allow_pickle=False)
    return stream.getvalue()
