"""Tensors as functions from positions to expressions, so that operators can be chained without memory between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Expr, binary, cast, const, index, load
from vta.support.dataclass import dataclass

__all__ = [
    "Coordinate",
    "PLAIN",
    "Layout",
    "Point",
    "Value",
    "blocked_coordinate",
    "from_bytes",
    "plain_point",
    "stored",
    "stored_shape",
    "to_bytes",
    "without_blocks",
]

_CHANNELS = 1
_OFFSET = 128


@dataclass(frozen=True)
class Layout:
    """How a tensor lies in memory: row by row, or with its channels (axis 1 of 4) in blocks that lie innermost.

    The tail of a last block that is not full holds zeros, or the bytes that stand for them.
    """

    block: int = 0
    """Channels in a block; 0 where there are none."""
    offset: bool = False
    """Whether int8 values are stored as unsigned bytes, 128 more: what dot products of bytes read."""

    def dtype(self, dtype: str) -> str:
        """Data type of the buffer that holds a tensor of a type."""
        return "uint8" if self.offset else dtype


PLAIN = Layout()
"""Row by row."""


@dataclass(frozen=True)
class Coordinate:
    """A position along one axis, and, along channels, as a block and a lane of it."""

    whole: Expr
    block: Expr | None = None
    lane: Expr | None = None
    size: int = 0


Point = tuple[Coordinate, ...]
"""A position in a tensor."""


@dataclass(frozen=True)
class Value:
    """A tensor that can be computed at any point."""

    shape: tuple[int, ...]
    dtype: str
    at: Callable[[Point], Expr]
    raw: Callable[[Point], Expr] | None = None
    """The bytes themselves, of int8 values that are stored as bytes 128 more."""

    def broadcast(self, point: Point, shape: tuple[int, ...]) -> Expr:
        """The element that meets a point of a tensor of `shape`, to which this one is broadcast."""
        skipped = len(shape) - len(self.shape)
        axes = zip(point[skipped:], shape[skipped:], self.shape, strict=True)
        return self.at(tuple(at if size == wanted else Coordinate(index(0)) for at, wanted, size in axes))


def plain_point(axes: Sequence[Expr]) -> Point:
    """A point from one expression an axis."""
    return tuple(Coordinate(axis) for axis in axes)


def blocked_coordinate(block: Expr, lane: Expr, size: int) -> Coordinate:
    """A channel as a block and a lane."""
    return Coordinate(binary("add", binary("mul", block, index(size)), lane), block, lane, size)


def stored_shape(shape: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
    """Shape of the buffer that holds a tensor."""
    if not layout.block:
        return shape
    batch, channels, *rest = shape
    return (batch, -(-channels // layout.block), *rest, layout.block)


def stored(buffer: Buffer, shape: tuple[int, ...], layout: Layout) -> Value:
    """The tensor that a buffer holds."""

    def raw(point: Point) -> Expr:
        places = [item.whole for item in point]
        if not layout.block:
            return load(buffer, places)
        channel = point[_CHANNELS]
        if channel.block is not None and channel.lane is not None and channel.size == layout.block:
            block, lane = channel.block, channel.lane
        else:
            block, lane = (binary(how, channel.whole, index(layout.block)) for how in ("floordiv", "mod"))
        return load(buffer, [places[0], block, *places[2:], lane])

    if layout.offset:
        return Value(shape, "int8", lambda point: from_bytes(raw(point)), raw)
    return Value(shape, buffer.dtype, raw)


def from_bytes(byte: Expr) -> Expr:
    """The int8 value that an unsigned byte, 128 more, stands for."""
    return cast(binary("xor", byte, const(_OFFSET, "uint8")), "int8")


def to_bytes(value: Expr) -> Expr:
    """An int8 value as an unsigned byte, 128 more."""
    return binary("xor", cast(value, "uint8"), const(_OFFSET, "uint8"))


def without_blocks(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """An image of a shape, row by row, out of one whose channels lie in blocks."""
    batch, _, *size, _ = array.shape
    return array.transpose(0, 1, 4, 2, 3).reshape(batch, -1, *size)[:, : shape[1]]
