"""Makes a program of a stream: its instructions with tokens and addresses, and its DRAM image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Stream
from vta.codegen.tokens import place_tokens
from vta.config.targets import MemoryType
from vta.isa.encoding import encode_uops
from vta.isa.program import Program, Symbol, SymbolKind, whole_pages
from vta.support.dataclass import dataclass
from vta.support.on_cores import on_cores

if TYPE_CHECKING:
    from vta.codegen.packed_constant import Place

__all__ = ["Assembled", "assemble"]

_LARGE_IMAGE = 8 << 20
"""Bytes that take one core longer to write than others to begin."""


@dataclass(frozen=True)
class Assembled:
    """A program, and which instruction of the stream each of its instructions is."""

    program: Program
    source: NDArray[np.int64]
    """Shape (n,): index into the stream, or -1 for an instruction that only carries tokens."""
    places: list[Place]
    """Of the constants in the image."""


def assemble(
    stream: Stream, arena_symbols: Sequence[Symbol], arena: int, operators: Sequence[str] = (), serial: bool = False
) -> Assembled:
    """Return the program of `stream`, its image made of micro-ops, constants and an arena of `arena` output elements.

    Offsets of `arena_symbols` count from the start of the arena. `operators` names what `Stream.origin` numbered. With
    `serial` the tokens let one unit run at a time.
    """
    hw = stream.hw
    uop_bytes = encode_uops(stream.uops, hw).astype("<u4").view(np.uint8)
    plan = place_tokens(stream, arena, serial)
    layout = stream.layout
    image = np.zeros(layout.arena, dtype=np.uint8)
    image[: len(uop_bytes)] = uop_bytes
    firsts = layout.constants + stream.constant_places[:, 0]
    places = list(zip(stream.constants, firsts.tolist(), strict=True))
    _fill(image, places)
    image.setflags(write=False)
    symbols = [
        Symbol("uops", SymbolKind.UOP, 0, len(uop_bytes)),
        Symbol("constants", SymbolKind.CONSTANT, layout.constants, stream.constants_bytes),
        *(replace(symbol, offset=symbol.offset + layout.arena) for symbol in arena_symbols),
    ]
    arena_bytes = arena * hw.elem_bytes(MemoryType.OUT)
    program = Program(
        hw,
        plan.instructions,
        image,
        layout.arena + whole_pages(arena_bytes),
        tuple(symbols),
        tuple(operators),
        _of_stream(stream.operators, plan.source),
        _of_stream(stream.tiles, plan.source),
    )
    return Assembled(program, plan.source, places)


def _fill(image: NDArray[np.uint8], places: Sequence[Place]) -> None:
    """Write constants to their places."""

    def fill(place: Place) -> None:
        data, first = place
        image[first : first + data.nbytes].view(data.dtype).reshape(data.shape)[...] = data

    if image.nbytes < _LARGE_IMAGE:
        for place in places:
            fill(place)
    else:
        on_cores(fill, places)


def _of_stream(values: NDArray[np.int32], source: NDArray[np.int64]) -> NDArray[np.int32]:
    """What the stream says of each instruction, -1 for those that it does not have."""
    return np.append(values, np.int32(-1))[source]
