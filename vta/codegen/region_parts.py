"""The instructions of single operators of a region, and how they are joined to the stream of the region.

An operator's instructions depend on its schedule and on what lies before it only by addresses: of its constants and micro-ops in
DRAM, and of its micro-ops on chip. So they are emitted once for each schedule, and joined for each choice of schedules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Segment, Stream
from vta.codegen.tokens import Touches, plan_tokens
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import EncodingError
from vta.isa.encoding import instruction_fields
from vta.isa.instruction import FLAGS, INSTRUCTION_BYTES, Opcode
from vta.isa.program import whole_pages
from vta.support.dataclass import dataclass

__all__ = ["Part", "fit_together", "joined", "part_of"]

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_FLAG_BITS = np.arange(3, 3 + len(FLAGS), dtype=np.uint64)
"""Of the flags, which every instruction has after its opcode."""
_DRAM_LIMIT = 1 << 32


@dataclass(frozen=True)
class Part:
    """What one operator emits under one schedule, as if it were alone."""

    words: Words
    """Shape (n, 2): encoded, without tokens, with DRAM addresses of 0 and rows of micro-ops from `sequence` on."""
    touches: Touches
    segments: NDArray[np.int8]
    dram: Ints
    """Shape (n,): elements from the start of the segment."""
    shifts: NDArray[np.int8]
    """Shape (n,): log2 of the bytes of such an element."""
    sequence: NDArray[np.int32]
    """Shape (n,): which of `sequences` a compute instruction runs, or -1; -1 for all where these are not on chip together."""
    constant: NDArray[np.int32]
    """Shape (n,): which of `constants` an instruction loads from, or -1."""
    constants: Ints
    """Shape (k, 3): see `Stream.constant_places`."""
    sequences: tuple[bytes, ...]
    counts: Ints
    """Shape (s,): micro-ops of each of `sequences`."""
    together: bool
    """Whether all sequences are on chip together; then the first instruction loads them, in this order from row 0 on."""
    layouts: dict[int, tuple[Ints, int]] = field(default_factory=dict, compare=False)
    """How far constants move, and where they end, by where they start, modulo the largest element."""

    def constants_from(self, start: int) -> tuple[Ints, int]:
        """How many bytes each constant lies further on if the first may start at byte `start`; and where the last one ends."""
        if not len(self.constants):
            return np.zeros(0, np.int64), start
        phase = start % int(self.constants[:, 2].max())
        if phase not in self.layouts:
            moved, end = [], phase
            for at, nbytes, elem in self.constants.tolist():
                begin = -(-end // elem) * elem
                moved.append(begin - at)
                end = begin + nbytes
            self.layouts[phase] = np.array(moved, dtype=np.int64), end
        moves, end = self.layouts[phase]
        return moves + (start - phase), end + (start - phase)


def part_of(stream: Stream) -> Part:
    """The part of a stream that one operator was emitted into; the stream has to group micro-ops."""
    hw, words, segments, constants = stream.hw, stream.encoded(), stream.segments, stream.constant_places
    header = words[:, 0]
    moves = segments != Segment.NONE
    dram = np.where(moves, _bits(header, "dram_base", hw, Opcode.LOAD), 0)
    shifts = np.array([hw.log_elem_bytes[memory] for memory in MemoryType])[
        np.where(moves, _bits(header, "memory_type", hw, Opcode.LOAD), 0)
    ]
    counts, uops = stream.sequence_sizes, stream.uops
    starts = np.cumsum(counts) - counts
    together = int(counts.sum()) <= hw.uop_depth
    computes = np.isin(_bits(header, "opcode", hw, Opcode.LOAD), (Opcode.GEMM, Opcode.ALU, Opcode.DEPTHWISE)) & together
    begins = _bits(header, "uop_bgn", hw, Opcode.GEMM)
    sequence = np.where(computes, np.searchsorted(starts, begins, side="right") - 1, -1)
    from_constants = segments == Segment.CONSTANTS
    constant = np.where(from_constants, np.searchsorted(constants[:, 0], dram << shifts, side="right") - 1, -1)
    words[:, 0] ^= dram.astype(np.uint64) << _field("dram_base", hw, Opcode.LOAD)[0]
    return Part(
        words,
        Touches(stream.units, stream.access_counts, stream.accesses),
        segments,
        dram,
        shifts.astype(np.int8),
        sequence.astype(np.int32),
        constant.astype(np.int32),
        constants,
        tuple(uops[start : start + count].tobytes() for start, count in zip(starts.tolist(), counts.tolist(), strict=True)),
        counts,
        together,
    )


def fit_together(parts: Sequence[Part], hw: HardwareConfig) -> bool:
    """Whether the micro-ops of all parts fit on chip together, so that one load brings them all."""
    return _shared_rows(parts, hw) is not None


def joined(parts: Sequence[Part], hw: HardwareConfig, arena: int, gathers_uops: bool) -> NDArray[np.uint8]:
    """The binary stream of a region, shape (n, 16), whose operators have these parts and whose arena has `arena` elements.

    With `gathers_uops` all micro-ops are loaded at once. If that is so where they fit together, the stream is that of
    `vta.codegen.region.compile_operators`, with the image at address 0. Raises `CompileError` if an access leaves its memory, and
    `EncodingError` if an address does not fit.
    """
    placed = _shared_rows(parts, hw) if gathers_uops else None
    pieces, uops = _grouped(parts) if placed is None else (_gathered(parts, *placed, hw), placed[1])
    constants_at = whole_pages(uops << hw.log_elem_bytes[MemoryType.UOP])
    moves, constants_end = _moves(pieces)
    arena_at = constants_at + whole_pages(constants_end)
    segments = np.concatenate([piece.segments for piece in pieces])
    further = np.array([0, constants_at, 0, arena_at])[segments] + moves
    dram = np.concatenate([piece.dram for piece in pieces]) + (further >> np.concatenate([piece.shifts for piece in pieces]))
    if dram.max(initial=0) >= _DRAM_LIMIT:
        raise EncodingError(f"dram_base = {dram.max()} does not fit; allowed: up to {_DRAM_LIMIT - 1}")
    words = np.concatenate([piece.words for piece in pieces])
    words[:, 0] |= dram.astype(np.uint64) << _field("dram_base", hw, Opcode.LOAD)[0]
    touches = Touches(
        np.concatenate([piece.touches.units for piece in pieces]),
        np.concatenate([piece.touches.counts for piece in pieces]),
        np.concatenate([piece.touches.accesses for piece in pieces]),
    )
    plan = plan_tokens(touches, hw, arena)
    # An instruction that only carries tokens is a LOAD of nothing, all zeros.
    result = np.append(words, np.zeros((1, 2), np.uint64), axis=0)[plan[:, 0]]
    result[:, 0] |= (plan[:, 1:].astype(np.uint64) << _FLAG_BITS).sum(axis=1, dtype=np.uint64)
    result[-1, 0] |= np.uint64(Opcode.FINISH)
    return result.astype("<u8", copy=False).view(np.uint8).reshape(-1, INSTRUCTION_BYTES)


def _shared_rows(parts: Sequence[Part], hw: HardwareConfig) -> tuple[dict[bytes, int], int] | None:
    """Where each sequence lies on chip if all are there together, and how many micro-ops that are; None if they do not fit."""
    rows: dict[bytes, int] = {}
    total = 0
    for part in parts:
        for key, count in zip(part.sequences, part.counts.tolist(), strict=True):
            if key not in rows:
                rows[key] = total
                total += count
        if total > hw.uop_depth:
            return None
    return rows, total


def _gathered(parts: Sequence[Part], rows: dict[bytes, int], total: int, hw: HardwareConfig) -> list[Part]:
    """The parts with one load of all micro-ops before them, in place of one in each."""
    begin, end = (_field(name, hw, Opcode.GEMM)[0] for name in ("uop_bgn", "uop_end"))
    pieces = [_uop_load(total, hw)] if total else []
    for part in parts:
        first = int(len(part.sequences) > 0)
        words, sequence, touches = part.words[first:].copy(), part.sequence[first:], part.touches
        moves = np.array([rows[key] for key in part.sequences], dtype=np.int64) - (np.cumsum(part.counts) - part.counts)
        runs = sequence >= 0
        shift = moves[sequence[runs]].astype(np.uint64)
        words[runs, 0] += (shift << begin) + (shift << end)
        pieces.append(
            replace(
                part,
                words=words,
                touches=Touches(touches.units[first:], touches.counts[first:], touches.accesses),
                segments=part.segments[first:],
                dram=part.dram[first:],
                shifts=part.shifts[first:],
                constant=part.constant[first:],
            )
        )
    return pieces


def _grouped(parts: Sequence[Part]) -> tuple[list[Part], int]:
    """The parts, each with its micro-ops after those of the parts before it; and how many micro-ops there are in DRAM."""
    pieces, total = [], 0
    groups: dict[bytes, int] = {}
    for part in parts:
        start, count = total, int(part.counts.sum())
        if part.together:
            start = groups.setdefault(b"".join(part.sequences), total)
        total = max(total, start + count)
        pieces.append(replace(part, dram=part.dram + np.where(part.segments == Segment.UOPS, start, 0)))
    return pieces, total


def _uop_load(count: int, hw: HardwareConfig) -> Part:
    stream = Stream(hw)
    stream.load(MemoryType.UOP, 0, Segment.UOPS, 0, count)
    return part_of(stream)


def _moves(pieces: Sequence[Part]) -> tuple[Ints, int]:
    """How many bytes further on the constant of each instruction lies than in its part, and the bytes of all constants."""
    moves, end = [], 0
    for piece in pieces:
        further, end = piece.constants_from(end)
        moves.append(np.append(further, 0)[piece.constant])
    return np.concatenate(moves), end


def _field(name: str, hw: HardwareConfig, opcode: Opcode) -> tuple[np.uint64, np.uint64]:
    """The lowest bit of a field of the first word, and its largest value."""
    field = next(field for field in instruction_fields(hw)[opcode] if field.name == name)
    return np.uint64(field.low), np.uint64(field.maximum)


def _bits(header: NDArray[np.uint64], name: str, hw: HardwareConfig, opcode: Opcode) -> Ints:
    """The values of a field of the first word, whatever else these bits are in other instructions."""
    low, mask = _field(name, hw, opcode)
    return ((header >> low) & mask).astype(np.int64)
