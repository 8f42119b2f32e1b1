"""`vta.codegen.stream.Stream` in plain Python: the same to write to, and the same columns to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.oracles.emitter.loop_nest import Uop, fold
from tests.oracles.emitter.window import load_window, store_tile
from vta.codegen.box import Box
from vta.codegen.stream import Access, Loop, Segment, Space, UopsOverflow
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.isa.instruction import INSTRUCTION_DTYPE, UOP_DTYPE, AluOp, Opcode, Unit
from vta.tile.operator import Tensor

__all__ = ["NO_LOOP", "OracleStream", "Row"]

Uops = tuple[Uop, ...]

NO_LOOP = Loop(1, 0)


class Row(NamedTuple):
    """An instruction: its fields, the unit that runs it, and all that tokens and programs need to know of it."""

    fields: dict[str, int]
    unit: Unit
    accesses: tuple[Access, ...]
    segment: Segment
    operator: int
    tile: int


class OracleStream:
    """Collects instructions in program order, the accesses of each, and the contents of the DRAM image."""

    def __init__(self, hw: HardwareConfig, *, gathers_uops: bool = False, groups_uops: bool = False) -> None:
        self.hw = hw
        self.gathers_uops = gathers_uops
        self.groups_uops = groups_uops
        self.rows: list[Row] = []
        self.constants: list[NDArray[np.generic]] = []
        self.constant_places: list[tuple[int, int, int]] = []
        self.operator = self.transfers = self.tile = -1
        self.store_of_uops = UopStore(self)

    def add_constant(self, data: NDArray[np.generic], memory: MemoryType) -> int:
        """Append `data` to the constants, aligned for `memory`; returns its element index there."""
        elem = self.hw.elem_bytes(memory)
        end = sum(self.constant_places[-1][:2]) if self.constant_places else 0
        index = -(-end // elem)
        self.constant_places.append((index * elem, data.nbytes, elem))
        self.constants.append(data)
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
        """Emit a LOAD."""
        top, left, bottom, right = pads
        stride = x_stride or x_size
        accesses: list[Access] = []
        if memory in (MemoryType.INP, MemoryType.WGT):
            space = Space.INP if memory is MemoryType.INP else Space.WGT
            accesses.append(Access(space, True, sram, (left + x_size + right) * (top + y_size + bottom)))
        if segment is Segment.ARENA:
            accesses.append(self._arena(False, memory, dram, y_size, x_size, stride))
        unit = Unit.LOAD if memory in (MemoryType.INP, MemoryType.WGT) else Unit.COMPUTE
        sizes = {"sram_base": sram, "dram_base": dram, "y_size": y_size, "x_size": x_size, "x_stride": stride}
        around = {"y_pad_0": top, "y_pad_1": bottom, "x_pad_0": left, "x_pad_1": right}
        self._append(Opcode.LOAD, {"memory_type": memory} | sizes | around, unit, accesses, segment)

    def store(self, sram: int, dram: int, x_size: int, y_size: int, x_stride: int) -> None:
        """Emit a STORE of output rows to the arena."""
        fields = {"memory_type": MemoryType.OUT, "sram_base": sram, "dram_base": dram}
        sizes = {"y_size": y_size, "x_size": x_size, "x_stride": x_stride}
        accesses = [
            Access(Space.OUT, False, sram, y_size * x_size),
            self._arena(True, MemoryType.OUT, dram, y_size, x_size, x_stride),
        ]
        self._append(Opcode.STORE, fields | sizes, Unit.STORE, accesses, Segment.ARENA)

    def gemm(
        self,
        uops: NDArray[np.void] | Uops,
        outer: Loop = NO_LOOP,
        inner: Loop = NO_LOOP,
        reset: bool = False,
        is_transfer: bool = False,
        taps: int = 1,
        flags: int = 0,
    ) -> None:
        """Emit a GEMM, or with several `taps` a DEPTHWISE, over micro-ops."""
        rows, begin = self._resident(uops)
        outer, inner = (_encodable(loop, self.hw, MemoryType.INP) for loop in (outer, inner))
        accesses = [_span(Space.OUT, rows, 0, outer, inner, writes=True)]
        if not reset:
            read = _span(Space.INP, rows, 1, outer, inner)
            accesses += [read._replace(length=read.length + taps - 1), _span(Space.WGT, rows, 2, outer, inner)]
        fields = _loops(begin, len(rows), outer, inner) | {"wgt_factor_out": outer.wgt, "wgt_factor_in": inner.wgt}
        opcode = Opcode.GEMM if taps == 1 else Opcode.DEPTHWISE
        self._append(opcode, fields | {"reset": int(reset), "imm": flags}, Unit.COMPUTE, accesses)
        if is_transfer:
            self.rows[-1] = self.rows[-1]._replace(operator=self.transfers)

    def alu(
        self, op: AluOp, uops: NDArray[np.void] | Uops, outer: Loop = NO_LOOP, inner: Loop = NO_LOOP, imm: int | None = None
    ) -> None:
        """Emit an ALU instruction."""
        rows, begin = self._resident(uops)
        outer, inner = (_encodable(loop, self.hw, MemoryType.ACC) for loop in (outer, inner))
        accesses = [_span(Space.OUT, rows, 0, outer, inner, writes=True)]
        operation = {"alu_opcode": int(op), "use_imm": int(imm is not None), "imm": imm or 0}
        self._append(Opcode.ALU, _loops(begin, len(rows), outer, inner) | operation, Unit.COMPUTE, accesses)

    def requantize(self, uops: Uops, outer: Loop, inner: Loop, flags: int) -> None:
        """Emit a REQUANTIZE."""
        self.alu(AluOp.REQUANTIZE, uops, outer, inner)
        self.rows[-1].fields["imm"] = flags

    def gemm_nest(self, loops: Sequence[Loop], base: Uop, is_transfer: bool = False, taps: int = 1) -> None:
        """Emit the products of a nest."""
        for uops, outer, inner in fold(loops, base, self.hw):
            self.gemm(uops, outer, inner, is_transfer=is_transfer, taps=taps)

    def alu_nest(self, op: AluOp, loops: Sequence[Loop], base: Uop) -> None:
        """Emit an ALU operation on the rows of a nest."""
        for uops, outer, inner in fold(loops, base, self.hw, alu=True):
            self.alu(op, uops, outer, inner)

    def load_window(self, tensor: Tensor, address: int, window: Box, sram: int) -> None:
        """Emit the LOADs of a window."""
        load_window(self, tensor, address, window, sram)

    def store_tile(self, tensor: Tensor, address: int, tile: Box, sram: int) -> None:
        """Emit the STOREs of a tile."""
        store_tile(self, tensor, address, tile, sram)

    @contextmanager
    def origin(self, operator: int, transfers: int) -> Iterator[None]:
        """Attribute instructions emitted inside to `operator`, and products that only move data to `transfers`."""
        self.operator, self.transfers, self.tile = operator, transfers, -1
        first = len(self.rows)
        if self.groups_uops:
            self.store_of_uops.start_group()
        yield
        self.tile = -1
        group = self.store_of_uops.finish_group() if self.groups_uops else None
        if group is not None:
            self._gather(first, *group)
        self.operator = self.transfers = -1

    def gather_uop_loads(self) -> list[int]:
        """Replace the loads of micro-op sequences by one at the start, if all fit on chip together."""
        stays = [row.segment is not Segment.UOPS for row in self.rows]
        if self.store_of_uops.count > self.hw.uop_depth or all(stays):
            return list(range(1, len(stays) + 1))
        self._gather(0, 0, self.store_of_uops.count)
        return [1 + total for total in accumulate(stays)]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def instructions(self) -> NDArray[np.void]:
        """Shape (n,) of `INSTRUCTION_DTYPE`, as those of the product's stream."""
        names = INSTRUCTION_DTYPE.names
        return np.array([tuple(row.fields.get(name, 0) for name in names) for row in self.rows], INSTRUCTION_DTYPE)

    @property
    def uops(self) -> NDArray[np.void]:
        """Shape (u,) of `UOP_DTYPE`: all micro-ops in DRAM."""
        return np.array([uop for sequence in self.store_of_uops.sequences for uop in sequence], UOP_DTYPE)

    def _gather(self, first: int, dram: int, count: int) -> None:
        """Replace the loads of sequences from instruction `first` on by one there, of `count` micro-ops."""
        self.rows[first:] = [row for row in self.rows[first:] if row.segment is not Segment.UOPS]
        self.load(MemoryType.UOP, 0, Segment.UOPS, dram, count)
        self.rows.insert(first, self.rows.pop())

    def _resident(self, uops: NDArray[np.void] | Uops) -> tuple[Uops, int]:
        sequence = tuple(tuple(uop) for uop in (uops.tolist() if isinstance(uops, np.ndarray) else uops))
        return sequence, self.store_of_uops.resident(sequence)

    def _arena(self, writes: bool, memory: MemoryType, dram: int, y_size: int, x_size: int, x_stride: int) -> Access:
        ratio = max(1, self.hw.elem_bytes(memory) // self.hw.elem_bytes(MemoryType.OUT))
        return Access(Space.DRAM, writes, dram * ratio, x_size * ratio, y_size, x_stride * ratio)

    def _append(
        self,
        opcode: Opcode,
        fields: dict[str, int],
        unit: Unit,
        accesses: Sequence[Access],
        segment: Segment = Segment.NONE,
    ) -> None:
        self.rows.append(Row({"opcode": opcode} | fields, unit, tuple(accesses), segment, self.operator, self.tile))


class UopStore:
    """The distinct micro-op sequences of a stream in DRAM, and which of them lie in the uop SRAM.

    Sequences are placed one after the other in SRAM; when it is full, placing starts again at 0.
    """

    def __init__(self, stream: OracleStream) -> None:
        self._stream = stream
        self._depth = stream.hw.uop_depth
        self._dram: dict[Uops, int] = {}
        self._sram: dict[Uops, int] = {}
        self._next = 0
        self._wrapped = False
        self._groups: dict[Uops, int] = {}
        self._group = (0, 0)
        self.count = 0
        self.sequences: list[Uops] = []

    def start_group(self) -> None:
        """Forget what is on chip and begin placing at row 0."""
        self._dram.clear()
        self._sram.clear()
        self._next, self._wrapped = 0, False
        self._group = len(self.sequences), self.count

    def finish_group(self) -> tuple[int, int] | None:
        """DRAM index and size of the sequences placed since `start_group`; None if they do not fit on chip together.

        A group that came before is not kept in DRAM a second time.
        """
        sequence, start = self._group
        size = self.count - start
        if self._wrapped or not size:
            return None
        key = tuple(uop for uops in self.sequences[sequence:] for uop in uops)
        if key in self._groups:
            del self.sequences[sequence:]
            self.count = start
        return self._groups.setdefault(key, start), size

    def resident(self, uops: Uops) -> int:
        """Return where the sequence lies in SRAM, emitting a LOAD of it first where it is not on chip."""
        if uops in self._sram:
            return self._sram[uops]
        if len(uops) > self._depth:
            raise CompileError(f"a micro-op sequence of {len(uops)} does not fit the uop buffer of {self._depth}")
        if uops not in self._dram:
            self._dram[uops] = self.count
            self.sequences.append(uops)
            self.count += len(uops)
            if self.count > self._depth and self._stream.gathers_uops:
                raise UopsOverflow
        if self._next + len(uops) > self._depth:
            self._next, self._wrapped = 0, True
        begin, self._next = self._next, self._next + len(uops)
        stays = {key: at for key, at in self._sram.items() if at >= self._next or at + len(key) <= begin}
        self._sram = stays | {uops: begin}
        self._stream.load(MemoryType.UOP, begin, Segment.UOPS, self._dram[uops], len(uops))
        return begin


def _encodable(loop: Loop, hw: HardwareConfig, source: MemoryType) -> Loop:
    """`loop` without its steps, if it turns once and one of them, which then is never taken, reaches its limit."""
    limits = [hw.depth(memory) for memory in (MemoryType.ACC, source, MemoryType.WGT)]
    if loop.extent > 1 or all(step < limit for step, limit in zip(loop[1:], limits, strict=True)):
        return loop
    return Loop(loop.extent, 0)


def _loops(begin: int, count: int, outer: Loop, inner: Loop) -> dict[str, int]:
    rows = {"uop_bgn": begin, "uop_end": begin + count, "iter_out": outer.extent, "iter_in": inner.extent}
    factors = {"dst_factor_out": outer.dst, "dst_factor_in": inner.dst}
    return rows | factors | {"src_factor_out": outer.src, "src_factor_in": inner.src}


def _span(space: Space, uops: Uops, index: int, outer: Loop, inner: Loop, writes: bool = False) -> Access:
    """All rows from the first to the last that a compute instruction touches with one of its indices."""
    rows = [uop[index] for uop in uops]
    last = max(rows) + sum(loop[1 + index] * (loop.extent - 1) for loop in (outer, inner))
    return Access(space, writes, min(rows), last + 1 - min(rows))
