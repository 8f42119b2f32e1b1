"""Signal to noise ratios."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["decibels"]


def decibels(signal: NDArray[Any], value: NDArray[Any]) -> float:
    """Return the power of `signal` over that of its difference from `value`, in decibels; infinite if they are the same.

    What is infinite in both, or not a number in both, counts as the same; in one of them, as noise without end.
    """
    with np.errstate(invalid="ignore"):
        wanted, got = (array.astype(np.float64) for array in (signal, value))
        same = (wanted == got) | (np.isnan(wanted) & np.isnan(got))
        error = float(np.where(same, 0.0, (got - wanted) ** 2).sum())
    power = float((wanted[np.isfinite(wanted)] ** 2).sum())
    if error == 0:
        return float("inf")
    return 10 * float(np.log10(max(power, 1e-300) / error)) if np.isfinite(error) else float("-inf")
