"""Whether a kernel's result is right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_within_rounding"]

_TOLERANCE = 1e-5
"""Of the largest result: sums are added up in another order."""


def is_within_rounding(got: NDArray[Any], want: NDArray[Any]) -> bool:
    """Whether integers are those of the reference, and floats within rounding of its."""
    if want.dtype.kind != "f":
        return bool((got == want).all())
    return bool(np.abs(got - want).max() <= _TOLERANCE * max(1.0, float(np.abs(want).max())))
