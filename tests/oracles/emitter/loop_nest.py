"""Folds a loop nest of micro-ops into instructions: two loops in hardware, the rest written out as micro-ops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations, product
from math import prod
from typing import NamedTuple

from vta.codegen.stream import Loop
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import CompileError

__all__ = ["Folded", "Uop", "fold", "spaced"]

_MAX_EXTENT = (1 << 14) - 1

Uop = tuple[int, int, int]
"""Rows of dst, src and wgt."""


class Folded(NamedTuple):
    """One instruction's share of a nest."""

    uops: tuple[Uop, ...]
    outer: Loop
    inner: Loop


def fold(loops: Iterable[Loop], base: Uop, hw: HardwareConfig, alu: bool = False) -> list[Folded]:
    """Return instructions that together visit every point of the nest, starting from rows `base`.

    The two loops kept in hardware are those that leave the fewest micro-ops among the choices that respect the
    target's rule on how soon a micro-op sequence may repeat a dst. In a nest for the ALU, src rows are accumulator rows.
    Raises `CompileError` if nothing fits.
    """
    live = _merged([loop for loop in loops if loop.extent > 1])
    best: tuple[int, tuple[Loop, ...], list[Loop]] | None = None
    for chosen in _choices(live, hw, alu):
        rest = _without(live, chosen)
        count = prod(loop.extent for loop in rest)
        if count <= hw.uop_depth and (best is None or count < best[0]) and spaced(_written_out(rest, (0, 0, 0)), hw):
            best = count, tuple(live[index] for index in chosen), rest
    if best is not None:
        _, kept, rest = best
        outer, inner = (*kept, *([Loop(1, 0)] * (2 - len(kept))))
        return [Folded(_written_out(rest, base), outer, inner)]
    return list(_split(live, base, hw, alu))


def _choices(loops: list[Loop], hw: HardwareConfig, alu: bool) -> Iterator[tuple[int, ...]]:
    """Positions in `loops` of up to two that the hardware can run."""
    source = MemoryType.ACC if alu else MemoryType.INP
    limits = [hw.depth(memory) for memory in (MemoryType.ACC, source, MemoryType.WGT)]
    allowed = [
        index
        for index, loop in enumerate(loops)
        if loop.extent <= _MAX_EXTENT and all(step < limit for step, limit in zip(loop[1:], limits, strict=True))
    ]
    for size in (2, 1, 0):
        yield from combinations(allowed, size)


def _merged(loops: list[Loop]) -> list[Loop]:
    """Join loops where one continues the other: its step is the other's step times the other's trip count."""
    for (i, outer), (j, inner) in permutations(enumerate(loops), 2):
        steps = tuple(step * inner.extent for step in inner[1:])
        if outer[1:] == steps and outer.extent * inner.extent <= _MAX_EXTENT:
            return _merged([*_without(loops, (i, j)), Loop(outer.extent * inner.extent, *inner[1:])])
    return loops


def _without(loops: list[Loop], removed: tuple[int, ...]) -> list[Loop]:
    """`loops` but for those at the positions `removed`; equal loops are different ones."""
    return [loop for index, loop in enumerate(loops) if index not in removed]


def _written_out(loops: list[Loop], base: Uop) -> tuple[Uop, ...]:
    """The micro-ops of a nest; loops that do not move dst are outermost."""
    ordered = sorted(loops, key=lambda loop: loop.dst != 0)
    points = product(*(range(loop.extent) for loop in ordered))
    return tuple(_moved(base, [(i, loop) for i, loop in zip(point, ordered, strict=True)]) for point in points)


def _moved(base: Uop, turns: Sequence[tuple[int, Loop]]) -> Uop:
    dst, src, wgt = (start + sum(i * loop[1 + index] for i, loop in turns) for index, start in enumerate(base))
    return dst, src, wgt


def spaced(uops: Sequence[Uop], hw: HardwareConfig) -> bool:
    """Whether a micro-op sequence repeats no dst sooner than the target allows."""
    dst = [uop[0] for uop in uops]
    gaps = range(1, min(hw.capabilities.uop_dst_distance, len(dst)))
    return all(a != b for gap in gaps for a, b in zip(dst, dst[gap:], strict=False))


def _split(loops: list[Loop], base: Uop, hw: HardwareConfig, alu: bool) -> Iterator[Folded]:
    """Spread the shortest loop, one that does not move dst where there is one, over several instructions."""
    if not loops:
        raise CompileError(f"a single micro-op does not fit the uop buffer of {hw.uop_depth}")
    position = min(range(len(loops)), key=lambda i: (loops[i].dst != 0, loops[i].extent))
    chosen, rest = loops[position], _without(loops, (position,))
    for index in range(chosen.extent):
        yield from fold(rest, _moved(base, [(index, chosen)]), hw, alu)
