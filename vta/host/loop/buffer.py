"""Memory that kernels read and write."""

from __future__ import annotations

from math import prod

import numpy as np

from vta.support.dataclass import dataclass

__all__ = ["Buffer"]


@dataclass(frozen=True, eq=False)
class Buffer:
    """A dense array in row-major order. Compared by identity."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """NumPy's name."""

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours of each dimension."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize
