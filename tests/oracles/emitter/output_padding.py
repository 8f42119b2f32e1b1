"""Fills what lies around an operator's output: VTA pads with zero only, and zero is not always what padding stands for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.oracles.emitter.stream import OracleStream
from vta.codegen.stream import Loop
from vta.config.targets import MemoryType
from vta.isa.instruction import AluOp
from vta.tile.gemm_operator import OutputPadding
from vta.tile.operator import Tensor

__all__ = ["emit_output_padding"]

_MAX_STRIDE = (1 << 16) - 1
_MAX_ROWS = 1 << 11
"""Accumulator rows that are filled: more than most paddings need at once, and a loop can count them."""


def emit_output_padding(stream: OracleStream, padding: OutputPadding, inner: Tensor, address: int) -> None:
    """Store the padding's value around `inner` in the tensor whose memory starts at arena element `address`."""
    stored = padding.stored
    runs = list(_runs(padding, inner))
    room = min(_MAX_ROWS, stream.hw.depth(MemoryType.ACC))
    rows = min(room, max((length * count for _, length, count, _ in runs), default=0))
    if rows == 0:
        return
    stream.gemm(((0, 0, 0),), inner=Loop(rows, 1, 0), reset=True)
    stream.alu(AluOp.ADD, ((0, 0, 0),), inner=Loop(rows, 1, 1), imm=padding.value)
    for batch, block in product(range(stored.batch), range(stored.blocks)):
        first = address + stored.index(batch, block, 0, 0)
        for start, length, count, stride in runs:
            _store(stream, first + start, length, count, stride, rows)


def _runs(padding: OutputPadding, inner: Tensor) -> Iterator[tuple[int, int, int, int]]:
    """The padding of one plane as runs: first element, elements of a run, number of runs, and their distance."""
    stored = padding.stored
    right = stored.width - padding.left - inner.width
    first = padding.top * stored.width + padding.left
    yield 0, first, min(first, 1), 1
    # The right end of a row and the left end of the next lie together.
    sides = right + padding.left
    yield first + inner.width, sides, inner.height - 1 if sides else 0, stored.width
    last = first + (inner.height - 1) * stored.width + inner.width
    rest = stored.height * stored.width - last
    yield last, rest, min(rest, 1), 1


def _store(stream: OracleStream, start: int, length: int, count: int, stride: int, rows: int) -> None:
    """Store `count` runs of `length` elements, as many at a time as there are filled rows."""
    if length > rows or (count > 1 and stride > _MAX_STRIDE):
        for index in range(count):
            for at in range(0, length, rows):
                part = min(rows, length - at)
                stream.store(0, start + index * stride + at, part, 1, part)
        return
    step = rows // length if length else 1
    for index in range(0, count, step):
        part = min(step, count - index)
        stream.store(0, start + index * stride, length, part, stride if part > 1 else length)
