"""Data inside a border, stretched and in blocks, for operators that read windows of integers or of transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from vta.host.kernels.by_element.moves import all_of, within
from vta.host.kernels.values import Coordinate, Layout, Value, blocked_coordinate, from_bytes, stored, to_bytes
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, index, select
from vta.host.loop.steps import Fuse, Parallel, Split, Step, Transpose, Vectorize
from vta.support.dataclass import dataclass

__all__ = ["Frame", "Framed", "flat_bytes", "framed"]

_NAME = "frame"
_TURNED = (Split(_NAME, "w", 16, "wo", "wi"), Transpose(_NAME, "wi"))
"""Vectors of columns are turned into vectors of channels."""
_LONGEST_VECTOR = 64
"""Bytes of what is computed as one."""


@dataclass(frozen=True)
class Frame:
    """What lies around and between the rows and columns of data."""

    padding: Sequence[int] = (0, 0, 0, 0)
    """Top, left, bottom, right; a negative one cuts off."""
    stretch: Sequence[int] = (1, 1)
    """From one row, and one column, to the next."""
    fill: float = 0
    every: Sequence[int] = (1, 1)
    """Of rows, and of columns, with what lies around them, so many count as one, the first of them."""

    def extents(self, size: Sequence[int]) -> tuple[int, int]:
        """Height and width of the frame around data of a size."""
        top, left, bottom, right = self.padding
        high, wide = ((extent - 1) * step + 1 for extent, step in zip(size, self.stretch, strict=True))
        return -(-(high + top + bottom) // self.every[0]), -(-(wide + left + right) // self.every[1])

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing around and between."""
        return not any(self.padding) and tuple(self.stretch) == tuple(self.every) == (1, 1)


@dataclass(frozen=True)
class Framed:
    """Data in a frame."""

    value: Value
    """Positions count from the frame's corner."""
    stages: tuple[Stage, ...] = ()
    steps: tuple[Step, ...] = ()


def framed(data: Value, layout: Layout, frame: Frame, block: int, as_bytes: bool) -> Framed:
    """The data in a frame, in blocks of channels; the data itself where it is so already.

    With `as_bytes` int8 values are stored as unsigned bytes, 128 more, and the value has them.
    """
    wanted = Layout(block, as_bytes)
    if frame.is_plain and layout == wanted:
        return Framed(data)
    batch, channels, *size = data.shape
    high, wide = frame.extents(size)
    shape = (batch, -(-channels // block), high, wide, block)
    axes = axes_of(dict(zip("nbhwl", shape, strict=True)))
    n, b, h, w, lane = (axis.var for axis in axes)
    channel = blocked_coordinate(b, lane, block)
    conditions: list[Expr] = []
    places: list[Coordinate] = []
    steps_of_axes = zip(frame.padding[:2], frame.stretch, frame.every, strict=True)
    for at, full, extent, (before, step, every) in zip((h, w), (high, wide), size, steps_of_axes, strict=True):
        place, checks = _source(binary("mul", at, index(every)), before, step, extent, (full - 1) * every)
        places.append(Coordinate(place))
        conditions += checks
    if channels % block:
        conditions.append(binary("lt", channel.whole, index(channels)))
    point = (Coordinate(n), channel, *places)
    value = data.raw(point) if as_bytes and data.raw is not None else data.at(point)
    if as_bytes and data.raw is None:
        value = to_bytes(value)
    fill = const(int(frame.fill) + 128, "uint8") if as_bytes else const(frame.fill, data.dtype)
    buffer = Buffer(_NAME, shape, "uint8" if as_bytes else data.dtype)
    stage = Stage(buffer, axes, select(all_of(conditions), value, fill) if conditions else value)
    shared = (Fuse(_NAME, "n", "b", "nb"), Fuse(_NAME, "nb", "h", "nbh"), Parallel(_NAME, "nbh"))
    turned = not layout.block and block > 1 and tuple(frame.stretch) == (1, 1)
    steps = (*shared, *(_TURNED if turned else ()), Vectorize(_NAME, "l"))
    return Framed(stored(buffer, (batch, channels, high, wide), wanted), (stage,), steps)


def _source(at: Expr, before: int, step: int, extent: int, end: int) -> tuple[Expr, list[Expr]]:
    """Which row of the data lies at one of the frame, of which the last is at `end`, and the conditions under which one does."""
    place = binary("sub", at, index(before))
    last = (extent - 1) * step
    conditions = within(place, last + 1, below=before > 0, above=end - before > last)
    if step > 1:
        conditions.append(binary("eq", binary("mod", place, index(step)), index(0)))
        place = binary("floordiv", place, index(step))
    return place, conditions


def flat_bytes(data: Value, depth: int) -> Framed:
    """A matrix of int8 values as unsigned bytes, 128 more, with rows filled up to `depth`."""
    rows, columns = data.shape
    axes = axes_of({"n": rows, "k": depth})
    n, k = (axis.var for axis in axes)
    value = to_bytes(data.at((Coordinate(n), Coordinate(k))))
    if depth != columns:
        value = select(binary("lt", k, index(columns)), value, const(128, "uint8"))
    buffer = Buffer(_NAME, (rows, depth), "uint8")
    read = stored(buffer, (rows, depth), Layout()).at
    shared = (Parallel(_NAME, "n"),) if rows > 1 else ()
    steps = (Split(_NAME, "k", _LONGEST_VECTOR, "ko", "ki"), Vectorize(_NAME, "ki"), *shared)
    held = Value((rows, depth), "int8", lambda point: from_bytes(read(point)), read)
    return Framed(held, (Stage(buffer, axes, value),), steps)
