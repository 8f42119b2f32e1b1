"""Operators that read one tensor, and say all about themselves in a few numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.support.dataclass import dataclass
from vta.tile.operator import Tensor, TileOperator

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Attribute", "SingleSourceOperator"]

Attribute = int | tuple[int, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class SingleSourceOperator(TileOperator):
    """An operator that reads one tensor. Fields that only its kind has are its attributes: whole numbers, or pairs of them.

    Those that are arrays, of int8 with four dimensions or of int64 with one, are its constants.
    """

    source: Tensor

    @property
    def sources(self) -> tuple[Tensor, ...]:
        """The tensor that it reads."""
        return (self.source,)

    def relocated(self, tensors: Mapping[str, Tensor]) -> Self:
        """The same operator on the tensors that `tensors` has for the names of its own."""
        source, output = (tensors.get(tensor.name, tensor) for tensor in (self.source, self.output))
        return replace(self, source=source, output=output)

    @classmethod
    def attribute_names(cls) -> tuple[str, ...]:
        """The names of its attributes, in order."""
        constants = cls.constant_names()
        return tuple(name for name in cls._own_fields() if name not in constants)

    @classmethod
    def constant_names(cls) -> tuple[str, ...]:
        """The names of its constants, in order."""
        return tuple(cls.constant_types())

    @classmethod
    def constant_types(cls) -> dict[str, str]:
        """The types of its constants, i8 or i64, by their names in order."""
        arrays = {name: kind for name, kind in cls._own_fields().items() if kind.startswith("NDArray")}
        return {name: "i8" if "int8" in kind else "i64" for name, kind in arrays.items()}

    @classmethod
    def _own_fields(cls) -> dict[str, str]:
        """Fields that only its kind has, and the annotations of these."""
        common = {field.name for field in fields(SingleSourceOperator)}
        return {field.name: str(field.type) for field in fields(cls) if field.name not in common}

    @property
    def constants(self) -> dict[str, NDArray[np.integer[Any]]]:
        """The constants by name."""
        return {name: getattr(self, name) for name in self.constant_names()}

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The attributes by name."""
        return {name: getattr(self, name) for name in self.attribute_names()}

    @property
    def workload_key(self) -> Hashable:
        """The kind, shapes and attributes; of constants the shapes."""
        shapes = (replace(tensor, name="", container=None, first_block=0) for tensor in self.tensors)
        return self.kind, *shapes, *self.attributes.values(), *(value.shape for value in self.constants.values())
