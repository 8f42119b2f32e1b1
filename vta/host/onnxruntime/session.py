"""Runs models by onnxruntime."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import DeviceError

__all__ = ["Session"]

Array = NDArray[Any]
_QUIET = 3
"""Severity from which on onnxruntime says something: errors, which it raises as well."""


class Session:
    """One model, ready to run; threads may share it."""

    def __init__(self, model: bytes, threads: int) -> None:
        """Raises `DeviceError` with what onnxruntime says where it does not take the model; the package must be there."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = _QUIET
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # Its errors have no base of their own.
            raise _failed("does not take the host part", error) from None
        self._inputs = [item.name for item in self._session.get_inputs()]

    def run(self, inputs: Sequence[Array]) -> tuple[list[Array], list[float]]:
        """The outputs for inputs, both in the model's order, and the seconds of the run."""
        given = {name: np.ascontiguousarray(array) for name, array in zip(self._inputs, inputs, strict=True)}
        begun = time.perf_counter()
        try:
            made = self._session.run(None, given)
        except Exception as error:
            raise _failed("failed on the host part", error) from None
        return list(made), [time.perf_counter() - begun]


def _failed(what: str, error: Exception) -> DeviceError:
    return DeviceError(f"onnxruntime {what}: {' '.join(str(error).split())}")
