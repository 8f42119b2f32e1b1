"""Places dependency tokens: orders accesses of different units to the same rows, and nothing more.

Each unit runs in program order. Where an instruction needs the effect of an earlier one on another unit, and no token already
implies it, the earlier one pushes a token and the later one pops it. Load and store are not neighbours, so what
they owe each other goes through a compute instruction. Every token is matched, and every wait is for an instruction
earlier in the program, so no interleaving deadlocks or leaves a token over.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Access, Space, Stream
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.isa.instruction import FLAGS, INSTRUCTION_DTYPE, Opcode
from vta.support.native_library import ffi, lib

__all__ = ["Plan", "Touches", "place_tokens", "plan_tokens"]

_NAMES = INSTRUCTION_DTYPE.names or ()
_ENTRY_FIELDS = 1 + len(FLAGS)


@dataclass(frozen=True)
class Plan:
    """The instructions of a stream with tokens, closed by FINISH."""

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


def place_tokens(stream: Stream, arena_rows: int, serial: bool = False) -> Plan:
    """Return the instructions of `stream` with tokens placed, closed by FINISH.

    `arena_rows` is the size of the arena in output elements. With `serial` every instruction waits for the one before it.
    Raises `CompileError` if an access leaves its memory.
    """
    entries = _planned(stream, arena_rows, serial)
    source = np.ascontiguousarray(entries[:, 0])
    rows = np.array(stream.rows, dtype=np.int64).reshape(-1, len(_NAMES))
    blank = np.zeros((1, rows.shape[1]), dtype=np.int64)
    fields = np.concatenate([rows, blank])[source]
    fields[:, 1:_ENTRY_FIELDS] = entries[:, 1:]
    carriers = source < 0
    fields[carriers, 0] = Opcode.LOAD
    fields[-1, 0] = Opcode.FINISH
    return Plan(fields.view(INSTRUCTION_DTYPE).reshape(-1), source)


def _planned(stream: Stream, arena_rows: int, serial: bool) -> NDArray[np.int64]:
    """Source and flags of every instruction, shape (n, 5)."""
    flat = [access for accesses in stream.accesses for access in accesses]
    rows = np.fromiter(chain.from_iterable(flat), dtype=np.int64, count=len(flat) * len(Access._fields))
    touches = Touches(
        np.array(stream.units, dtype=np.int8),
        np.array([len(accesses) for accesses in stream.accesses], dtype=np.int64),
        rows.reshape(-1, len(Access._fields)),
    )
    return plan_tokens(touches, stream.hw, arena_rows, serial)


def plan_tokens(touches: Touches, hw: HardwareConfig, arena_rows: int, serial: bool = False) -> NDArray[np.int64]:
    """Index into the stream, or -1, and the four token flags of every instruction with tokens placed, shape (n, 5).

    The last one is FINISH. See `place_tokens`.
    """
    units, ends = np.ascontiguousarray(touches.units), np.cumsum(touches.counts)
    accesses = np.ascontiguousarray(touches.accesses)
    entries = np.zeros((2 * len(units) + 2, _ENTRY_FIELDS), dtype=np.int64)
    job = ffi.new("vta_plan_job *")
    job.units = ffi.cast("int8_t *", units.ctypes.data)
    job.access_ends = ffi.cast("int64_t *", ends.ctypes.data)
    job.accesses = ffi.cast("vta_plan_access *", accesses.ctypes.data)
    job.instruction_count = len(units)
    depths = {Space.INP: MemoryType.INP, Space.WGT: MemoryType.WGT, Space.OUT: MemoryType.OUT}
    for space in Space:
        job.rows[space] = hw.depth(depths[space]) if space in depths else arena_rows
    job.serial = serial
    found = lib.vta_plan_tokens(job, ffi.cast("vta_plan_entry *", entries.ctypes.data))
    if found < 0:
        access = Access(*accesses[-1 - found].tolist())
        access = access._replace(space=Space(access.space), writes=bool(access.writes))
        raise CompileError(f"an access to rows {access.start} and on leaves a memory of {job.rows[access.space]} rows: {access}")
    return entries[:found]
