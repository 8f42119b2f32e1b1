"""The instruction stream of a region while it is being written: instructions with what each reads and writes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.isa.instruction import FLAGS, INSTRUCTION_DTYPE, AluOp, Opcode, Unit

if TYPE_CHECKING:
    from vta.codegen.loop_nest import Folded

__all__ = ["Access", "Loop", "Segment", "Space", "Stream", "UopsOverflow"]


class UopsOverflow(Exception):  # noqa: N818  (no error: the stream is written in another way)
    """The micro-op sequences of a stream do not all fit on chip together."""


class Space(IntEnum):
    """A memory that two units share, so that tokens must order accesses to it."""

    INP = 0
    WGT = 1
    OUT = 2
    DRAM = 3


class Segment(IntEnum):
    """A part of the DRAM image; its offset is known only once the stream is complete."""

    NONE = 0
    CONSTANTS = 1
    UOPS = 2
    ARENA = 3


class Access(NamedTuple):
    """Rows of a memory that an instruction reads or writes: `runs` runs of `length`, `stride` apart.

    SRAM rows count elements; DRAM rows count output elements of the arena.
    """

    space: Space
    writes: bool
    start: int
    length: int
    runs: int = 1
    stride: int = 0


class Loop(NamedTuple):
    """One of the two hardware loops: trip count and index factors in rows."""

    extent: int
    dst: int
    src: int
    wgt: int = 0


_NO_LOOP = Loop(1, 0, 0, 0)
_INDEX = {name: position for position, name in enumerate(INSTRUCTION_DTYPE.names or ())}
# Rows are values in the order of `INSTRUCTION_DTYPE`: the header, the fields of transfers, those of GEMM and ALU.
_NO_FLAGS = (0,) * len(FLAGS)
_NO_TRANSFER = (0,) * (_INDEX["reset"] - _INDEX["memory_type"])
_NO_COMPUTE = (0,) * (len(_INDEX) - _INDEX["reset"])


@dataclass
class Stream:
    """Collects instructions in program order, the accesses of each, and the contents of the DRAM image."""

    hw: HardwareConfig
    keeps_data: bool = True
    """Otherwise constants only take up their place: enough to time the stream, not to run it."""
    gathers_uops: bool = False
    """All sequences are to be on chip together: one that does not fit beside the others raises `UopsOverflow`."""
    groups_uops: bool = False
    """Each operator starts with an empty uop SRAM and, where its sequences fit it together, loads them all at once."""
    rows: list[tuple[int, ...]] = field(default_factory=list)
    """The field values of each instruction, in the order of `INSTRUCTION_DTYPE`; equal ones are mostly the same object."""
    units: list[Unit] = field(default_factory=list)
    accesses: list[tuple[Access, ...]] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    operators: list[int] = field(default_factory=list)
    tiles: list[int] = field(default_factory=list)
    constants: list[NDArray[np.generic]] = field(default_factory=list)
    constants_bytes: int = 0
    constant_places: list[tuple[int, int, int]] = field(default_factory=list)
    """Of each constant: its first byte, its bytes, and the size of an element, which it is aligned to."""
    operator: int = -1
    """Operator that instructions emitted now belong to."""
    mover: int = -1
    """Operator that products belong to which only bring a tensor into the accumulator."""
    tile: int = -1
    """Tile that instructions emitted now belong to."""

    def __post_init__(self) -> None:
        self.uops = UopStore(self)
        self._folded: dict[tuple[object, ...], list[Folded]] = {}
        acc, inp, wgt = (self.hw.depth(memory) for memory in (MemoryType.ACC, MemoryType.INP, MemoryType.WGT))
        self._gemm_steps, self._alu_steps = (acc, inp, wgt), (acc, acc, wgt)
        # Fields and accesses of GEMM and ALU instructions, by all that they follow from: the micro-ops by their identity, which
        # `uops` keeps alive, and where they lie on chip.
        self._computes: dict[tuple[object, ...], tuple[tuple[int, ...], tuple[Access, ...]]] = {}

    def folded(self, key: tuple[object, ...], build: Callable[[], list[Folded]]) -> list[Folded]:
        """Return the folded nest made by `build` for `key`, building it only once."""
        if key not in self._folded:
            self._folded[key] = build()
        return self._folded[key]

    def add_constant(self, data: NDArray[np.generic], memory: MemoryType) -> int:
        """Append `data` to the constants, aligned for `memory`; returns its element index there."""
        elem = self.hw.elem_bytes(memory)
        gap = -self.constants_bytes % elem
        index = (self.constants_bytes + gap) // elem
        self.constant_places.append((index * elem, data.nbytes, elem))
        if self.keeps_data:
            self.constants.append(data)
        self.constants_bytes += gap + data.nbytes
        return index

    def load(
        self,
        memory: MemoryType,
        sram: int,
        segment: Segment,
        dram: int,
        x_size: int,
        y_size: int = 1,
        x_stride: int = 0,
        pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> None:
        """Emit a LOAD of `y_size` x `x_size` elements; `dram` counts elements of `memory` from the start of `segment`.

        `pads` are (top, left, bottom, right) rows and elements of zeros.
        """
        top, left, bottom, right = pads
        transfer = (memory, sram, dram, y_size, x_size, x_stride or x_size, top, bottom, left, right)
        row = (Opcode.LOAD, *_NO_FLAGS, *transfer, *_NO_COMPUTE)
        accesses: list[Access] = []
        rows = (left + x_size + right) * (top + y_size + bottom)
        if memory in (MemoryType.INP, MemoryType.WGT):
            space = Space.INP if memory is MemoryType.INP else Space.WGT
            accesses.append(Access(space, True, sram, rows))
        if segment is Segment.ARENA:
            accesses.append(self._arena(False, memory, dram, y_size, x_size, x_stride or x_size))
        unit = Unit.LOAD if memory in (MemoryType.INP, MemoryType.WGT) else Unit.COMPUTE
        self._append(row, tuple(accesses), unit, segment)

    def store(self, sram: int, dram: int, x_size: int, y_size: int, x_stride: int) -> None:
        """Emit a STORE of output rows to the arena."""
        transfer = (MemoryType.OUT, sram, dram, y_size, x_size, x_stride, 0, 0, 0, 0)
        row = (Opcode.STORE, *_NO_FLAGS, *transfer, *_NO_COMPUTE)
        accesses = (
            Access(Space.OUT, False, sram, y_size * x_size),
            self._arena(True, MemoryType.OUT, dram, y_size, x_size, x_stride),
        )
        self._append(row, accesses, Unit.STORE, Segment.ARENA)

    def gemm(
        self, uops: NDArray[np.void], outer: Loop = _NO_LOOP, inner: Loop = _NO_LOOP, reset: bool = False, moves: bool = False
    ) -> None:
        """Emit a GEMM over decoded micro-ops, shape (n,) of `UOP_DTYPE`; `moves`: it only brings a tensor in."""
        sequence = self.uops.resident(uops)
        key = id(uops), sequence.begin, outer, inner, reset
        if key not in self._computes:
            outer, inner = (_encodable(loop, self._gemm_steps) for loop in (outer, inner))
            place = *_NO_FLAGS, *_NO_TRANSFER, int(reset), *_loops(sequence, outer, inner)
            accesses = [_span(Space.OUT, sequence.dst, outer.dst, inner.dst, outer, inner, writes=True)]
            if not reset:
                accesses.append(_span(Space.INP, sequence.src, outer.src, inner.src, outer, inner))
                accesses.append(_span(Space.WGT, sequence.wgt, outer.wgt, inner.wgt, outer, inner))
            self._computes[key] = (Opcode.GEMM, *place, outer.wgt, inner.wgt, 0, 0, 0), tuple(accesses)
        self._append(*self._computes[key])
        if moves:
            self.operators[-1] = self.mover

    def alu(
        self, op: AluOp, uops: NDArray[np.void], outer: Loop = _NO_LOOP, inner: Loop = _NO_LOOP, imm: int | None = None
    ) -> None:
        """Emit an ALU instruction; with `imm` every micro-op's src must equal its dst."""
        sequence = self.uops.resident(uops)
        key = id(uops), sequence.begin, outer, inner, op, imm
        if key not in self._computes:
            outer, inner = (_encodable(loop, self._alu_steps) for loop in (outer, inner))
            operation = (0, 0, op, int(imm is not None), imm or 0)
            accesses = (_span(Space.OUT, sequence.dst, outer.dst, inner.dst, outer, inner, writes=True),)
            place = *_NO_FLAGS, *_NO_TRANSFER, 0, *_loops(sequence, outer, inner)
            self._computes[key] = (Opcode.ALU, *place, *operation), accesses
        self._append(*self._computes[key])

    @contextmanager
    def origin(self, operator: int, mover: int) -> Iterator[None]:
        """Attribute instructions emitted inside to `operator`, and products that only move data to `mover`."""
        self.operator, self.mover, self.tile = operator, mover, -1
        first = len(self.rows)
        if self.groups_uops:
            self.uops.start_group()
        yield
        self.tile = -1
        group = self.uops.finish_group() if self.groups_uops else None
        if group is not None:
            self._gather(first, *group)
        self.operator = self.mover = -1

    def gather_uop_loads(self) -> list[int]:
        """Replace the loads of micro-op sequences by one at the start, if all sequences of the stream fit on chip together.

        Returns, for each instruction before the change, how many there are now up to and including it.
        """
        stays = [segment is not Segment.UOPS for segment in self.segments]
        if self.uops.count > self.hw.uop_depth or all(stays):
            return list(range(1, len(stays) + 1))
        self._gather(0, 0, self.uops.count)
        return [1 + total for total in accumulate(stays)]

    def _gather(self, first: int, dram: int, count: int) -> None:
        """Replace the loads of sequences from instruction `first` on by one there, of `count` micro-ops."""
        kept = [index for index in range(first, len(self.rows)) if self.segments[index] is not Segment.UOPS]
        columns: list[list[Any]] = [self.rows, self.units, self.accesses, self.segments, self.operators, self.tiles]
        for column in columns:
            column[first:] = [column[index] for index in kept]
        self.load(MemoryType.UOP, 0, Segment.UOPS, dram, count)
        for column in columns:
            column.insert(first, column.pop())

    def _arena(self, writes: bool, memory: MemoryType, dram: int, y_size: int, x_size: int, x_stride: int) -> Access:
        ratio = max(1, self.hw.elem_bytes(memory) // self.hw.elem_bytes(MemoryType.OUT))
        return Access(Space.DRAM, writes, dram * ratio, x_size * ratio, y_size, x_stride * ratio)

    def _append(
        self, row: tuple[int, ...], accesses: tuple[Access, ...], unit: Unit = Unit.COMPUTE, segment: Segment = Segment.NONE
    ) -> None:
        self.rows.append(row)
        self.units.append(unit)
        self.segments.append(segment)
        self.accesses.append(accesses)
        self.operators.append(self.operator)
        self.tiles.append(self.tile)


_Ranges = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]


class Sequence(NamedTuple):
    """A micro-op sequence in the uop SRAM, with the smallest and the largest row of each of its fields."""

    begin: int
    end: int
    dst: tuple[int, int]
    src: tuple[int, int]
    wgt: tuple[int, int]


class UopStore:
    """The distinct micro-op sequences of a region in DRAM, and which of them lie in the uop SRAM.

    Sequences are placed one after the other in SRAM; when it is full, placing starts again at 0.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._depth = stream.hw.uop_depth
        self._dram: dict[bytes, int] = {}
        self._sram: dict[bytes, Sequence] = {}
        # What is on chip by its first row: these rows rising, and the sequence at each.
        self._begins: list[int] = []
        self._placed: dict[int, bytes] = {}
        self._next = 0
        # By the identity of the array, which the dictionary keeps alive; sequences come again and again as the same arrays.
        self._known: dict[int, tuple[bytes, NDArray[np.void], _Ranges]] = {}
        self._groups: dict[bytes, int] = {}
        self._group: tuple[int, int] = (0, 0)
        self._wrapped = False
        self.count = 0
        self.sequences: list[NDArray[np.void]] = []

    def start_group(self) -> None:
        """Forget what is on chip and begin placing at row 0."""
        self._dram.clear()
        self._sram.clear()
        self._begins.clear()
        self._placed.clear()
        self._next = 0
        self._wrapped = False
        self._group = (len(self.sequences), self.count)

    def finish_group(self) -> tuple[int, int] | None:
        """DRAM index and size of the sequences placed since `start_group`; None if they do not fit on chip together.

        A group that came before is not kept in DRAM a second time.
        """
        sequence, start = self._group
        size = self.count - start
        if self._wrapped or not size:
            return None
        key = b"".join(uops.tobytes() for uops in self.sequences[sequence:])
        if key in self._groups:
            del self.sequences[sequence:]
            self.count = start
        return self._groups.setdefault(key, start), size

    def resident(self, uops: NDArray[np.void]) -> Sequence:
        """Return the sequence as it lies in SRAM, emitting a LOAD of it first where it is not on chip."""
        known = self._known.get(id(uops))
        if known is None:
            known = self._known[id(uops)] = uops.tobytes(), uops, _ranges(uops)
        key = known[0]
        placed = self._sram.get(key)
        if placed is not None:
            return placed
        if len(uops) > self._depth:
            raise CompileError(f"a micro-op sequence of {len(uops)} does not fit the uop buffer of {self._depth}")
        if key not in self._dram:
            self._dram[key] = self.count
            self.sequences.append(uops)
            self.count += len(uops)
            if self.count > self._depth and self._stream.gathers_uops:
                raise UopsOverflow
        if self._next + len(uops) > self._depth:
            self._next = 0
            self._wrapped = True
        begin, end = self._next, self._next + len(uops)
        self._evict(begin, end)
        sequence = Sequence(begin, end, *known[2])
        self._place(key, sequence)
        self._next = end
        self._stream.load(MemoryType.UOP, begin, Segment.UOPS, self._dram[key], len(uops))
        return sequence

    def _evict(self, begin: int, end: int) -> None:
        """Forget the sequences that lie in rows `begin` to `end`."""
        first, last = bisect_left(self._begins, begin), bisect_left(self._begins, end)
        if first and self._sram[self._placed[self._begins[first - 1]]].end > begin:
            first -= 1
        for row in self._begins[first:last]:
            del self._sram[self._placed.pop(row)]
        del self._begins[first:last]

    def _place(self, key: bytes, sequence: Sequence) -> None:
        self._sram[key] = sequence
        self._placed[sequence.begin] = key
        insort(self._begins, sequence.begin)


def _ranges(uops: NDArray[np.void]) -> _Ranges:
    """The smallest and the largest row of each field of micro-ops."""
    dst, src, wgt = zip(*uops.tolist(), strict=True)
    return (min(dst), max(dst)), (min(src), max(src)), (min(wgt), max(wgt))


def _encodable(loop: Loop, limits: tuple[int, int, int]) -> Loop:
    """`loop` without its steps, if it turns once and one of them, which then is never taken, reaches its limit.

    A step that is taken is smaller than the buffer that it stays in, and so fits its field.
    """
    if loop.extent > 1 or all(step < limit for step, limit in zip(loop[1:], limits, strict=True)):
        return loop
    return Loop(loop.extent, 0, 0)


def _loops(sequence: Sequence, outer: Loop, inner: Loop) -> tuple[int, ...]:
    """The fields from uop_bgn to src_factor_in."""
    extents = (sequence.begin, sequence.end, outer.extent, inner.extent)
    return *extents, outer.dst, inner.dst, outer.src, inner.src


def _span(
    space: Space, rows: tuple[int, int], outer_f: int, inner_f: int, outer: Loop, inner: Loop, writes: bool = False
) -> Access:
    """All rows from the first to the last that a compute instruction touches."""
    first, last = rows
    last += outer_f * (outer.extent - 1) + inner_f * (inner.extent - 1)
    return Access(space, writes, first, last + 1 - first)
