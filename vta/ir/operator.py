"""How an operator is declared: attributes, type rule and NumPy reference, once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

if TYPE_CHECKING:
    from vta.ir.graph import Node

__all__ = ["MOST_ELEMENTS", "NoAttributes", "Operator", "TensorType", "check_elements", "lookup", "operator", "operator_names"]

Array = NDArray[Any]

MOST_ELEMENTS = 1 << 29
"""Of any value of a graph: no accelerator's memory holds as many."""


@dataclass(frozen=True)
class TensorType:
    """Shape and NumPy data type name of a value."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(str(d) for d in self.shape)}]"

    @property
    def nbytes(self) -> int:
        """Bytes of the value."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def check_size(self) -> TensorType:
        """The type itself. Raises `GraphError` if a value of it would have more than `MOST_ELEMENTS` elements."""
        check_elements(self.shape, str(self))
        return self


def check_elements(shape: Sequence[int], what: str) -> None:
    """Raise `GraphError` if an array of `shape`, which `what` names, would have more than `MOST_ELEMENTS` elements."""
    if math.prod(shape) > MOST_ELEMENTS:
        raise GraphError(f"{what} would have {shown(math.prod(shape))} elements; the limit is {MOST_ELEMENTS}")


@dataclass(frozen=True)
class NoAttributes:
    """The attributes of an operator that has none."""


@dataclass(frozen=True)
class Operator:
    """A declared operator."""

    name: str
    arity: tuple[int, int | None]
    """Fewest and most inputs; None for any number."""
    attributes: type[Any]
    infer: Callable[[Any, Sequence[TensorType]], TensorType]
    """Type of the output from attributes and input types; raises `GraphError` saying what is wrong."""
    reference: Callable[..., Array]
    """``reference(attrs, *arrays)``: the value, by NumPy; decides what is right."""

    def check(self, attrs: Any, inputs: Sequence[Node], label: str) -> TensorType:
        """Infer the output type; raises `GraphError` naming layer and operator."""
        least, most = self.arity
        if len(inputs) < least or (most is not None and len(inputs) > most):
            wanted = str(least) if least == most else f"{least} to {most or 'any'}"
            raise GraphError(f"{label}: {self.name} takes {wanted} inputs, got {len(inputs)}")
        try:
            return self.infer(attrs, [node.type for node in inputs]).check_size()
        except GraphError as error:
            types = ", ".join(str(node.type) for node in inputs)
            raise GraphError(f"{label}: {self.name}({types}): {error}") from None


_OPERATORS: dict[str, Operator] = {}


def operator(
    name: str,
    arity: int | tuple[int, int | None],
    infer: Callable[[Any, Sequence[TensorType]], TensorType],
    attributes: type[Any] = NoAttributes,
) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Declare operator `name`; decorates its NumPy reference."""

    def declare(reference: Callable[..., Array]) -> Callable[..., Array]:
        if name in _OPERATORS:
            raise ValueError(f"operator {name} is declared twice")
        span = (arity, arity) if isinstance(arity, int) else arity
        _OPERATORS[name] = Operator(name, span, attributes, infer, reference)
        return reference

    return declare


def lookup(name: str) -> Operator:
    """Return the operator called `name`; raises `GraphError` if it is not declared."""
    import vta.ir.ops  # noqa: F401  (declares the operators)

    try:
        return _OPERATORS[name]
    except KeyError:
        raise GraphError(f"operator {shown(name)} is not declared") from None


def operator_names() -> list[str]:
    """Names of all declared operators, sorted."""
    import vta.ir.ops  # noqa: F401  (declares the operators)

    return sorted(_OPERATORS)
