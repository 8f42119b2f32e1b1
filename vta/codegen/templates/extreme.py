"""The template of the largest or smallest value of an image: windows are halved until one row is left, which the next meets."""

from __future__ import annotations

from collections.abc import Mapping
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
from vta.ir.ops.reduce import ReduceAttributes
from vta.isa.instruction import AluOp
from vta.partition.fused.fused_operator import FusedOperator
from vta.partition.fused.support_rules import Breach, support_rule
from vta.schedule.tile_sizes import Size
from vta.support.dataclass import dataclass
from vta.tile.registry import TensorOf

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Extreme"]

_KINDS = {ops.MAX: "reduce_max", ops.MIN: "reduce_min"}


@support_rule(*_KINDS)
def extremes_are_of_images(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """A maximum or minimum of one value must be over the rows and columns of an image, and no other axes."""
    rank = len(fused.anchor.inputs[0].shape)
    axes = attrs_of(fused.anchor, ReduceAttributes).axes(rank)
    return None if rank == 4 and axes == (2, 3) else Breach(fused.anchor, f"axes {', '.join(map(str, axes))} of {rank}")


@template(
    *_KINDS, kinds=tuple(_KINDS.values()), when="on int8, over the rows and columns of an image", rules=(extremes_are_of_images,)
)
@dataclass(frozen=True, eq=False, kw_only=True)
class Extreme(Template):
    """The largest value of each channel of an image, or the smallest; the image may be larger than what fits on chip."""

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The reduction of the one node of `fused`."""
        source, output = tensor_of(fused.sources[0]), tensor_of(fused.result)
        return cls(name=name, kind=_KINDS[fused.anchor.op], source=source, output=output)

    @property
    def extents(self) -> Size:
        """Of the input."""
        return self.source.blocks, self.source.height, self.source.width

    @property
    def least_need(self) -> str:
        """One position and the value that it meets."""
        return "one position and its result do not fit the input and accumulator buffers"

    def tile_rows(self, tile: Size) -> Rows:
        """The window, and a row a block for the values so far."""
        window = tile[0] * tile[1] * tile[2]
        return Rows(window, window + tile[0])

    def emit(self, stream: Stream, addresses: Mapping[str, int]) -> None:
        """Emit the whole operator; `addresses` gives the arena element where each memory starts."""
        hw, source = stream.hw, self.source
        tile_size = self.tile_size(hw)
        stream.load(MemoryType.WGT, 0, Segment.CONSTANTS, stream.add_constant(np.eye(hw.block, dtype=np.int8), MemoryType.WGT), 1)
        copies, rows = self.tile_copies(tile_size, hw), self.tile_rows(tile_size)
        starts = list(product(range(0, source.height, tile_size[1]), range(0, source.width, tile_size[2])))
        tiles = 0
        for number, (batch, block) in enumerate(product(range(source.batch), range(0, source.blocks, tile_size[0]))):
            blocks = min(tile_size[0], source.blocks - block)
            result = number % copies * rows.acc + rows.inp
            stream.gemm(single_uop(result), inner=Loop(blocks, 1, 0), reset=True)
            stream.alu(AluOp.ADD, single_uop(result, result), inner=Loop(blocks, 1, 1), imm=self._neutral)
            for row, column in starts:
                stream.tile, slot = tiles, tiles % copies
                tiles += 1
                height, width = min(tile_size[1], source.height - row), min(tile_size[2], source.width - column)
                window = Box(batch, block, row, column, blocks, height, width)
                stream.load_window(source, addresses[source.memory.name], window, slot * rows.inp)
                self._reduce(stream, window, slot * rows.inp, slot * rows.acc, result)
            stream.store_tile(self.output, addresses[self.output.memory.name], Box(batch, block, 0, 0, blocks, 1, 1), result)

    @property
    def _op(self) -> AluOp:
        return AluOp.MAX if self.kind == _KINDS[ops.MAX] else AluOp.MIN

    @property
    def _neutral(self) -> int:
        """What no value of an image loses to."""
        return -128 if self._op is AluOp.MAX else 127

    def _reduce(self, stream: Stream, window: Box, inp: int, acc: int, result: int) -> None:
        """Let the values so far meet those of a window: no instruction writes a row twice, which some targets take amiss."""
        stream.gemm(single_uop(acc), inner=Loop(window.rows, 1, 0), reset=True)
        stream.gemm(single_uop(acc, inp), inner=Loop(window.rows, 1, 1), is_transfer=True)
        left = window.positions
        while left > 1:
            half = left // 2
            nest = Loop(window.blocks, window.positions, window.positions), Loop(half, 1, 1)
            stream.alu_nest(self._op, nest, (acc, acc + left - half, 0))
            left -= half
        stream.alu_nest(self._op, (Loop(window.blocks, 1, window.positions),), (result, acc, 0))
