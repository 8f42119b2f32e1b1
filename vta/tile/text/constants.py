"""Constants in the text of the tile level: by shape and a digest of their values, which a mapping may give back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.tile.gemm_term import GemmTerm
from vta.tile.operator import TileOperator
from vta.tile.single_source import SingleSourceOperator

if TYPE_CHECKING:
    from typing import Self

__all__ = ["DIGEST_DIGITS", "UnknownConstant", "constants_of", "digest_of", "kept_of"]

DIGEST_DIGITS = 12
_LARGEST = 1 << 40
"""Elements: numpy can say no more of some arrays."""


class UnknownConstant(np.ndarray[Any, np.dtype[Any]]):
    """Zeros in place of a constant whose values a text does not hold; it takes no memory, and prints as the constant did."""

    digest: str = ""
    kept: int | None = None
    """Blocks of weights that are not zero, where the text says."""

    @classmethod
    def of(cls, shape: Sequence[int], dtype: type[np.int8] | type[np.int64], digest: str) -> Self:
        """Zeros of a shape. Raises `ValueError` if it has too many elements."""
        if prod(shape) > _LARGEST:
            raise ValueError(f"{prod(shape):,} elements; allowed: at most {_LARGEST:,}")
        zeros: Self = np.broadcast_to(dtype(0), tuple(shape)).view(cls)
        zeros.digest = digest
        return zeros


def digest_of(values: NDArray[Any]) -> str:
    """Hexadecimal digits that tell constants apart: of the data type, the shape and the values."""
    if isinstance(values, UnknownConstant):
        return values.digest
    kind = f"{values.dtype.name}{values.shape}".encode()
    return hashlib.sha256(kind + np.ascontiguousarray(values).tobytes()).hexdigest()[:DIGEST_DIGITS]


def kept_of(term: GemmTerm) -> int:
    """Blocks of weights of a term that are not zero."""
    known = term.weights.kept if isinstance(term.weights, UnknownConstant) else None
    return term.kept_block_count if known is None else known


def constants_of(operators: Sequence[TileOperator]) -> dict[str, NDArray[Any]]:
    """The constants of operators by digest: what parsing their text takes to give the same operators."""
    gemms = [gemm for operator in operators if (gemm := operator.scheduled) is not None]
    arrays: list[NDArray[Any]] = [term.weights for gemm in gemms for term in gemm.terms]
    arrays += [values for gemm in gemms for values in gemm.constants]
    single = (operator for operator in operators if isinstance(operator, SingleSourceOperator))
    arrays += [values for operator in single for values in operator.constants.values()]
    return {digest_of(values): values for values in arrays}
