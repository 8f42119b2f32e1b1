"""The template of nearest upsampling: identity products write every input row into several accumulator rows."""

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
from vta.schedule.tile_sizes import largest_tile
from vta.tile.operator import Upsample

__all__ = ["choose_upsample_tile", "emit_upsample"]


def choose_upsample_tile(operator: Upsample, hw: HardwareConfig) -> tuple[int, int, int]:
    """Return (blocks, rows, columns) of the largest input tile of which two fit on chip, or else one.

    Raises `CompileError` if what one input position becomes does not fit, or rows are too long.
    """
    source = operator.source
    for broken in (*broken_stride(source), *broken_stride(operator.output)):
        raise CompileError(f"{operator.name}: {broken}")
    extents = (source.blocks, source.height, source.width)
    found = largest_tile(extents, lambda tile, copies: _fits(operator, tile, copies, hw))
    if found is not None:
        return found
    need = operator.factors[0] * operator.factors[1]
    raise CompileError(f"{operator.name}: the {need} rows of one position do not fit the accumulator buffer of {hw.model}")


def emit_upsample(stream: Stream, operator: Upsample, addresses: Mapping[str, int], tile_size: tuple[int, int, int]) -> None:
    """Emit the whole operator into `stream`; `addresses` gives the arena element where each memory starts."""
    hw = stream.hw
    identity = np.eye(hw.block, dtype=np.int8)
    stream.load(MemoryType.WGT, 0, Segment.CONSTANTS, stream.add_constant(identity, MemoryType.WGT), 1)
    copies = 2 if _fits(operator, tile_size, 2, hw) else 1
    rows = tile_size[0] * tile_size[1] * tile_size[2]
    for number, window in enumerate(_windows(operator, tile_size)):
        stream.tile = number
        slot = number % copies
        _emit_tile(stream, operator, window, slot * rows, slot * rows * operator.factors[0] * operator.factors[1], addresses)


def _fits(operator: Upsample, tile: tuple[int, int, int], copies: int, hw: HardwareConfig) -> bool:
    rows = copies * tile[0] * tile[1] * tile[2]
    return rows <= hw.depth(MemoryType.INP) and rows * operator.factors[0] * operator.factors[1] <= hw.depth(MemoryType.ACC)


def _windows(operator: Upsample, size: tuple[int, int, int]) -> Iterator[Window]:
    source = operator.source
    extents = (source.blocks, source.height, source.width)
    starts = (range(0, extent, step) for extent, step in zip(extents, size, strict=True))
    for batch, *place in product(range(source.batch), *starts):
        block, row, column = place
        blocks, height, width = (min(step, extent - at) for step, extent, at in zip(size, extents, place, strict=True))
        yield Window(batch, block, blocks, row, column, height, width)


def _emit_tile(stream: Stream, operator: Upsample, window: Window, inp: int, acc: int, addresses: Mapping[str, int]) -> None:
    down, across = operator.factors
    load_window(stream, operator.source, addresses[operator.source.memory.name], window, inp)
    tile = Tile(
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
        Dim(window.blocks, tile.positions, window.height * window.width),
        Dim(window.height, down * tile.width, window.width),
        Dim(down, tile.width),
        Dim(window.width, across, 1),
        Dim(across, 1),
    )
    base = (acc, inp, 0)
    for uops, outer, inner in stream.folded(("upsample", nest, base), lambda: fold(nest, base, stream.hw)):
        stream.gemm(uops, outer, inner, moves=True)
    store_tile(stream, acc, operator.output, addresses[operator.output.memory.name], tile)
