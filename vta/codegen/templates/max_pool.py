"""The template of maximum pooling: identity products bring the input into the accumulator, the ALU takes the maximum."""

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
from vta.ir.ops.nn.pool import Pool2DAttributes
from vta.isa.instruction import AluOp
from vta.partition.fused.fused_operator import FusedOperator
from vta.schedule.tile_sizes import Size
from vta.support.dataclass import dataclass
from vta.tile.registry import TensorOf

if TYPE_CHECKING:
    from typing import Self

__all__ = ["MaxPool"]

_LOWEST = -128


@template(ops.MAX_POOL2D, ops.GLOBAL_MAX_POOL2D, kinds=("max_pool2d",))
@dataclass(frozen=True, eq=False, kw_only=True)
class MaxPool(Template):
    """Maximum over a sliding window; positions outside the input never win."""

    kind: str = "max_pool2d"
    pool_size: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    """Rows above and columns to the left of the input."""

    @classmethod
    def build(cls, fused: FusedOperator, tensor_of: TensorOf, hw: HardwareConfig, name: str) -> Self:
        """The pooling of the one node of `fused`."""
        source, output = tensor_of(fused.sources[0]), tensor_of(fused.result)
        if fused.anchor.op == ops.GLOBAL_MAX_POOL2D:
            return cls(name=name, source=source, output=output, pool_size=(source.height, source.width))
        attrs = attrs_of(fused.anchor, Pool2DAttributes)
        return cls(
            name=name,
            source=source,
            output=output,
            pool_size=attrs.pool_size,
            strides=attrs.strides,
            padding=attrs.padding[:2],
        )

    @property
    def extents(self) -> Size:
        """Of the output."""
        return self.output.blocks, self.output.height, self.output.width

    @property
    def least_need(self) -> str:
        """One window."""
        return f"a window of {self.pool_size[0] * self.pool_size[1]} rows does not fit the input and accumulator buffers"

    def tile_rows(self, tile: Size) -> Rows:
        """The window of a tile in both buffers, the tile beside it."""
        window = self._window_rows(tile)
        return Rows(window, window + tile[0] * tile[1] * tile[2])

    def emit(self, stream: Stream, addresses: Mapping[str, int]) -> None:
        """Emit the whole operator; `addresses` gives the arena element where each memory starts."""
        hw = stream.hw
        tile_size = self.tile_size(hw)
        identity = np.eye(hw.block, dtype=np.int8)
        stream.load(MemoryType.WGT, 0, Segment.CONSTANTS, stream.add_constant(identity, MemoryType.WGT), 1)
        copies, rows = self.tile_copies(tile_size, hw), self.tile_rows(tile_size)
        for number, tile in enumerate(_tiles(self, tile_size)):
            stream.tile = number
            slot = number % copies
            acc = slot * rows.acc
            _emit_tile(stream, self, tile, slot * rows.inp, acc + rows.acc - rows.inp, acc, addresses)

    def _window_rows(self, tile: Size) -> int:
        blocks, height, width = tile
        rows = min((height - 1) * self.strides[0] + self.pool_size[0], self.source.height)
        columns = min((width - 1) * self.strides[1] + self.pool_size[1], self.source.width)
        return blocks * rows * columns


def _tiles(pool: MaxPool, size: Size) -> Iterator[Box]:
    out = pool.output
    ranges = (range(out.batch), range(0, out.blocks, size[0]), range(0, out.height, size[1]), range(0, out.width, size[2]))
    for batch, block, row, column in product(*ranges):
        sizes = (min(size[0], out.blocks - block), min(size[1], out.height - row), min(size[2], out.width - column))
        yield Box(batch, block, row, column, *sizes)


def _emit_tile(stream: Stream, pool: MaxPool, tile: Box, inp: int, source: int, acc: int, addresses: Mapping[str, int]) -> None:
    top, left = tile.row * pool.strides[0] - pool.padding[0], tile.column * pool.strides[1] - pool.padding[1]
    bottom = min(pool.source.height, top + (tile.height - 1) * pool.strides[0] + pool.pool_size[0])
    right = min(pool.source.width, left + (tile.width - 1) * pool.strides[1] + pool.pool_size[1])
    row, column = max(0, top), max(0, left)
    height, width = bottom - row, right - column
    window = Box(tile.batch, tile.block, row, column, tile.blocks, height, width)
    stream.load_window(pool.source, addresses[pool.source.memory.name], window, inp)
    stream.gemm(single_uop(source), inner=Loop(window.rows, 1, 0), reset=True)
    stream.gemm(single_uop(source, inp), inner=Loop(window.rows, 1, 1), is_transfer=True)
    stream.gemm(single_uop(acc), inner=Loop(tile.rows, 1, 0), reset=True)
    stream.alu(AluOp.ADD, single_uop(acc, acc), inner=Loop(tile.rows, 1, 1), imm=_LOWEST)
    for kh, kw in product(range(pool.pool_size[0]), range(pool.pool_size[1])):
        rows = _inside(top + kh, pool.strides[0], tile.height, pool.source.height)
        columns = _inside(left + kw, pool.strides[1], tile.width, pool.source.width)
        if not rows or not columns:
            continue
        first_row = top + kh + rows.start * pool.strides[0] - row
        first_column = left + kw + columns.start * pool.strides[1] - column
        nest = (
            Loop(tile.blocks, tile.positions, window.positions),
            Loop(len(rows), tile.width, pool.strides[0] * width),
            Loop(len(columns), 1, pool.strides[1]),
        )
        base = (acc + rows.start * tile.width + columns.start, source + first_row * width + first_column, 0)
        stream.alu_nest(AluOp.MAX, nest, base)
    stream.store_tile(pool.output, addresses[pool.output.memory.name], tile, acc)


def _inside(first: int, stride: int, count: int, extent: int) -> range:
    """The outputs whose input position, `first` + stride * output, lies in [0, extent)."""
    begin = max(0, -(first // stride))
    end = min(count, -(-(extent - first) // stride))
    return range(begin, max(begin, end))
