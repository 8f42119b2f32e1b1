"""What a program costs by a small model of a processor: cycles, and the figures that these follow from.

The model is the draft: it says which schedules are worth a closer look. It knows arithmetic, loads, stores and the latency of
sums that wait for each other, and how often data come from the nearest cache or from the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2, prod

import numpy as np

from vta.autotune.auto.cpu.limits import Limits
from vta.autotune.auto.leaves import Access, Leaf, leaves_of
from vta.host.loop.nest import Loop, Program
from vta.host.loop.size import local_bytes, written_out
from vta.support.dataclass import dataclass

__all__ = ["FEATURES", "NestFigures", "figures_of"]

_OPERATIONS_A_CYCLE = 2.0
_LOADS_A_CYCLE = 2.0
_LATENCY = 4.0
_LOOP_CYCLES = 1.0
_START_CYCLES = 6.0
_NEAR_LINE_CYCLES = 2.0
"""For a line that comes from the second cache."""
_FAR_LINE_CYCLES = 5.0
"""For one that comes from behind that."""
_STAYING_SHARE = 0.2
"""Of what a cache has room for as a whole: most of it is there from the kernel before."""
_LINE_BYTES = 64
_GATHER_CYCLES = 1.5
"""For each lane that is loaded or stored by itself."""
_CALL_CYCLES = 200.0
_LONG_CODE = 1000
"""Statements; what is longer does not stay in the cache for decoded instructions."""


@dataclass(frozen=True)
class NestFigures:
    """A program by the model."""

    cycles: float
    values: tuple[float, ...]
    """As `FEATURES` names them, for a cost model to learn from."""
    written_out: int
    local_bytes: int


@dataclass(frozen=True)
class _LeafCost:
    """One statement by the model, over all its runs."""

    cycles: float
    arithmetic: float
    loads: float
    stores: float
    waiting: float
    looping: float
    near: float
    far: float
    gathers: float
    registers: float
    copies: float
    trips: float
    inner_trips: float
    hoisted: float
    vector_share: float


_PARTS = tuple(_LeafCost.__annotations__)
FEATURES = (
    "cycles",
    *(f"total {name}" for name in ("arithmetic", "loads", "stores", "waiting", "looping", "near", "far", "gathers")),
    *(f"heaviest {name}" for name in _PARTS),
    *(f"second {name}" for name in _PARTS),
    "leaves",
    "written out",
    "local bytes",
    "workspace bytes",
    "functions",
    "shared",
)
"""What `NestFigures.values` are, most of them as logarithms."""


def figures_of(program: Program, limits: Limits) -> NestFigures:
    """What a program costs."""
    leaves = [_leaf_cost(leaf, limits) for leaf in leaves_of(program)]
    length, local = written_out(program), local_bytes(program)
    cycles = sum(leaf.cycles for leaf in leaves) + _CALL_CYCLES * len(program.functions)
    if length > _LONG_CODE:
        cycles *= 1 + 0.1 * log2(length / _LONG_CODE)
    if local > limits.far_bytes // 4:
        cycles *= 1.2
    ranked = sorted(leaves, key=lambda leaf: -leaf.cycles)
    totals = [sum(getattr(leaf, name) for leaf in leaves) for name in _PARTS[1:9]]
    empty = [0.0] * len(_PARTS)
    tops = [_figures(ranked[at]) if at < len(ranked) else empty for at in range(2)]
    shared = sum(function.shared_extent for function in program.functions)
    sizes = [len(leaves), length, local, sum(buffer.nbytes for buffer in program.workspace), len(program.functions), shared]
    values = [cycles, *totals, *tops[0], *tops[1], *map(float, sizes)]
    return NestFigures(cycles, tuple(float(np.log2(1 + value)) for value in values), length, local)


def _figures(leaf: _LeafCost) -> list[float]:
    return [float(getattr(leaf, name)) for name in _PARTS]


def _leaf_cost(leaf: Leaf, limits: Limits) -> _LeafCost:
    lane = leaf.lane_loop()
    item_bytes = np.dtype(leaf.target.buffer.dtype).itemsize
    width = lane.extent if lane is not None else 1
    vectors = ceil(width / limits.lanes(item_bytes)) if lane is not None else 1
    copies = leaf.copies * prod(loop.extent for loop in leaf.inner if loop.kind == "transposed")
    dots = any(loop.kind == "dot" for loop in leaf.inner)
    hoisted = _hoisted(leaf)
    own = copies * vectors
    gathers = 0.0
    loads = 0.0
    for access in leaf.reads:
        count, lone = _times(access, leaf, lane, width, vectors)
        kept = prod(_trailing(leaf.outer, access))
        loads += count / min(kept, 1 << 20) if own <= limits.registers else count
        gathers += lone
    stores, lone = _times(leaf.target, leaf, lane, width, vectors)
    gathers += lone
    sums = own if leaf.accumulates else 0
    spilled = max(0, sums + vectors + 1 - limits.registers) if leaf.accumulates else 0
    stores_each = stores / hoisted if leaf.accumulates else stores
    loads += (stores / hoisted if leaf.accumulates else 0.0) + 2 * spilled
    stores_each += spilled
    arithmetic = leaf.operations * own if not dots else own
    waiting = _LATENCY if leaf.accumulates and hoisted > 1 else _LATENCY * 2 if leaf.accumulates else 0.0
    trips = float(leaf.trips)
    inner_trips = float(leaf.outer[-1].extent) if leaf.outer else 1.0
    looping = _LOOP_CYCLES + (_START_CYCLES / inner_trips if leaf.outer else 0.0)
    step = max(arithmetic / _OPERATIONS_A_CYCLE, loads / _LOADS_A_CYCLE, stores_each, waiting) + gathers * _GATHER_CYCLES
    near, far = (_traffic(leaf, size) / _LINE_BYTES for size in (limits.near_bytes, limits.far_bytes))
    cycles = max(trips * (step + looping), near * _NEAR_LINE_CYCLES) + 0.3 * near + far * _FAR_LINE_CYCLES
    return _LeafCost(
        cycles,
        arithmetic * trips,
        loads * trips,
        stores_each * trips,
        waiting * trips,
        looping * trips,
        near,
        far,
        gathers * trips,
        float(own),
        float(copies),
        trips,
        inner_trips,
        float(hoisted),
        width / (vectors * limits.lanes(item_bytes)) if lane is not None else 0.0,
    )


def _hoisted(leaf: Leaf) -> int:
    """How many runs in a row store to the same places, which can then stay in registers."""
    return max(1, prod(_trailing(leaf.outer, leaf.target)))


def _trailing(loops: Sequence[Loop], access: Access) -> list[int]:
    """Extents of the innermost loops that a place does not depend on."""
    found = []
    for loop in reversed(loops):
        if access.moves(loop.variable):
            break
        found.append(loop.extent)
    return found


def _times(access: Access, leaf: Leaf, lane: Loop | None, width: int, vectors: int) -> tuple[float, float]:
    """Loads or stores of a place in one run of what is written out, and how many lanes of these go one by one."""
    different = prod(
        loop.extent for loop in leaf.inner if loop.kind in ("unrolled", "transposed") and access.moves(loop.variable)
    )
    if lane is None or not access.moves(lane.variable):
        return float(different), 0.0
    turned = next((loop for loop in leaf.inner if loop.kind == "transposed"), None)
    factor = access.factors[lane.variable] if access.known else 0
    if factor == 1 or (turned is not None and access.known and access.factors.get(turned.variable) == 1):
        return float(different * vectors), 0.0
    if any(loop.kind == "dot" and access.moves(loop.variable) for loop in leaf.inner):
        return float(different * vectors), 0.0
    return float(different * vectors), float(different * width)


def _traffic(leaf: Leaf, size: int) -> float:
    """Bytes that come from behind a cache of a size, if it keeps what the inner loops go through as long as that fits."""
    accesses = (leaf.target, *leaf.reads)
    extents: dict[str, int] = {loop.variable: loop.extent for loop in leaf.inner}
    depth = len(leaf.outer)
    kept = [access.nbytes(extents) for access in accesses]
    while depth:
        loop = leaf.outer[depth - 1]
        wider = {**extents, loop.variable: loop.extent}
        more = [access.nbytes(wider) for access in accesses]
        if sum(more) > size:
            break
        depth, extents, kept = depth - 1, wider, more
    share = 1.0 if depth else _STAYING_SHARE
    return share * sum(held * _rounds(leaf.outer[:depth], access) for access, held in zip(accesses, kept, strict=True))


def _rounds(loops: Sequence[Loop], access: Access) -> float:
    """How often a place's part of the cache is filled anew: for each value of the loops outside, but those it stays in."""
    skipped = len(_trailing(loops, access))
    return float(prod(loop.extent for loop in loops[: len(loops) - skipped]))
