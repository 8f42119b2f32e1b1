"""Checks of attributes and input types that the operator declarations share."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence

import numpy as np

from vta.errors import GraphError
from vta.ir.operator import Attributes, TensorType, check_elements
from vta.support.shorten import shown

__all__ = [
    "DTYPES",
    "FLOATS",
    "INTEGERS",
    "check_flag",
    "check_float",
    "check_int",
    "check_ints",
    "check_padded",
    "infer_same",
    "normal_axis",
    "require",
    "require_dtype",
    "require_rank",
    "require_same_dtype",
    "wanted",
]

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
DTYPES = (*FLOATS, *INTEGERS, "bool")


def require(condition: bool, message: str) -> None:
    """Raise `GraphError` with `message` unless `condition` holds."""
    if not condition:
        raise GraphError(message)


def wanted(attrs: Attributes, field: str, allowed: str) -> GraphError:
    """Return the error that says that `field` of `attrs` is wrong and what is allowed."""
    return GraphError(f"{field} must be {allowed}, got {shown(getattr(attrs, field))}")


def check_int(attrs: Attributes, field: str, least: int | None = None, most: int | None = None) -> None:
    """Check that `field` of the frozen dataclass `attrs` is an integer from `least` to `most`; store it as a plain int."""
    value = getattr(attrs, field)
    if type(value) is int and (least is None or value >= least) and (most is None or value <= most):
        return
    bounds = ((" of at least", least), (" and at most" if least is not None else " of at most", most))
    bound = "".join(f"{word} {limit}" for word, limit in bounds if limit is not None)
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or (least is not None and value < least) or (most is not None and value > most):
        raise wanted(attrs, field, f"an integer{bound}")
    object.__setattr__(attrs, field, int(value))


def check_ints(attrs: Attributes, field: str, length: int | None = None, least: int | None = None) -> None:
    """Check that `field` holds `length` integers, none below `least`; store them as a tuple of plain ints."""
    value = getattr(attrs, field)
    as_stored = type(value) is tuple and set(map(type, value)) <= {int}
    if as_stored and length in (None, len(value)) and (least is None or min(value, default=least) >= least):
        return
    count = "" if length is None else f"{length} "
    bound = "" if least is None else f" of at least {least}"
    good = (
        isinstance(value, Iterable)
        and not isinstance(value, (str, bytes))
        and all(isinstance(v, numbers.Integral) and not isinstance(v, bool) for v in value)
    )
    if not good or (length is not None and len(value) != length) or (least is not None and any(v < least for v in value)):
        raise wanted(attrs, field, f"a tuple of {count}integers{bound}")
    object.__setattr__(attrs, field, tuple(int(v) for v in value))


def check_float(attrs: Attributes, field: str, above: float | None = None) -> None:
    """Check that `field` is a finite number, above `above`; store it as a float."""
    value = getattr(attrs, field)
    bound = "" if above is None else f" above {above}"
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or (above is not None and value <= above):
        raise wanted(attrs, field, f"a finite number{bound}")
    object.__setattr__(attrs, field, float(value))


def check_flag(attrs: Attributes, field: str) -> None:
    """Check that `field` is True or False."""
    value = getattr(attrs, field)
    if not isinstance(value, (bool, np.bool_)):
        raise wanted(attrs, field, "True or False")
    object.__setattr__(attrs, field, bool(value))


def require_dtype(type_: TensorType, allowed: Sequence[str], what: str = "the input") -> None:
    """Raise `GraphError` unless the data type is one of `allowed`."""
    require(type_.dtype in allowed, f"{what} must be {' or '.join(allowed)}, got {type_.dtype}")


def require_rank(type_: TensorType, rank: int, what: str = "the input") -> None:
    """Raise `GraphError` unless the value has `rank` dimensions."""
    require(len(type_.shape) == rank, f"{what} must have {rank} dimensions, got shape {type_.shape}")


def require_same_dtype(types: Sequence[TensorType]) -> None:
    """Raise `GraphError` unless all inputs have one data type."""
    dtypes = list(dict.fromkeys(t.dtype for t in types))
    require(len(dtypes) <= 1, f"inputs must have one data type, got {', '.join(dtypes)}")


def normal_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Return `axis` counted from the front; raises `GraphError` if it is outside ``-rank .. rank - 1``."""
    require(-rank <= axis < rank, f"{what} must be in {-rank}..{rank - 1} for {rank} dimensions, got {axis}")
    return axis % rank


def infer_same(attrs: Attributes, types: Sequence[TensorType]) -> TensorType:
    """The output has the type of the first input."""
    return types[0]


def check_padded(data: TensorType, padding: Sequence[int]) -> None:
    """Check that `data` (N, C, H, W) with its `padding` (top, left, bottom, right) is of a size to work with."""
    top, left, bottom, right = padding
    batch, channels, height, width = data.shape
    check_elements((batch, channels, height + top + bottom, width + left + right), f"data with padding {tuple(padding)}")
