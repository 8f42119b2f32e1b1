"""What small templates have in common: one tensor in, one out, the largest tile that fits, and an emission of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, replace
from typing import NamedTuple, Self, TypeVar

from vta.codegen.stream import Stream
from vta.codegen.templates.emission import emit_operator
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.partition.fused_operator import FusedOperator
from vta.schedule.schedule import Schedule
from vta.schedule.tile_sizes import Size, largest_tile
from vta.support.dataclass import dataclass
from vta.tile.operator import Tensor, TileOperator
from vta.tile.registry import TensorOf, register_builder
from vta.tile.transfer_limits import broken_stride

__all__ = ["Rows", "Template", "template"]


class Rows(NamedTuple):
    """Rows of the on-chip buffers."""

    inp: int
    acc: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Template(TileOperator):
    """An operator that reads one tensor and runs tile after tile, each as large as fits. Fields of its own are its attributes."""

    source: Tensor

    @classmethod
    @abstractmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The operator that computes `fused`; `tensor_of` gives the packed tensor of a value."""

    @property
    @abstractmethod
    def extents(self) -> Size:
        """Blocks, rows and columns of what is cut into tiles."""

    @abstractmethod
    def tile_rows(self, tile: Size) -> Rows:
        """What a tile of this size takes on chip."""

    @property
    @abstractmethod
    def least_need(self) -> str:
        """What does not fit if no tile does, as the start of a sentence: ``a window of 9 rows does not fit``."""

    @abstractmethod
    def emit(self, stream: Stream, addresses: Mapping[str, int]) -> None:
        """Emit the whole operator; `addresses` gives the arena element where each memory starts."""

    @property
    def sources(self) -> tuple[Tensor, ...]:
        """The tensor that it reads."""
        return (self.source,)

    def relocated(self, tensors: Mapping[str, Tensor]) -> Self:
        """The same operator on the tensors that `tensors` has for the names of its own."""
        source, output = (tensors.get(tensor.name, tensor) for tensor in (self.source, self.output))
        return replace(self, source=source, output=output)

    @property
    def attributes(self) -> dict[str, int | tuple[int, ...]]:
        """The fields that only its kind has, by name."""
        common = {field.name for field in fields(Template)}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in common}

    @property
    def workload_key(self) -> Hashable:
        """The kind, shapes and attributes."""
        shapes = (replace(tensor, name="", container=None, first_block=0) for tensor in self.tensors)
        return self.kind, *shapes, *self.attributes.values()

    def tile_size(self, hw: HardwareConfig) -> Size:
        """Blocks, rows and columns of the largest tile of which two fit on chip, or else one.

        Raises `CompileError` if not even the smallest fits, or rows are too long.
        """
        for broken in (*broken_stride(self.source), *broken_stride(self.output)):
            raise CompileError(f"{self.name}: {broken}")
        found = largest_tile(self.extents, lambda tile, copies: self._fits(tile, copies, hw))
        if found is None:
            raise CompileError(f"{self.name}: {self.least_need} of {hw.model}")
        return found

    def tile_copies(self, tile: Size, hw: HardwareConfig) -> int:
        """How many tiles are on chip at a time."""
        return 2 if self._fits(tile, 2, hw) else 1

    def check(self, hw: HardwareConfig) -> None:
        """Raise `CompileError` naming the limit if no tile fits `hw`."""
        self.tile_size(hw)

    def _fits(self, tile: Size, copies: int, hw: HardwareConfig) -> bool:
        rows = self.tile_rows(tile)
        return copies * rows.inp <= hw.depth(MemoryType.INP) and copies * rows.acc <= hw.depth(MemoryType.ACC)


@emit_operator.register
def _(operator: Template, stream: Stream, addresses: Mapping[str, int], schedule: Schedule | None) -> None:
    operator.emit(stream, addresses)


_Kind = TypeVar("_Kind", bound=type[Template])


def template(*graph_operators: str) -> Callable[[_Kind], _Kind]:
    """Register a class as the template of `graph_operators`, each of which it computes whole, from int8 to int8."""

    def registered(kind: _Kind) -> _Kind:
        for graph_operator in graph_operators:
            register_builder(graph_operator, kind.build)
        return kind

    return registered
