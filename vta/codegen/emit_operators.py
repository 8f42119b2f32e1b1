"""Emits the operators of a region into one stream, in the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vta.codegen.gemm_description import FROM_BOTTOM, Placement
from vta.codegen.interleave import Pair, Written, interleaved_order
from vta.codegen.prefetch import has_one_place, prefetched_order
from vta.codegen.region_program import MOVE_SUFFIX
from vta.codegen.stream import Stream, UopsOverflow
from vta.codegen.templates import emit_operator
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.operator import TileOperator

__all__ = ["ARRANGEMENTS", "Arrangement", "Emitted", "emit_operators"]


@dataclass(frozen=True)
class Arrangement:
    """What schedules do not say, and only configs with the requantize unit have."""

    padding_apart: bool = True
    """What pads outputs has accumulator rows in the middle, rather than those of the first tile."""
    loads_first: bool = True
    """Loads of a tile come before what computes in it."""


ARRANGEMENTS = tuple(Arrangement(apart, first) for apart in (True, False) for first in (True, False))


@dataclass(frozen=True)
class Emitted:
    """A stream without tokens."""

    stream: Stream
    names: list[str]
    """What its instructions are attributed to."""
    stops: list[int]
    """For each operator, the number of instructions that complete it and all before it."""


def emit_operators(
    operators: Sequence[TileOperator],
    schedules: Sequence[Schedule | None],
    pairs: Sequence[Pair],
    addresses: Mapping[str, int],
    hw: HardwareConfig,
    keeps_data: bool = True,
    arrangement: Arrangement = ARRANGEMENTS[0],
) -> Emitted:
    """Emit operators; where all micro-ops fit on chip together they are loaded at once, and tiles of `pairs` take turns.

    With the requantize unit, operators lie at either end of the buffers by turns, so that one can load while the one before it
    computes; resets of rows that are zero anyway are left out. Raises `CompileError` if something does not fit.
    """
    stream = Stream(hw, keeps_data=keeps_data, gathers_uops=True)
    try:
        placements = _placements(len(operators), pairs, hw, arrangement)
        names, stops = _emit(stream, operators, addresses, schedules, placements)
        if hw.capabilities.requantize:
            from vta.codegen.fills import needed_fills
            from vta.codegen.loads_first import loads_first

            stops = _interleaved(stream, stops, pairs)
            stops = _prefetched(stream, stops, [i for i, each in enumerate(operators) if has_one_place(each)])
            stops = _kept(stream, stops, needed_fills(stream))
            if arrangement.loads_first:
                stops = _reordered(stream, stops, loads_first(stream))
            stops = _after(stream.trim_resets(), stops)
        stops = _after(stream.gather_uop_loads(), stops)
    except UopsOverflow:
        stream = Stream(hw, keeps_data=keeps_data, groups_uops=True)
        names, stops = _emit(stream, operators, addresses, schedules, [FROM_BOTTOM] * len(operators))
    return Emitted(stream, names, stops)


def _placements(count: int, pairs: Sequence[Pair], hw: HardwareConfig, arrangement: Arrangement) -> list[Placement]:
    if not hw.capabilities.requantize:
        return [FROM_BOTTOM] * count
    taking_turns = {index for pair in pairs for index in (pair.first, pair.first + 1)}
    padding = hw.depth(MemoryType.ACC) // 2 if arrangement.padding_apart else 0
    return [Placement(index % 2 == 1, index in taking_turns, padding) for index in range(count)]


def _interleaved(stream: Stream, stops: Sequence[int], pairs: Sequence[Pair]) -> list[int]:
    """Let tiles of pairs take turns; returns where each operator is done then, of those that end at `stops`."""
    if not pairs:
        return list(stops)
    order, edges, written = np.arange(len(stream)), [0, *stops], Written.of(stream)
    for pair in pairs:
        begin, middle, end = edges[pair.first : pair.first + 3]
        order[begin:end] = interleaved_order(written, begin, middle, end, pair.lag)
    return _reordered(stream, stops, order)


def _prefetched(stream: Stream, stops: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Load the weights of operators earlier; returns where operators are done then."""
    return _reordered(stream, stops, prefetched_order(stream, stops, wanted, stream.hw)) if wanted else list(stops)


def _reordered(stream: Stream, stops: Sequence[int], order: NDArray[np.int64]) -> list[int]:
    """Bring the instructions into another order; returns where each operator and all before it are done then."""
    stream.select(order)
    reached = np.maximum.accumulate(np.argsort(order))
    return [int(reached[stop - 1]) + 1 for stop in stops]


def _kept(stream: Stream, stops: Sequence[int], kept: NDArray[np.int64]) -> list[int]:
    """Keep the instructions of these numbers; returns where operators are done then."""
    stream.select(kept)
    return [int(stop) for stop in np.searchsorted(kept, stops)]


def _after(done: NDArray[np.int64], stops: Sequence[int]) -> list[int]:
    return [int(done[stop - 1]) for stop in stops]


def _emit(
    stream: Stream,
    operators: Sequence[TileOperator],
    addresses: Mapping[str, int],
    schedules: Sequence[Schedule | None],
    placements: Sequence[Placement],
) -> tuple[list[str], list[int]]:
    """Emit operators; returns the names that their instructions are attributed to, and where each operator ends."""
    names: list[str] = []
    stops: list[int] = []
    for operator, schedule, placement in zip(operators, schedules, placements, strict=True):
        # Operators of one name that follow each other are one layer.
        if names[-2:-1] != [operator.name]:
            names += [operator.name, operator.name + MOVE_SUFFIX]
        with stream.origin(len(names) - 2, len(names) - 1):
            emit_operator(operator, stream, addresses, schedule, placement)
        stops.append(len(stream))
    return names, stops
