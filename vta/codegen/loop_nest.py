"""Folds a loop nest of micro-ops into instructions: two loops in hardware, the rest written out as micro-ops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations, permutations
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Loop
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError
from vta.isa.instruction import UOP_DTYPE

__all__ = ["Dim", "Folded", "fold", "single_uop", "spaced"]

_MAX_EXTENT = (1 << 14) - 1


class Dim(NamedTuple):
    """One loop of a nest: trip count, and what one iteration adds to the dst, src and wgt rows."""

    extent: int
    dst: int
    src: int = 0
    wgt: int = 0


class Folded(NamedTuple):
    """One instruction's share of a nest."""

    uops: NDArray[np.void]
    outer: Loop
    inner: Loop


@cache
def single_uop(dst: int, src: int = 0, wgt: int = 0) -> NDArray[np.void]:
    """Return a sequence of one micro-op, not to be written to."""
    uops = np.array([(dst, src, wgt)], dtype=UOP_DTYPE)
    uops.setflags(write=False)
    return uops


def fold(dims: Iterable[Dim], base: tuple[int, int, int], hw: HardwareConfig, alu: bool = False) -> list[Folded]:
    """Return instructions that together visit every point of the nest, starting from rows `base` (dst, src, wgt).

    The two loops kept in hardware are those that leave the fewest micro-ops among the choices that respect the
    target's rule on how soon a micro-op sequence may repeat a dst. In a nest for the ALU, src rows are accumulator rows.
    Raises `CompileError` if nothing fits.
    """
    live = _merged([dim for dim in dims if dim.extent > 1])
    best: tuple[int, tuple[Dim, ...], list[Dim]] | None = None
    for chosen in _choices(live, hw, alu):
        loops = tuple(live[index] for index in chosen)
        rest = _without(live, chosen)
        count = prod(dim.extent for dim in rest)
        if count <= hw.uop_depth and (best is None or count < best[0]) and _spaced(rest, hw):
            best = (count, loops, rest)
    if best is not None:
        _, loops, rest = best
        hardware = [Loop(*dim) for dim in (*loops, *([Dim(1, 0)] * (2 - len(loops))))]
        return [Folded(_written_out(rest, base), hardware[0], hardware[1])]
    return list(_split(live, base, hw, alu))


def _choices(dims: list[Dim], hw: HardwareConfig, alu: bool) -> Iterator[tuple[int, ...]]:
    """Positions in `dims` of up to two loops that the hardware can run."""
    source = MemoryType.ACC if alu else MemoryType.INP
    limits = [hw.depth(memory) for memory in (MemoryType.ACC, source, MemoryType.WGT)]
    allowed = [
        index
        for index, dim in enumerate(dims)
        if dim.extent <= _MAX_EXTENT and all(step < limit for step, limit in zip(dim[1:], limits, strict=True))
    ]
    for size in (2, 1, 0):
        yield from combinations(allowed, size)


def _merged(dims: list[Dim]) -> list[Dim]:
    """Join loops where one continues the other: its step is the other's step times the other's trip count."""
    for (i, outer), (j, inner) in permutations(enumerate(dims), 2):
        steps = tuple(step * inner.extent for step in inner[1:])
        if outer[1:] == steps and outer.extent * inner.extent <= _MAX_EXTENT:
            return _merged([*_without(dims, (i, j)), Dim(outer.extent * inner.extent, *inner[1:])])
    return dims


def _without(dims: list[Dim], removed: tuple[int, ...]) -> list[Dim]:
    """`dims` but for those at the positions `removed`; equal loops are different ones."""
    return [dim for index, dim in enumerate(dims) if index not in removed]


def _written_out(dims: list[Dim], base: tuple[int, int, int]) -> NDArray[np.void]:
    """The micro-ops of a nest; loops that do not move dst are outermost."""
    count = prod(dim.extent for dim in dims)
    uops = np.zeros(count, dtype=UOP_DTYPE)
    ordered = sorted(dims, key=lambda dim: dim.dst != 0)
    for position, name in enumerate(("dst", "src", "wgt")):
        rows = np.full(1, base[position], dtype=np.int64)
        for dim in ordered:
            rows = (rows[:, None] + np.arange(dim.extent) * dim[1 + position]).reshape(-1)
        uops[name] = rows
    return uops


def _spaced(dims: list[Dim], hw: HardwareConfig) -> bool:
    return hw.capabilities.uop_dst_distance == 1 or spaced(_written_out(dims, (0, 0, 0))["dst"], hw)


def spaced(dst: NDArray[np.integer[Any]], hw: HardwareConfig) -> bool:
    """Whether a micro-op sequence with the rows `dst` repeats none sooner than the target allows."""
    gaps = range(1, min(hw.capabilities.uop_dst_distance, len(dst)))
    return all(bool((dst[gap:] != dst[:-gap]).all()) for gap in gaps)


def _split(dims: list[Dim], base: tuple[int, int, int], hw: HardwareConfig, alu: bool) -> Iterator[Folded]:
    """Spread the shortest loop, one that does not move dst where there is one, over several instructions."""
    if not dims:
        raise CompileError(f"a single micro-op does not fit the uop buffer of {hw.uop_depth}")
    position = min(range(len(dims)), key=lambda i: (dims[i].dst != 0, dims[i].extent))
    chosen, rest = dims[position], _without(dims, (position,))
    for index in range(chosen.extent):
        dst, src, wgt = (start + index * step for start, step in zip(base, chosen[1:], strict=True))
        yield from fold(rest, (dst, src, wgt), hw, alu)
