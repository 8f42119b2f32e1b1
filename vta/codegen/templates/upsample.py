"""The template of nearest upsampling: identity products write every input row into several accumulator rows."""

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
from vta.ir.ops.shape import UpsamplingAttributes
from vta.partition.fused.fused_operator import FusedOperator
from vta.schedule.tile_sizes import Size
from vta.support.dataclass import dataclass
from vta.tile.registry import TensorOf

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Upsample"]


@template(ops.UPSAMPLING, kinds=("upsampling",))
@dataclass(frozen=True, eq=False, kw_only=True)
class Upsample(Template):
    """Every row and every column several times: nearest neighbor."""

    kind: str = "upsampling"
    factors: tuple[int, int]
    """How often each row and each column."""

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The upsampling of the one node of `fused`."""
        attrs = attrs_of(fused.anchor, UpsamplingAttributes)
        factors = attrs.scale_h, attrs.scale_w
        return cls(name=name, source=tensor_of(fused.sources[0]), output=tensor_of(fused.result), factors=factors)

    @property
    def extents(self) -> Size:
        """Of the input."""
        return self.source.blocks, self.source.height, self.source.width

    @property
    def least_need(self) -> str:
        """What one position becomes."""
        return f"the {self.factors[0] * self.factors[1]} rows of one position do not fit the accumulator buffer"

    def tile_rows(self, tile: Size) -> Rows:
        """The tile, and all that it becomes."""
        rows = tile[0] * tile[1] * tile[2]
        return Rows(rows, rows * self.factors[0] * self.factors[1])

    def emit(self, stream: Stream, addresses: Mapping[str, int]) -> None:
        """Emit the whole operator; `addresses` gives the arena element where each memory starts."""
        hw = stream.hw
        tile_size = self.tile_size(hw)
        identity = np.eye(hw.block, dtype=np.int8)
        stream.load(MemoryType.WGT, 0, Segment.CONSTANTS, stream.add_constant(identity, MemoryType.WGT), 1)
        copies, rows = self.tile_copies(tile_size, hw), self.tile_rows(tile_size)
        for number, window in enumerate(_windows(self, tile_size)):
            stream.tile = number
            slot = number % copies
            _emit_tile(stream, self, window, slot * rows.inp, slot * rows.acc, addresses)


def _windows(operator: Upsample, size: Size) -> Iterator[Box]:
    source = operator.source
    extents = (source.blocks, source.height, source.width)
    starts = (range(0, extent, step) for extent, step in zip(extents, size, strict=True))
    for batch, *place in product(range(source.batch), *starts):
        block, row, column = place
        blocks, height, width = (min(step, extent - at) for step, extent, at in zip(size, extents, place, strict=True))
        yield Box(batch, block, row, column, blocks, height, width)


def _emit_tile(stream: Stream, operator: Upsample, window: Box, inp: int, acc: int, addresses: Mapping[str, int]) -> None:
    down, across = operator.factors
    stream.load_window(operator.source, addresses[operator.source.memory.name], window, inp)
    tile = Box(
        window.batch,
        window.block,
        window.row * down,
        window.column * across,
        window.blocks,
        window.height * down,
        window.width * across,
    )
    stream.gemm(single_uop(acc), inner=Loop(tile.rows, 1, 0), reset=True)
    nest = (
        Loop(window.blocks, tile.positions, window.positions),
        Loop(window.height, down * tile.width, window.width),
        Loop(down, tile.width),
        Loop(window.width, across, 1),
        Loop(across, 1),
    )
    stream.gemm_nest(nest, (acc, inp, 0), is_transfer=True)
    stream.store_tile(operator.output, addresses[operator.output.memory.name], tile, acc)
