"""What small templates have in common: one tensor in, one out, the largest tile that fits, and an emission of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from vta.codegen.gemm_description import FROM_BOTTOM, Placement
from vta.codegen.stream import Stream
from vta.codegen.templates.emission import emit_operator
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.partition.fused.fused_operator import FusedOperator
from vta.partition.fused.support_rules import Rule
from vta.partition.fused.template_support import TemplateSupport, register_support
from vta.schedule.schedule import Schedule
from vta.schedule.tile_sizes import Size, largest_tile
from vta.support.dataclass import dataclass
from vta.tile.registry import TensorOf, register_builder, register_kind
from vta.tile.single_source import SingleSourceOperator
from vta.tile.transfer_limits import broken_stride

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Rows", "Template", "template"]


@dataclass(frozen=True)
class Rows:
    """Rows of the on-chip buffers."""

    inp: int
    acc: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Template(SingleSourceOperator):
    """An operator that reads one tensor and runs tile after tile, each as large as fits."""

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

    def remarks(self, hw: HardwareConfig) -> tuple[str, ...]:
        """The size of tiles, and what those on chip take; or why no tile fits."""
        try:
            tile = self.tile_size(hw)
        except CompileError as error:
            return (str(error),)
        rows, copies = self.tile_rows(tile), self.tile_copies(tile, hw)
        size = "x".join(map(str, tile))
        return (f"tiles of {size}; on chip: input {copies} x {rows.inp} rows, accumulator {copies} x {rows.acc} rows",)

    def _fits(self, tile: Size, copies: int, hw: HardwareConfig) -> bool:
        rows = self.tile_rows(tile)
        return copies * rows.inp <= hw.depth(MemoryType.INP) and copies * rows.acc <= hw.depth(MemoryType.ACC)


@emit_operator.register
def _(
    operator: Template,
    stream: Stream,
    addresses: Mapping[str, int],
    schedule: Schedule | None,
    placement: Placement = FROM_BOTTOM,
) -> None:
    operator.emit(stream, addresses)


_Kind = TypeVar("_Kind", bound=type[Template])


def template(
    *graph_operators: str, kinds: tuple[str, ...], when: str = "on int8", rules: tuple[Rule, ...] = ()
) -> Callable[[_Kind], _Kind]:
    """Register a class as the template of `graph_operators`, each of which it computes whole, from int8 to int8.

    `kinds` are those of its tile operators. `when` ends a sentence that says when it runs on VTA, and `rules` are conditions on
    the fused operators that it takes.
    """

    def registered(of: _Kind) -> _Kind:
        for graph_operator in graph_operators:
            register_support(TemplateSupport(graph_operator, when, rules))
            register_builder(graph_operator, of.build)
        for kind in kinds:
            register_kind(kind, of)
        return of

    return registered
