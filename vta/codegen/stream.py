"""The instruction stream of a region while it is being written: instructions with what each reads and writes.

The core keeps it; what is here is how templates write it and how it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vta.codegen.box import Box
from vta.codegen.native import pointer_to, target_of, tensor_fields
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.isa.encoding import encode
from vta.isa.instruction import INSTRUCTION_DTYPE, UOP_DTYPE, AluOp
from vta.native import ffi, lib
from vta.tile.operator import Tensor

__all__ = ["Access", "Layout", "Loop", "Segment", "Space", "Stream", "UopsOverflow", "single_uop"]

_ERROR_BYTES = 512


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
    """One of the two hardware loops, or a loop of a nest: trip count, and what one iteration adds to the rows of each index."""

    extent: int
    dst: int
    src: int = 0
    wgt: int = 0


class Layout(NamedTuple):
    """Bytes from the start of the image, which begins with the micro-ops."""

    constants: int
    arena: int


_NO_LOOP = Loop(1, 0)
_FIELDS, _UOP_FIELDS = len(INSTRUCTION_DTYPE.names or ()), len(UOP_DTYPE.names or ())
_Scalar = TypeVar("_Scalar", bound=np.generic)


@cache
def single_uop(dst: int, src: int = 0, wgt: int = 0) -> NDArray[np.void]:
    """Return a sequence of one micro-op, not to be written to."""
    uops = np.array([(dst, src, wgt)], dtype=UOP_DTYPE)
    uops.setflags(write=False)
    return uops


class Stream:
    """Collects instructions in program order, the accesses of each, and the contents of the DRAM image.

    Whatever is emitted raises `CompileError` naming the limit if it does not fit the hardware or an instruction.
    """

    def __init__(
        self, hw: HardwareConfig, *, keeps_data: bool = True, gathers_uops: bool = False, groups_uops: bool = False
    ) -> None:
        """Without `keeps_data` constants only take up their place: enough to time the stream, not to run it.

        With `gathers_uops` all micro-op sequences are to be on chip together: one that does not fit beside the others raises
        `UopsOverflow`. With `groups_uops` each operator starts with an empty uop SRAM and, where its sequences fit it together,
        loads them all at once.
        """
        self.hw = hw
        self.keeps_data = keeps_data
        self.constants: list[NDArray[np.generic]] = []
        """What each constant holds, if data is kept."""
        error = ffi.new("char[]", _ERROR_BYTES)
        native = lib.vta_stream_create(target_of(hw, gathers_uops, groups_uops), error, _ERROR_BYTES)
        if native == ffi.NULL:
            raise CompileError(ffi.string(error).decode())
        self.native = ffi.gc(native, lib.vta_stream_free)
        """The core's handle."""
        self._tile = -1

    def __len__(self) -> int:
        """Instructions so far."""
        return int(self._sizes.instructions)

    # Writing.

    def add_constant(self, data: NDArray[np.generic], memory: MemoryType) -> int:
        """Append `data` to the constants, aligned for `memory`; returns its element index there."""
        if self.keeps_data:
            self.constants.append(data)
        return int(lib.vta_stream_add_constant(self.native, memory, data.nbytes))

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
        job = memory, sram, segment, dram, x_size, y_size, x_stride, *pads
        self.done(lib.vta_stream_load(self.native, [job]))

    def store(self, sram: int, dram: int, x_size: int, y_size: int, x_stride: int) -> None:
        """Emit a STORE of output rows to the arena."""
        self.done(lib.vta_stream_store(self.native, sram, dram, x_size, y_size, x_stride))

    def gemm(
        self,
        uops: NDArray[np.void],
        outer: Loop = _NO_LOOP,
        inner: Loop = _NO_LOOP,
        reset: bool = False,
        is_transfer: bool = False,
    ) -> None:
        """Emit a GEMM over decoded micro-ops, shape (n,) of `UOP_DTYPE`; `is_transfer`: it only brings a tensor in."""
        uops, loops = np.ascontiguousarray(uops), [_loop(outer), _loop(inner)]
        self.done(lib.vta_stream_gemm(self.native, pointer_to(uops), len(uops), loops, reset, is_transfer))

    def alu(
        self, op: AluOp, uops: NDArray[np.void], outer: Loop = _NO_LOOP, inner: Loop = _NO_LOOP, imm: int | None = None
    ) -> None:
        """Emit an ALU instruction; with `imm` every micro-op's src must equal its dst."""
        uops, loops = np.ascontiguousarray(uops), [_loop(outer), _loop(inner)]
        self.done(lib.vta_stream_alu(self.native, op, pointer_to(uops), len(uops), loops, imm is not None, imm or 0))

    def gemm_nest(self, loops: Sequence[Loop], base: tuple[int, int, int], is_transfer: bool = False) -> None:
        """Emit the products of every point of a nest of loops from the rows `base` (dst, src, wgt) on.

        Two loops are kept in hardware, the rest written out as micro-ops, so that these are as few as can be.
        """
        self.done(lib.vta_stream_gemm_nest(self.native, list(map(_loop, loops)), len(loops), base, is_transfer))

    def alu_nest(self, op: AluOp, loops: Sequence[Loop], base: tuple[int, int, int]) -> None:
        """The same with an ALU operation of two rows, whose src are accumulator rows."""
        self.done(lib.vta_stream_alu_nest(self.native, op, list(map(_loop, loops)), len(loops), base))

    def load_window(self, tensor: Tensor, address: int, window: Box, sram: int) -> None:
        """Emit the LOADs of `window` of `tensor`, whose memory starts at arena element `address`, into input rows from `sram` on.

        The window must overlap the tensor; around this it is zero. What a transfer cannot do becomes several.
        """
        fields = tensor_fields(tensor, address)
        self.done(lib.vta_stream_load_window(self.native, [fields], [window], sram))

    def store_tile(self, tensor: Tensor, address: int, tile: Box, sram: int) -> None:
        """Emit the STOREs of `tile` of `tensor`, which lies densely in output rows from `sram` on."""
        fields = tensor_fields(tensor, address)
        self.done(lib.vta_stream_store_tile(self.native, [fields], [tile], sram))

    @property
    def tile(self) -> int:
        """Tile that instructions emitted now belong to, or -1."""
        return self._tile

    @tile.setter
    def tile(self, tile: int) -> None:
        self._tile = tile
        lib.vta_stream_set_tile(self.native, tile)

    @contextmanager
    def origin(self, operator: int, transfers: int) -> Iterator[None]:
        """Attribute instructions emitted inside to `operator`, and products that only move data to `transfers`."""
        self._tile = -1
        lib.vta_stream_begin_operator(self.native, operator, transfers)
        yield
        self._tile = -1
        self.done(lib.vta_stream_end_operator(self.native))

    def gather_uop_loads(self) -> NDArray[np.int64]:
        """Replace the loads of micro-op sequences by one at the start, if all sequences of the stream fit on chip together.

        Returns, for each instruction before the change, how many there are now up to and including it.
        """
        stays = self.segments != Segment.UOPS
        gathered = ffi.new("int32_t *")
        self.done(lib.vta_stream_gather_uop_loads(self.native, gathered))
        return 1 + np.cumsum(stays) if gathered[0] else np.arange(1, len(stays) + 1)

    def select(self, order: NDArray[np.int64]) -> None:
        """Keep the instructions of these numbers, shape (n,), in this order."""
        order = np.ascontiguousarray(order, dtype=np.int64)
        lib.vta_stream_select(self.native, pointer_to(order), len(order))

    def trim_resets(self) -> NDArray[np.int64]:
        """Drop resets of accumulator rows that are zero anyway, and shorten others. All micro-ops have to be on chip together.

        Returns, for each instruction before the change, how many there are now up to and including it.
        """
        stays = np.ones(len(self), dtype=np.int64)
        needless = np.empty(len(self), dtype=np.int64)
        stays[needless[: lib.vta_stream_trim_resets(self.native, pointer_to(needless))]] = 0
        return np.cumsum(stays)

    def done(self, status: int) -> None:
        """Raise what the core says of a call with this result."""
        if status == lib.VTA_UOPS_OVERFLOW:
            raise UopsOverflow
        if status != lib.VTA_DONE:
            raise CompileError(ffi.string(lib.vta_stream_error(self.native)).decode())

    # Reading.

    @property
    def instructions(self) -> NDArray[np.void]:
        """Shape (n,) of `INSTRUCTION_DTYPE`, without tokens; DRAM addresses count from the start of their segment."""
        return self._column("fields", np.int64, self._sizes.instructions * _FIELDS).view(INSTRUCTION_DTYPE)

    @property
    def units(self) -> NDArray[np.int8]:
        """Shape (n,): the unit that runs each instruction."""
        return self._column("units", np.int8, self._sizes.instructions)

    @property
    def segments(self) -> NDArray[np.int8]:
        """Shape (n,): the segment that each instruction reads or writes."""
        return self._column("segments", np.int8, self._sizes.instructions)

    @property
    def operators(self) -> NDArray[np.int32]:
        """Shape (n,): the operator that each instruction belongs to, or -1."""
        return self._column("operators", np.int32, self._sizes.instructions)

    @property
    def tiles(self) -> NDArray[np.int32]:
        """Shape (n,): the tile that each instruction belongs to, or -1."""
        return self._column("tiles", np.int32, self._sizes.instructions)

    @property
    def access_counts(self) -> NDArray[np.int64]:
        """Shape (n,): how many accesses each instruction has."""
        return np.diff(self._column("access_ends", np.int64, self._sizes.instructions), prepend=0)

    @property
    def accesses(self) -> NDArray[np.int64]:
        """Shape (m, 6): those of the first instruction, then those of the next, as the fields of `Access`."""
        width = len(Access._fields)
        return self._column("accesses", np.int64, self._sizes.accesses * width).reshape(-1, width)

    @property
    def uops(self) -> NDArray[np.void]:
        """Shape (u,) of `UOP_DTYPE`: all micro-ops in DRAM."""
        return self._column("uops", np.int64, self._sizes.uops * _UOP_FIELDS).view(UOP_DTYPE)

    @property
    def sequence_sizes(self) -> NDArray[np.int64]:
        """Shape (s,): micro-ops of each sequence, in the order in which they lie in DRAM."""
        return np.diff(self._column("sequence_ends", np.int64, self._sizes.sequences), prepend=0)

    @property
    def constant_places(self) -> NDArray[np.int64]:
        """Shape (k, 3): of each constant its first byte, its bytes, and the size of an element, which it is aligned to."""
        return self.constants_from(0)[:, :3]

    @property
    def constant_count(self) -> int:
        """Constants so far."""
        return int(self._sizes.constants)

    @property
    def constants_bytes(self) -> int:
        """Bytes of all constants."""
        return int(self._sizes.constants_bytes)

    @property
    def layout(self) -> Layout:
        """Where the segments lie in the image."""
        sizes = self._sizes
        return Layout(sizes.constants_at, sizes.arena_at)

    @property
    def uop_count(self) -> int:
        """Micro-ops in DRAM."""
        return int(self._sizes.uops)

    def constants_from(self, first: int) -> NDArray[np.int64]:
        """Shape (k, 14): the fields of `vta_constant` of the constants from number `first` on."""
        width = len(ffi.typeof("vta_constant").fields)
        table = np.empty((self._sizes.constants - first, width), dtype=np.int64)
        lib.vta_stream_copy_constants(self.native, first, ffi.from_buffer("vta_constant[]", table))
        return table

    def encoded(self) -> NDArray[np.uint64]:
        """The words of `instructions`, shape (n, 2). Raises `EncodingError` naming a field that does not fit its bits."""
        words = np.empty((self._sizes.instructions, 2), dtype=np.uint64)
        columns = ffi.new("vta_stream_columns *", {"words": pointer_to(words)})
        if lib.vta_stream_copy(self.native, columns) != lib.VTA_DONE:
            encode(self.instructions, self.hw)
        return words

    @property
    def _sizes(self) -> Any:
        return lib.vta_stream_get_sizes(self.native)

    def _column(self, name: str, dtype: type[_Scalar], count: int) -> NDArray[_Scalar]:
        values = np.empty(count, dtype=dtype)
        lib.vta_stream_copy(self.native, ffi.new("vta_stream_columns *", {name: pointer_to(values)}))
        return values


def _loop(loop: Loop) -> tuple[int, tuple[int, int, int]]:
    return loop.extent, loop[1:]
