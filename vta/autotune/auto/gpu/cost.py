"""What a program costs by a small model of a GPU: cycles of its busiest processor, and the figures that these follow from.

The model is the draft: it says which schedules are worth a closer look. It knows what threads issue, what they wait for, how many
blocks a processor has at a time, and how much comes from memory that all share.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, log2, prod

import numpy as np

from vta.autotune.auto.leaves import Access, Leaf, function_leaves
from vta.autotune.auto.machine import Figures
from vta.host.loop.buffer import Buffer
from vta.host.loop.grid import Grid, GridLimits, grid_of
from vta.host.loop.nest import THREADS, Barrier, Block, Function, Loop, Program, Statement
from vta.host.loop.size import written_out
from vta.host.loop.virtual import with_real_threads
from vta.support.dataclass import dataclass

__all__ = ["FEATURES", "gpu_figures"]

_WARP, _SCHEDULERS = 32, 4
"""Threads that go on together, and how many such groups a processor starts at a time."""
_RESIDENT_THREADS, _RESIDENT_BLOCKS, _RESIDENT_BYTES = 2048, 32, 228 * 1024
"""Of the blocks that a processor has at the same time."""
_RESERVED_BYTES = 1024
"""Of shared memory that each of them takes beside its own."""
_OTHER_REGISTERS = 32
_SHARED_READ, _GLOBAL_READ, _STORE = 1.7, 6.0, 1.4
"""What a warp's accesses take to be issued, in products; of memory that all share for each four sectors."""
_ELEMENT = 14.0
"""What finding a place takes that is copied to shared memory."""
_LOOP = 0.7
_MATRICES, _MATRIX_WORDS = 8.0, 16
"""What matrices take to be multiplied, in products, and of how many bytes of an operand a thread brings a word."""
_WAIT, _LATENCY, _CHAIN = 90.0, 340.0, 17.0
"""Cycles of a barrier, of a first value from memory that all share, and of a sum that waits for the one before."""
_SECTOR_BYTES = 32
_SECTORS_A_CYCLE = 20.0
"""That a processor gets from memory that all share."""
_START_CYCLES = 5700.0
"""Of a function. These numbers and those before them were fitted to what 1,100 schedules of 12 convolutions took on an H200."""
_REST = 0.1
"""Of issuing, waiting and memory, what does not happen while the longest of these does."""
_MOST_KEPT = 8
"""Loads of a thread that are on their way at a time."""


@dataclass(frozen=True)
class _Cost:
    """One function by the model."""

    cycles: float
    issued: float
    waited: float
    traffic: float
    blocks: float
    threads: float
    resident: float
    turns: float
    arithmetic: float
    shared_reads: float
    global_reads: float
    sectors: float
    stores: float
    fetched: float
    barriers: float
    loops: float
    sums: float
    shared_bytes: float


_PARTS = tuple(_Cost.__annotations__)
FEATURES = ("cycles", "functions", "written out", *(f"{rank} {name}" for rank in ("heaviest", "second") for name in _PARTS))
"""What `Figures.values` are, as logarithms."""


def gpu_figures(program: Program, limits: GridLimits) -> Figures:
    """What a program costs."""
    real = with_real_threads(program)
    costs = sorted((_cost(function, limits) for function in real.functions), key=lambda cost: -cost.cycles)
    cycles = sum(cost.cycles + _START_CYCLES for cost in costs)
    empty = [0.0] * len(_PARTS)
    tops = [[getattr(costs[at], name) for name in _PARTS] if at < len(costs) else empty for at in range(2)]
    values = [cycles, len(costs), written_out(real), *tops[0], *tops[1]]
    return Figures(cycles, tuple(float(np.log2(1 + value)) for value in values))


@dataclass
class _Work:
    """What one thread does."""

    arithmetic: float = 0.0
    shared_reads: float = 0.0
    global_reads: float = 0.0
    sectors: float = 0.0
    """A warp's, for each of its threads' reads."""
    stores: float = 0.0
    fetched: float = 0.0
    loops: float = 0.0
    chain: float = 0.0
    """Cycles of sums that wait for each other."""
    in_turn: float = 0.0
    """Times that it waits for memory that all share."""


def _cost(function: Function, limits: GridLimits) -> _Cost:
    grid = grid_of(function)
    work = _Work()
    for leaf in function_leaves(function):
        _add(work, leaf, function)
    blocks, threads = prod(grid.blocks), prod(grid.threads)
    warps = ceil(threads / _WARP)
    sums = sum(buffer.nbytes for buffer in function.local) / 4
    resident = _resident(grid, threads, sums, limits)
    turns = ceil(blocks / limits.processors)
    barriers = float(sum(_barriers(function.body, 1)))
    each = work.arithmetic + _SHARED_READ * work.shared_reads + _GLOBAL_READ * work.sectors / 4
    each += _STORE * work.stores + _ELEMENT * work.fetched + _LOOP * work.loops
    issued = turns * warps * each / _SCHEDULERS
    waits = barriers / 2 * _LATENCY if work.fetched else work.in_turn * _LATENCY
    waited = ceil(turns / resident) * (waits + barriers * _WAIT * log2(1 + warps) + work.chain)
    traffic = turns * warps * work.sectors / _SECTORS_A_CYCLE
    cycles = max(issued, waited, traffic) + _REST * (issued + waited + traffic)
    return _Cost(
        cycles,
        issued,
        waited,
        traffic,
        blocks,
        threads,
        resident,
        turns,
        work.arithmetic,
        work.shared_reads,
        work.global_reads,
        work.sectors,
        work.stores,
        work.fetched,
        barriers,
        work.loops,
        sums,
        grid.shared_bytes,
    )


def _resident(grid: Grid, threads: int, sums: float, limits: GridLimits) -> int:
    """Blocks that a processor has at a time."""
    rounded = max(_WARP, ceil(threads / _WARP) * _WARP)
    by_registers = limits.registers // int(rounded * (sums + _OTHER_REGISTERS))
    by_bytes = _RESIDENT_BYTES // (grid.shared_bytes + _RESERVED_BYTES)
    return max(1, min(_RESIDENT_BLOCKS, _RESIDENT_THREADS // rounded, by_registers, by_bytes))


def _add(work: _Work, leaf: Leaf, function: Function) -> None:
    serial = [loop for loop in leaf.outer if loop.thread not in THREADS]
    bound = {loop.thread: loop for loop in leaf.outer if loop.thread in THREADS}
    trips = prod(loop.extent for loop in serial)
    dot = any(loop.kind == "dot" for loop in leaf.inner)
    tensor = any(loop.kind == "tensor" for loop in leaf.inner)
    words = _MATRIX_WORDS if tensor else 4 if dot else 1
    width = prod(loop.extent for loop in leaf.inner if loop.kind == "vectorized")
    copies = leaf.copies * width
    each = _MATRICES if tensor else 1.0 if dot else max(leaf.operations, int(leaf.accumulates))
    work.arithmetic += trips * copies * each
    work.loops += trips
    if leaf.accumulates:
        work.chain += trips * _CHAIN * max(1.0, copies / _SCHEDULERS)
    fetching = leaf.target.buffer in function.shared
    for access in leaf.reads:
        if access.buffer in function.local:
            continue
        reads = trips * _distinct(leaf, access) / words
        if access.buffer in function.shared:
            work.shared_reads += reads
            continue
        work.global_reads += reads
        if fetching and not leaf.accumulates:
            work.sectors += reads * _row_sectors(leaf.target.buffer) / width
            work.fetched += reads / width
        else:
            work.sectors += reads * _sectors(access, bound)
            work.in_turn += min(reads, trips) / _MOST_KEPT
    if leaf.target.buffer not in function.local:
        work.stores += trips * copies / width if not leaf.accumulates else trips * copies


def _distinct(leaf: Leaf, access: Access) -> int:
    """Values that are read of a place in one run of what is written out."""
    return prod(loop.extent for loop in leaf.inner if access.moves(loop.variable))


def _row_sectors(buffer: Buffer) -> float:
    """Sectors that a warp touches which copies rows as long as those of a buffer."""
    row = max(1, buffer.shape[-1]) * max(1, buffer.nbytes // max(1, prod(buffer.shape)))
    whole = _WARP * max(1, buffer.nbytes // max(1, prod(buffer.shape)))
    rows = max(1.0, whole / row)
    return rows * ceil(min(row, whole) / _SECTOR_BYTES + 0.5)


def _sectors(access: Access, bound: dict[str, Loop]) -> float:
    """Sectors that a warp touches which reads a place."""
    item = max(1, access.buffer.nbytes // max(1, prod(access.buffer.shape)))
    left, sectors = _WARP, 1.0
    for thread in THREADS[3:]:
        loop = bound.get(thread)
        if loop is None or left <= 1:
            continue
        lanes = min(left, loop.extent)
        left = ceil(left / lanes)
        factor = abs(access.factors.get(loop.variable, 0))
        if factor:
            sectors *= min(lanes, ceil(lanes * factor * item / _SECTOR_BYTES))
    return sectors


def _barriers(statement: Statement, times: int) -> Iterator[int]:
    match statement:
        case Barrier():
            yield times
        case Loop(extent=extent, thread=thread, body=body):
            yield from _barriers(body, times * (1 if thread in THREADS else extent))
        case Block(statements):
            for item in statements:
                yield from _barriers(item, times)
        case _ if hasattr(statement, "body"):
            yield from _barriers(statement.body, times)
