"""The template of maximum pooling: identity products bring the input into the accumulator, the ALU takes the maximum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from vta.codegen.loop_nest import Dim, fold, single_uop
from vta.codegen.stream import Loop, Segment, Stream
from vta.codegen.templates.products import Tile, store_tile
from vta.codegen.window import Window, broken_stride, load_window
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.isa.instruction import AluOp
from vta.schedule.tile_sizes import largest_tile
from vta.tile.operator import MaxPool

__all__ = ["choose_pool_tile", "emit_max_pool"]

_LOWEST = -128


def choose_pool_tile(pool: MaxPool, hw: HardwareConfig) -> tuple[int, int, int]:
    """Return (blocks, rows, columns) of the largest output tile of which two fit on chip, or else one.

    Raises `CompileError` if not even one position fits, or rows are too long.
    """
    out = pool.output
    for broken in (*broken_stride(pool.source), *broken_stride(out)):
        raise CompileError(f"{pool.name}: {broken}")
    found = largest_tile((out.blocks, out.height, out.width), lambda tile, copies: _fits(pool, tile, copies, hw))
    if found is not None:
        return found
    need = pool.pool_size[0] * pool.pool_size[1]
    raise CompileError(f"{pool.name}: a window of {need} rows does not fit the input and accumulator buffers of {hw.model}")


def emit_max_pool(stream: Stream, pool: MaxPool, addresses: Mapping[str, int], tile_size: tuple[int, int, int]) -> None:
    """Emit the whole operator into `stream`; `addresses` gives the arena element where each memory starts."""
    hw = stream.hw
    identity = np.eye(hw.block, dtype=np.int8)
    stream.load(MemoryType.WGT, 0, Segment.CONSTANTS, stream.add_constant(identity, MemoryType.WGT), 1)
    copies = 2 if _fits(pool, tile_size, 2, hw) else 1
    source_rows, out_rows = _tile_rows(pool, tile_size)
    for number, tile in enumerate(_tiles(pool, tile_size)):
        stream.tile = number
        slot = number % copies
        inp = slot * source_rows
        acc = slot * (source_rows + out_rows)
        _emit_tile(stream, pool, tile, inp, acc + out_rows, acc, addresses)


def _fits(pool: MaxPool, tile: tuple[int, int, int], copies: int, hw: HardwareConfig) -> bool:
    source, out = _tile_rows(pool, tile)
    return copies * source <= hw.depth(MemoryType.INP) and copies * (source + out) <= hw.depth(MemoryType.ACC)


def _tile_rows(pool: MaxPool, tile: tuple[int, int, int]) -> tuple[int, int]:
    """Input and output rows of a tile."""
    blocks, height, width = tile
    rows = min((height - 1) * pool.strides[0] + pool.pool_size[0], pool.source.height)
    columns = min((width - 1) * pool.strides[1] + pool.pool_size[1], pool.source.width)
    return blocks * rows * columns, blocks * height * width


def _tiles(pool: MaxPool, size: tuple[int, int, int]) -> Iterator[Tile]:
    out = pool.output
    ranges = (range(out.batch), range(0, out.blocks, size[0]), range(0, out.height, size[1]), range(0, out.width, size[2]))
    for batch, block, row, column in product(*ranges):
        sizes = (min(size[0], out.blocks - block), min(size[1], out.height - row), min(size[2], out.width - column))
        yield Tile(batch, block, row, column, *sizes)


def _emit_tile(stream: Stream, pool: MaxPool, tile: Tile, inp: int, source: int, acc: int, addresses: Mapping[str, int]) -> None:
    top, left = tile.row * pool.strides[0] - pool.padding[0], tile.column * pool.strides[1] - pool.padding[1]
    bottom = min(pool.source.height, top + (tile.height - 1) * pool.strides[0] + pool.pool_size[0])
    right = min(pool.source.width, left + (tile.width - 1) * pool.strides[1] + pool.pool_size[1])
    row, column = max(0, top), max(0, left)
    height, width = bottom - row, right - column
    window = Window(tile.batch, tile.block, tile.blocks, row, column, height, width)
    load_window(stream, pool.source, addresses[pool.source.memory.name], window, inp)
    stream.gemm(single_uop(source), inner=Loop(window.rows, 1, 0), reset=True)
    stream.gemm(single_uop(source, inp), inner=Loop(window.rows, 1, 1), moves=True)
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
            Dim(tile.blocks, tile.positions, height * width),
            Dim(len(rows), tile.width, pool.strides[0] * width),
            Dim(len(columns), 1, pool.strides[1]),
        )
        base = (acc + rows.start * tile.width + columns.start, source + first_row * width + first_column, 0)
        for uops, outer, inner in stream.folded(
            ("max", nest, base),
            lambda nest=nest, base=base: fold(nest, base, stream.hw, alu=True),  # type: ignore[misc]
        ):
            stream.alu(AluOp.MAX, uops, outer, inner)
    store_tile(stream, acc, pool.output, addresses[pool.output.memory.name], tile)


def _inside(first: int, stride: int, count: int, extent: int) -> range:
    """The outputs whose input position, `first` + stride * output, lies in [0, extent)."""
    begin = max(0, -(first // stride))
    end = min(count, -(-(extent - first) // stride))
    return range(begin, max(begin, end))
