"""Which convolutions take less time by Winograd's transforms, and how many tiles are transformed at a time."""

from __future__ import annotations

from functools import cache

from vta.host.kernels.products.convolution_shape import convolution_shape
from vta.host.kernels.tiles import parts
from vta.host.kernels.values import Layout
from vta.host.processors import CpuTarget
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.support.dataclass import dataclass

__all__ = ["SIZE", "STEP", "WINDOW", "WinogradTile", "winograd_pays", "winograd_tile"]

WINDOW, STEP, SIZE = 3, 2, 4
"""Places of a window along an axis; sums of a tile, and so far tiles are apart; places that a tile reads."""
_MOST_TILES = 8
"""At a time: their values and products stay in the nearest cache, and weights are read once for all of them."""
_MOST_BLOCKS = 4
_WEIGHT_BYTES = 1 << 20
"""Of transformed weights. They are read for each few tiles, from a cache that must be near."""
_DIRECT_CYCLES = WINDOW**2 * STEP**2 / 2
"""That the products of a tile take in one lane of input channels, for each vector of output channels."""
_PRODUCT_CYCLES = SIZE**2 / 2
_DATA_CYCLES = 32
"""To transform the data of a tile, a vector of channels: 32 sums of two vectors, two a cycle, and 16 vectors to store."""
_RESULT_CYCLES = 28
"""To store 16 vectors of products and to make four of sums of them, by 24 sums of two."""
_WORTH = 0.85
"""Of the time of all products: more is not worth the rounding."""
_WEIGHT_CYCLES = 0.5
"""That a vector of weights takes from a cache that is not the nearest, beside all else."""
_SUMS_A_CYCLE, _LOADS_A_CYCLE, _LATENCY_CYCLES, _START_CYCLES = 2, 2, 4, 8


@dataclass(frozen=True)
class WinogradTile:
    """What is summed up in registers at a time."""

    rows: int
    """Of tiles."""
    columns: int
    blocks: int
    """Vectors of output channels."""
    positions: int
    """Neighbours, of the four along a row of a tile."""

    @property
    def sums(self) -> int:
        """Registers with sums."""
        return self.rows * self.columns * self.blocks * self.positions


def winograd_pays(node: Node, layout: Layout, target: CpuTarget) -> bool:
    """Whether an operator is a convolution of floats whose data lies in memory as `layout` says, and takes less time so."""
    if node.op != ops.CONV2D or any(item.dtype != "float32" for item in (node, *node.inputs)) or node.inputs[1].value is None:
        return False
    attrs, weight = attrs_of(node, Conv2DAttributes), node.inputs[1].shape
    plain = attrs.groups == 1 and tuple(attrs.strides) == tuple(attrs.dilation) == (1, 1)
    if not plain or tuple(weight[2:]) != (WINDOW, WINDOW):
        return False
    shape, lanes = convolution_shape(node, layout, target), target.lanes(4)
    if not shape.in_blocks or SIZE**2 * lanes**2 * shape.in_blocks * shape.blocks * 4 > _WEIGHT_BYTES:
        return False
    pairs = shape.in_blocks * shape.blocks * lanes
    tiles = -(-shape.rows // STEP) * -(-shape.columns // STEP)
    cycles = tiles * (pairs * _PRODUCT_CYCLES + shape.in_blocks * _DATA_CYCLES + shape.blocks * _RESULT_CYCLES)
    return cycles < _WORTH * shape.rows * shape.columns / STEP**2 * pairs * _DIRECT_CYCLES


@cache
def winograd_tile(rows: int, columns: int, depth: int, blocks: int, target: CpuTarget) -> WinogradTile:
    """The tile for an image of so many rows and columns, `depth` input channels and vectors of output channels.

    A register is kept for each sum, for each vector of weights, and one for the data, unless products take that from memory.
    """
    spare = 0 if target.broadcasts_from_memory else 1
    high, wide = -(-rows // STEP), -(-columns // STEP)
    rooms = [
        WinogradTile(height, width, count, positions)
        for height in range(1, min(high, _MOST_TILES) + 1)
        for width in range(1, min(wide, _MOST_TILES // height) + 1)
        for count in range(1, min(blocks, _MOST_BLOCKS) + 1)
        for positions in (1, 2, 4)
        if blocks % count == 0
    ]
    fitting = [tile for tile in rooms if tile.sums + tile.blocks * tile.positions + spare <= target.vector_registers]
    return min(fitting, key=lambda tile: (_cycles(tile, high, wide, depth, blocks), tile.rows, tile.positions))


def _cycles(tile: WinogradTile, rows: int, columns: int, depth: int, blocks: int) -> float:
    """Cycles of all products of an image of tiles, of the smaller groups of tiles at its edges among them."""
    total = 0.0
    for height, down in parts(rows, tile.rows):
        for width, across in parts(columns, tile.columns):
            sums = height * width * tile.blocks * tile.positions
            loads = (height * width + tile.blocks) * tile.positions
            step = max(sums / _SUMS_A_CYCLE, loads / _LOADS_A_CYCLE, _LATENCY_CYCLES)
            step += tile.blocks * tile.positions * _WEIGHT_CYCLES
            groups = down * across * (blocks // tile.blocks) * SIZE * (SIZE // tile.positions)
            total += groups * (depth * step + _START_CYCLES + sums)
    return total
