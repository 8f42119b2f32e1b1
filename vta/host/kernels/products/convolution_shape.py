"""What the choice of a convolution's tile depends on, which tile is taken by default, and which ones a kernel can have."""

from __future__ import annotations

from collections.abc import Callable

from vta.host.kernels.tiles import Tile, chunked, convolution_tiles, row_tiles
from vta.host.kernels.values import Layout
from vta.host.processors import CpuTarget
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.support.dataclass import dataclass

__all__ = ["ConvolutionShape", "TileSource", "convolution_shape", "has_tile", "is_depthwise"]

TileSource = Callable[[Node, Layout, CpuTarget], Tile | None]
"""Which tile a convolution's kernel has, for data in a layout on a processor; None leaves it to the model."""

_ITEM_BYTES = 4
_STACK_BYTES = 256 * 1024
"""That a kernel may have for the data and the sums of some rows."""
_LONGEST_CODE = 512
"""Products that may be written out."""


@dataclass(frozen=True)
class ConvolutionShape:
    """A convolution as its kernel computes it, in vectors."""

    rows: int
    columns: int
    blocks: int
    """Vectors of output channels."""
    in_channels: int
    in_blocks: int
    """Vectors of input channels, where they lie in blocks; else 0."""
    window: tuple[int, int]
    strides: tuple[int, int]
    depthwise: bool

    @property
    def in_chunks(self) -> bool:
        """Whether parts of the products can be added up at a time."""
        return self.in_blocks > 1 and not self.depthwise

    def default_tile(self, target: CpuTarget) -> Tile:
        """The tile that the model ranks first."""
        return self.best_tiles(target, 1)[0]

    def best_tiles(self, target: CpuTarget, count: int) -> list[Tile]:
        """So many tiles at most, those that the model ranks best first."""
        taps = self.window[0] * self.window[1]
        image = (1, 1, self.rows, self.columns)
        if self.depthwise:
            return row_tiles(image, self.window, self.strides, target)[:count]
        best = convolution_tiles(self.columns, self.blocks, self.in_channels * taps, target)[:count]
        return [chunked(tile, image, taps, self.in_blocks, target) for tile in best] if self.in_chunks else best

    def problem(self, tile: Tile, target: CpuTarget) -> str:
        """Why a kernel cannot have a tile; empty if it can."""
        sums = tile.columns * tile.blocks
        spare = 0 if target.broadcasts_from_memory else 1
        if not 1 <= tile.columns <= self.columns or not 1 <= tile.blocks <= self.blocks or not 1 <= tile.rows <= self.rows:
            return f"a tile of {tile.rows} rows, {tile.columns} columns and {tile.blocks} vectors is not within the output"
        if sums + tile.blocks + spare > target.vector_registers:
            return f"{sums} sums and {tile.blocks} vectors of weights do not fit {target.vector_registers} registers"
        if tile.chunk and not (self.in_chunks and tile.chunk < self.in_blocks and self.in_blocks % tile.chunk == 0):
            return f"{self.in_blocks} blocks of input channels are not added up {tile.chunk} at a time"
        if self.stack_bytes(tile, target) > _STACK_BYTES:
            return f"the rows need {self.stack_bytes(tile, target):,} bytes; allowed: {_STACK_BYTES:,}"
        if sums * self.unrolled_taps(tile) > _LONGEST_CODE:
            return f"{sums * self.unrolled_taps(tile)} products would be written out; allowed: {_LONGEST_CODE}"
        return ""

    def stack_bytes(self, tile: Tile, target: CpuTarget) -> int:
        """Bytes that a thread needs for the rows of a tile."""
        if not self.depthwise:
            return tile.rows * self.columns * tile.blocks * target.vector_bytes if tile.chunk else 0
        height, width = ((size - 1) * stride + reach for size, stride, reach in zip(
            (tile.rows, self.columns), self.strides, self.window, strict=True
        ))  # fmt: skip
        return height * width * tile.blocks * target.vector_bytes

    def unrolled_taps(self, tile: Tile) -> int:
        """Positions of the window that are written out."""
        return (1, self.window[1], self.window[0] * self.window[1])[tile.unrolled]


def has_tile(node: Node) -> bool:
    """Whether an operator is a convolution whose kernel has a tile to choose."""
    if node.op != ops.CONV2D or any(item.dtype != "float32" for item in (node, *node.inputs)) or node.inputs[1].value is None:
        return False
    return attrs_of(node, Conv2DAttributes).groups == 1 or is_depthwise(node)


def is_depthwise(node: Node) -> bool:
    """Whether each channel has kernels of its own, one of them."""
    weight = node.inputs[1].shape
    return bool(attrs_of(node, Conv2DAttributes).groups == weight[0] > 1 and weight[1] == 1)


def convolution_shape(node: Node, layout: Layout, target: CpuTarget) -> ConvolutionShape:
    """The shape of a convolution whose data lies in memory as `layout` says."""
    attrs = attrs_of(node, Conv2DAttributes)
    lanes = target.lanes(_ITEM_BYTES)
    _, _, rows, columns = node.shape
    out_channels, in_channels, height, width = node.inputs[1].shape
    depthwise = is_depthwise(node)
    strides = (attrs.strides[0], attrs.strides[1])
    # To lay data in blocks takes less than reading it channel by channel, unless most of it is left out.
    reads_all = height * width > 1 or strides == (1, 1)
    in_blocks = layout.block == lanes or (in_channels >= lanes and reads_all)
    return ConvolutionShape(
        rows=rows,
        columns=columns,
        blocks=-(-out_channels // lanes),
        in_channels=in_channels,
        in_blocks=1 if depthwise else -(-in_channels // lanes) if in_blocks else 0,
        window=(height, width),
        strides=strides,
        depthwise=depthwise,
    )
