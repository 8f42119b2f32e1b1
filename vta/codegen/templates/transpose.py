"""The template of transpositions: products of unit vectors with the tensor, whose blocks are loaded as weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from vta.codegen.box import Box
from vta.codegen.stream import Loop, Segment, Stream, single_uop
from vta.codegen.templates.template import Rows, Template, template
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.ir import names as ops
from vta.ir.graph import attrs_of
from vta.ir.ops.matmul import GroupsAttributes
from vta.partition.fused.fused_operator import FusedOperator
from vta.schedule.tile_sizes import Size
from vta.support.dataclass import dataclass
from vta.tile.registry import TensorOf

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Transpose"]


@template(ops.TRANSPOSE2D, kinds=("transpose2d",))
@dataclass(frozen=True, eq=False, kw_only=True)
class Transpose(Template):
    """In each group of channels, channels become columns, and columns channels."""

    kind: str = "transpose2d"
    groups: int

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The transposition of the one node of `fused`."""
        groups = attrs_of(fused.anchor, GroupsAttributes).groups
        return cls(name=name, source=tensor_of(fused.sources[0]), output=tensor_of(fused.result), groups=groups)

    @property
    def computes_weights(self) -> bool:
        """It multiplies by its source."""
        return True

    @property
    def extents(self) -> Size:
        """Of a group, in blocks: those of the output, and those of the source."""
        return self.output.blocks // self.groups, 1, self.source.blocks // self.groups

    @property
    def least_need(self) -> str:
        """One block."""
        return "one block of weights does not fit the buffers"

    def tile_rows(self, tile: Size) -> Rows:
        """The unit vectors, and the block rows of a tile."""
        lanes = self.source.width * self.groups // self.output.blocks
        return Rows(lanes, tile[0] * tile[2] * lanes)

    def emit(self, stream: Stream, addresses: Mapping[str, int]) -> None:
        """Emit the whole operator; `addresses` gives the arena element where each memory starts."""
        hw = stream.hw
        tile_size = self.tile_size(hw)
        unit_vectors = np.eye(hw.block, dtype=np.int8)
        stream.load(MemoryType.INP, 0, Segment.CONSTANTS, stream.add_constant(unit_vectors, MemoryType.INP), hw.block)
        copies, rows = self.tile_copies(tile_size, hw), self.tile_rows(tile_size)
        for number, tile in enumerate(self._tiles(tile_size)):
            stream.tile = number
            slot = number % copies
            self._emit_tile(stream, tile, slot * tile_size[0] * tile_size[2], slot * rows.acc, addresses)

    def _fits(self, tile: Size, copies: int, hw: HardwareConfig) -> bool:
        rows, weights = self.tile_rows(tile), tile[0] * tile[2]
        return rows.inp <= hw.depth(MemoryType.INP) and all(
            copies * need <= hw.depth(memory) for need, memory in ((rows.acc, MemoryType.ACC), (weights, MemoryType.WGT))
        )

    def _tiles(self, size: Size) -> Iterator[tuple[int, int, range, range]]:
        """Batch, group, and the blocks of the output and of the source in it."""
        outputs, _, sources = self.extents
        starts = product(range(self.source.batch), range(self.groups), range(0, outputs, size[0]), range(0, sources, size[2]))
        for batch, group, output, source in starts:
            yield batch, group, range(output, min(outputs, output + size[0])), range(source, min(sources, source + size[2]))

    def _emit_tile(
        self, stream: Stream, tile: tuple[int, int, range, range], wgt: int, acc: int, addresses: Mapping[str, int]
    ) -> None:
        batch, group, outputs, sources = tile
        out_extent, _, source_extent = self.extents
        lanes = stream.hw.block
        first = addresses[self.source.memory.name] + self.source.index(batch, group * source_extent + sources.start, 0, 0)
        stream.load(
            MemoryType.WGT,
            wgt,
            Segment.ARENA,
            first // lanes + outputs.start,
            len(outputs),
            len(sources),
            self.source.width // lanes,
        )
        nest = (
            Loop(len(outputs), len(sources) * lanes, 0, 1),
            Loop(len(sources), lanes, 0, len(outputs)),
            Loop(lanes, 1, 1, 0),
        )
        rows = len(outputs) * len(sources) * lanes
        stream.gemm(single_uop(acc), inner=Loop(rows, 1, 0), reset=True)
        stream.gemm_nest(nest, (acc, 0, wgt), is_transfer=True)
        place = Box(batch, group * out_extent + outputs.start, 0, sources.start * lanes, len(outputs), 1, len(sources) * lanes)
        stream.store_tile(self.output, addresses[self.output.memory.name], place, acc)
