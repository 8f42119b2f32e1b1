"""Division of integers: the whole part of a quotient, and what is left, element by element with NumPy broadcasting.

Of a divisor of zero both are zero. A quotient that the type does not hold, that of its lowest value by -1, wraps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.operator import NoAttributes, TensorType, operator
from vta.ir.ops._checks import INTEGERS, require_dtype, require_same_dtype
from vta.ir.ops.elementwise import broadcast_shape

__all__: list[str] = []

Array = NDArray[Any]


def _infer(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    require_same_dtype(types)
    require_dtype(types[0], INTEGERS, "inputs")
    return TensorType(broadcast_shape(types[0].shape, types[1].shape), types[0].dtype)


def _declare(name: str, function: Callable[[Array, Array], Array], meaning: str) -> None:
    def reference(attrs: NoAttributes, left: Array, right: Array) -> Array:
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(function(left, right), left.dtype)

    reference.__doc__ = meaning
    operator(name, 2, _infer)(reference)


def _towards_zero(left: Array, right: Array) -> Array:
    quotient = np.floor_divide(left, right)
    return np.asarray(quotient + (((left < 0) != (right < 0)) & (np.remainder(left, right) != 0)))


_declare(ops.FLOOR_DIVIDE, np.floor_divide, "Quotient, rounded towards minus infinity.")
_declare(ops.FLOOR_MOD, np.remainder, "What is left by `floor_divide`: it has the sign of the divisor.")
_declare(ops.TRUNC_DIVIDE, _towards_zero, "Quotient, rounded towards zero.")
_declare(ops.TRUNC_MOD, np.fmod, "What is left by `trunc_divide`: it has the sign of the dividend.")
