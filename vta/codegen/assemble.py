"""Makes a program of a stream: lays out its DRAM image, resolves addresses and places tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Segment, Stream
from vta.codegen.tokens import Plan, place_tokens
from vta.config.targets import MemoryType
from vta.isa.encoding import encode_uops
from vta.isa.instruction import UOP_DTYPE
from vta.isa.program import PAGE_BYTES, Program, Symbol, SymbolKind

__all__ = ["Assembled", "assemble", "located"]


@dataclass(frozen=True)
class Assembled:
    """A program, and which instruction of the stream each of its instructions is."""

    program: Program
    source: NDArray[np.int64]
    """Shape (n,): index into the stream, or -1 for an instruction that only carries tokens."""


def assemble(
    stream: Stream, arena_symbols: Sequence[Symbol], arena: int, operators: Sequence[str] = (), serial: bool = False
) -> Assembled:
    """Return the program of `stream`, its image made of micro-ops, constants and an arena of `arena` output elements.

    Offsets of `arena_symbols` count from the start of the arena. `operators` names what `Stream.origin` numbered. With
    `serial` the tokens let one unit run at a time.
    """
    hw = stream.hw
    uops = np.frombuffer(b"".join(sequence.tobytes() for sequence in stream.uops.sequences), UOP_DTYPE)
    uop_bytes = encode_uops(uops, hw).astype("<u4").view(np.uint8)
    plan = located(stream, arena, serial)
    source, instructions = plan.source, plan.instructions
    constants_at, arena_at = _layout(stream)
    image = np.zeros(arena_at, dtype=np.uint8)
    image[: len(uop_bytes)] = uop_bytes
    for data, (first, nbytes, _) in zip(stream.constants, stream.constant_places, strict=True):
        place = image[constants_at + first : constants_at + first + nbytes]
        place.view(data.dtype).reshape(data.shape)[...] = data
    symbols = [
        Symbol("uops", SymbolKind.UOP, 0, len(uop_bytes)),
        Symbol("constants", SymbolKind.CONSTANT, constants_at, stream.constants_bytes),
        *(replace(symbol, offset=symbol.offset + arena_at) for symbol in arena_symbols),
    ]
    program = Program(
        hw,
        instructions,
        image,
        arena_at + _page(arena * hw.elem_bytes(MemoryType.OUT)),
        tuple(symbols),
        tuple(operators),
        _of_stream(stream.operators, source),
        _of_stream(stream.tiles, source),
    )
    return Assembled(program, source)


def located(stream: Stream, arena: int, serial: bool = False, base: int = 0) -> Plan:
    """The instructions of `stream` with tokens, and addresses as they are when the image lies at byte `base`."""
    plan = place_tokens(stream, arena, serial)
    constants_at, arena_at = _layout(stream)
    bases = {Segment.UOPS: 0, Segment.CONSTANTS: constants_at, Segment.ARENA: arena_at}
    _relocate(plan.instructions, plan.source, stream, {segment: base + start for segment, start in bases.items()})
    return plan


def _layout(stream: Stream) -> tuple[int, int]:
    """Where constants and arena start in the image, after the micro-ops."""
    constants_at = _page(stream.uops.count * stream.hw.elem_bytes(MemoryType.UOP))
    return constants_at, constants_at + _page(stream.constants_bytes)


def _of_stream(values: Sequence[int], source: NDArray[np.int64]) -> NDArray[np.int32]:
    """What the stream says of each instruction, -1 for those that it does not have."""
    return np.append(np.array(values, dtype=np.int32), np.int32(-1))[source]


def _relocate(instructions: NDArray[np.void], source: NDArray[np.int64], stream: Stream, bases: Mapping[Segment, int]) -> None:
    """Turn addresses within a segment into addresses within the image."""
    segments = np.zeros(len(source), dtype=np.int64)
    found = source >= 0
    segments[found] = np.array(stream.segments, dtype=np.int64)[source[found]]
    shifts = np.array([stream.hw.log_elem_bytes[memory] for memory in MemoryType])
    for segment, base in bases.items():
        rows = segments == segment
        instructions["dram_base"][rows] += base >> shifts[instructions["memory_type"][rows]]


def _page(nbytes: int) -> int:
    return -(-nbytes // PAGE_BYTES) * PAGE_BYTES
