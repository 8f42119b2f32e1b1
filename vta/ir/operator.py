"""How an operator is declared: attributes, type rule and NumPy reference, once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir.declared import MODULES
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

if TYPE_CHECKING:
    from typing import Concatenate

    from vta.ir.graph import Node

__all__ = [
    "MOST_ELEMENTS",
    "Attributes",
    "NoAttributes",
    "Operator",
    "TensorType",
    "check_elements",
    "lookup",
    "operator",
    "operator_names",
]

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
class Attributes:
    """What all attributes of operators are: a frozen data class for each operator, or for a few alike."""


@dataclass(frozen=True)
class NoAttributes(Attributes):
    """The attributes of an operator that has none."""


_A = TypeVar("_A", bound=Attributes)


@dataclass(frozen=True)
class Operator:
    """A declared operator."""

    name: str
    arity: tuple[int, int | None]
    """Fewest and most inputs; None for any number."""
    attributes: type[Attributes]
    infer: Callable[[Any, Sequence[TensorType]], TensorType]
    """Type of the output from attributes and input types; raises `GraphError` saying what is wrong."""
    reference: Callable[..., Array]
    """``reference(attrs, *arrays)``: the value, by NumPy; decides what is right."""

    def made(self, **attributes: Any) -> Attributes:
        """Its attributes from their values. Raises `GraphError` or `TypeError` if these are wrong."""
        return self.attributes(**attributes)

    def check(self, attrs: Attributes, inputs: Sequence[Node], label: str) -> TensorType:
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


_Infer = Callable[[_A, Sequence[TensorType]], TensorType]
_R = TypeVar("_R", bound=Callable[..., Array])


@overload
def operator(name: str, arity: int | tuple[int, int | None], infer: _Infer[NoAttributes]) -> Callable[[_R], _R]: ...
@overload
def operator(
    name: str, arity: int | tuple[int, int | None], infer: _Infer[_A], attributes: type[_A]
) -> Callable[[Callable[Concatenate[_A, ...], Array]], Callable[Concatenate[_A, ...], Array]]: ...
def operator(
    name: str,
    arity: int | tuple[int, int | None],
    infer: Callable[[Any, Sequence[TensorType]], TensorType],
    attributes: type[Attributes] = NoAttributes,
) -> Callable[..., Any]:
    """Declare operator `name`; decorates its NumPy reference, which takes the attributes and arrays."""

    def declare(reference: Callable[..., Array]) -> Callable[..., Array]:
        home = _home(name)
        if name in _OPERATORS or (home is not None and reference.__module__ != home):
            raise ValueError(f"operator {name} is declared twice")
        span = (arity, arity) if isinstance(arity, int) else arity
        _OPERATORS[name] = Operator(name, span, attributes, infer, reference)
        return reference

    return declare


def lookup(name: str) -> Operator:
    """Return the operator called `name`; raises `GraphError` if it is not declared."""
    found = _OPERATORS.get(name)
    if found is None:
        home = _home(name)
        _declare([home] if home is not None else MODULES)
        found = _OPERATORS.get(name)
    if found is None:
        raise GraphError(f"operator {shown(name)} is not declared")
    return found


def operator_names() -> list[str]:
    """Names of all declared operators, sorted."""
    _declare(MODULES)
    return sorted(_OPERATORS)


def _declare(modules: Iterable[str]) -> None:
    """Import modules of `vta.ir.ops`, which declare their operators."""
    for module in modules:
        import_module(module)


def _home(name: str) -> str | None:
    """The module that declares an operator of ours."""
    return next((module for module, names in MODULES.items() if name in names), None)
