"""Two values of one tensor: are they the same bits, and where do they first differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.support.dataclass import dataclass

__all__ = ["Mismatch", "differing", "find_difference", "find_mismatch"]


@dataclass(frozen=True)
class Mismatch:
    """The first tensor that is not what the interpreter computes."""

    operator: str
    """The VTA operator, or ``output`` where only the whole run differs."""
    layer: str
    """The layer of the source model."""
    index: tuple[int, ...]
    """First element that differs, in the logical layout."""
    expected: int | float
    got: int | float
    differing: int
    """How many elements differ."""
    total: int

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r} (layer {self.layer!r}): element {list(self.index)} is {self.got}, "
            f"expected {self.expected}; {self.differing} of {self.total} elements differ"
        )


def differing(expected: NDArray[Any], got: NDArray[Any]) -> NDArray[np.bool_]:
    """Which elements of two arrays of one shape and dtype differ in any bit."""
    width = expected.dtype.itemsize
    left, right = (np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, width) for array in (expected, got))
    result: NDArray[np.bool_] = (left != right).any(axis=-1)
    return result


def find_mismatch(operator: str, layer: str, expected: NDArray[Any], got: NDArray[Any]) -> Mismatch | None:
    """Compare two values of a tensor; None if they are the same bits."""
    return _mismatch(operator, layer, expected, got, differing(expected, got))


def find_difference(operator: str, layer: str, expected: NDArray[Any], got: NDArray[Any], rounding: float) -> Mismatch | None:
    """The same, where floats may differ by `rounding` in parts of the largest one."""
    if expected.dtype.kind != "f":
        return find_mismatch(operator, layer, expected, got)
    finite = np.abs(expected[np.isfinite(expected)])
    near = np.isclose(got, expected, rtol=rounding, atol=rounding * float(finite.max(initial=0.0)), equal_nan=True)
    return _mismatch(operator, layer, expected, got, ~np.atleast_1d(near).reshape(expected.shape))


def _mismatch(
    operator: str, layer: str, expected: NDArray[Any], got: NDArray[Any], differs: NDArray[np.bool_]
) -> Mismatch | None:
    count = int(differs.sum())
    if count == 0:
        return None
    index = tuple(int(i) for i in np.unravel_index(int(differs.argmax()), differs.shape))
    return Mismatch(operator, layer, index, expected[index].item(), got[index].item(), count, differs.size)
