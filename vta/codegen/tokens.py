"""Places dependency tokens: orders accesses of different units to the same rows, and nothing more.

Each unit runs in program order. Where an instruction needs the effect of an earlier one on another unit, and no token already
implies it, the earlier one pushes a token and the later one pops it. Load and store are not neighbours, so what
they owe each other goes through a compute instruction. Every token is matched, and every wait is for an instruction
earlier in the program, so no interleaving deadlocks or leaves a token over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.codegen.native import pointer_to
from vta.codegen.stream import Access, Space, Stream
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.isa.encoding import encode
from vta.isa.instruction import FLAGS, INSTRUCTION_BYTES, INSTRUCTION_DTYPE
from vta.native import ffi, lib
from vta.support.dataclass import dataclass

__all__ = ["Plan", "Touches", "encoded_with_tokens", "place_tokens", "plan_tokens"]

_ENTRY_FIELDS = 1 + len(FLAGS)
_MEMORIES = {Space.INP: MemoryType.INP, Space.WGT: MemoryType.WGT, Space.OUT: MemoryType.OUT}


@dataclass(frozen=True)
class Plan:
    """The instructions of a stream with tokens, closed by FINISH, and the addresses that they have in the image."""

    instructions: NDArray[np.void]
    """Shape (n,) of `INSTRUCTION_DTYPE`."""
    source: NDArray[np.int64]
    """Shape (n,): index into the stream, or -1 for an instruction that only carries tokens."""


@dataclass(frozen=True)
class Touches:
    """What the instructions of a stream read and write."""

    units: NDArray[np.int8]
    """Shape (n,): the unit that runs each instruction."""
    counts: NDArray[np.int64]
    """Shape (n,): how many accesses each has."""
    accesses: NDArray[np.int64]
    """Shape (m, 6): those of the first instruction, then those of the next, as the fields of `Access`."""


def place_tokens(stream: Stream, arena_rows: int, serial: bool = False, base: int = 0) -> Plan:
    """Return the instructions of `stream` with tokens placed, closed by FINISH, for an image at byte `base`.

    `arena_rows` is the size of the arena in output elements. With `serial` every instruction waits for the one before it.
    Raises `CompileError` if an access leaves its memory.
    """
    count = _planned(stream, arena_rows, serial)
    instructions, source = np.empty(count, dtype=INSTRUCTION_DTYPE), np.empty(count, dtype=np.int64)
    lib.vta_stream_copy_planned(stream.native, base, pointer_to(instructions), pointer_to(source))
    return Plan(instructions, source)


def encoded_with_tokens(stream: Stream, arena_rows: int, base: int = 0) -> NDArray[np.uint8]:
    """The same encoded, shape (n, 16). Raises `EncodingError` too, if a field does not fit its bits."""
    result = np.empty((_planned(stream, arena_rows, serial=False), INSTRUCTION_BYTES), dtype=np.uint8)
    if lib.vta_stream_encode_planned(stream.native, base, pointer_to(result)) != lib.VTA_DONE:
        return encode(place_tokens(stream, arena_rows, base=base).instructions, stream.hw)
    return result


def _planned(stream: Stream, arena_rows: int, serial: bool) -> int:
    found = int(lib.vta_stream_plan(stream.native, arena_rows, serial))
    if found < 0:
        raise _leaves(stream.accesses[-1 - found], stream.hw, arena_rows)
    return found


def plan_tokens(touches: Touches, hw: HardwareConfig, arena_rows: int) -> NDArray[np.int64]:
    """Index into the stream, or -1, and the four token flags of every instruction with tokens placed, shape (n, 5).

    The last one is FINISH. See `place_tokens`.
    """
    units, ends = np.ascontiguousarray(touches.units), np.cumsum(touches.counts)
    accesses = np.ascontiguousarray(touches.accesses)
    entries = np.zeros((2 * len(units) + 2, _ENTRY_FIELDS), dtype=np.int64)
    job = ffi.new("vta_plan_job *")
    job.units, job.access_ends, job.accesses = pointer_to(units), pointer_to(ends), pointer_to(accesses)
    job.instruction_count = len(units)
    for space in Space:
        job.rows[space] = _rows(space, hw, arena_rows)
    found = int(lib.vta_plan_tokens(job, pointer_to(entries)))
    if found < 0:
        raise _leaves(accesses[-1 - found], hw, arena_rows)
    return entries[:found]


def _rows(space: Space, hw: HardwareConfig, arena_rows: int) -> int:
    return hw.depth(_MEMORIES[space]) if space in _MEMORIES else arena_rows


def _leaves(fields: NDArray[np.int64], hw: HardwareConfig, arena_rows: int) -> CompileError:
    access = Access(*fields.tolist())
    access = access._replace(space=Space(access.space), writes=bool(access.writes))
    rows = _rows(access.space, hw, arena_rows)
    return CompileError(f"an access to rows {access.start} and on leaves a memory of {rows} rows: {access}")
