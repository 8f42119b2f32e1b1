"""Arrays that users give, as the type that an input has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError
from vta.ir.arithmetic.not_finite import first_where

__all__ = ["as_floats", "as_type"]


def as_type(values: NDArray[Any], dtype: str, what: str) -> NDArray[Any]:
    """Return a copy of numbers as `dtype`; floats as `as_floats` makes them, and raises."""
    return as_floats(values, dtype, what) if dtype.startswith("float") else values.astype(dtype)


def as_floats(values: NDArray[Any], dtype: str, what: str) -> NDArray[Any]:
    """Return numbers as floats of type `dtype`, in C order; `what` names them in errors.

    Raises `UsageError` if they are no real numbers, or one is finite and beyond the type.
    """
    if values.dtype.kind not in "biuf":
        raise UsageError(f"{what} is {values.dtype}; expected {dtype}")
    with np.errstate(over="ignore"):
        floats = values.astype(dtype, order="C")
    if values.dtype.kind == "f" and values.dtype.itemsize > floats.dtype.itemsize:
        beyond = np.isinf(floats) & np.isfinite(values)
        if beyond.any():
            at = first_where(beyond)
            raise UsageError(f"{what} is {values[at]:g} at {list(at)}, which is beyond {dtype}")
    return floats
