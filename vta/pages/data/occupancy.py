"""How full the memories are over time: buffers on the chip, the tensors in DRAM, and the traffic between the two."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.instruction import Opcode
from vta.isa.program import SymbolKind
from vta.pages.data.accesses import DRAM, accesses
from vta.pages.data.coverage import Floats, mean_level
from vta.pages.data.row_lives import RowLives
from vta.pages.data.windows import DeviceRun
from vta.support.dataclass import dataclass

__all__ = ["BUFFERS", "BufferLevel", "Occupancy", "occupancy"]

BUFFERS = {"inp": "inputs", "wgt": "weights", "acc": "accumulator", "uop": "micro-ops"}
_MEMORIES = {"inp": MemoryType.INP, "wgt": MemoryType.WGT, "acc": MemoryType.ACC, "uop": MemoryType.UOP}
_GRAIN = 64
"""Bytes of DRAM that are looked at as one row."""
_CHIP_ONLY = ("table",)
Level = tuple[float, ...]
Lives = list[tuple[Floats, Floats]]


@dataclass(frozen=True)
class BufferLevel:
    """How much of one buffer holds values that are still read."""

    name: str
    """A word of `BUFFERS`."""
    capacity_bytes: int
    rows: int
    level: Level
    """Part of the rows in each stretch of time, on average."""
    peak: float
    """Part of the rows at the moment at which most are in use."""


@dataclass(frozen=True)
class Occupancy:
    """All memories over the same stretches of time, from `edges[i]` to `edges[i + 1]` in cycles."""

    edges: Level
    buffers: tuple[BufferLevel, ...]
    constant_bytes: Level
    """Of DRAM: micro-ops, weights and biases of the region that runs."""
    tensor_bytes: Level
    """Of DRAM: inputs, outputs and tensors between operators that are still read."""
    read_per_cycle: Level
    """Bytes that loads bring."""
    written_per_cycle: Level
    bus_bytes: int
    """Most of one direction in a cycle."""


class _Gathered:
    """What the runs of a network add to."""

    def __init__(self) -> None:
        self.lives: dict[str, Lives] = {name: [] for name in (*BUFFERS, DRAM)}
        self.loads: list[tuple[float, float, float]] = []
        self.stores: list[tuple[float, float, float]] = []


def occupancy(runs: Sequence[DeviceRun], hw: HardwareConfig, bins: int = 400) -> Occupancy | None:
    """How full the memories are in `bins` stretches of the runs; None where instructions were not timed one by one."""
    if not runs or any(run.result.times is None for run in runs):
        return None
    gathered = _Gathered()
    for run in runs:
        _gather(run, hw, gathered)
    edges = np.linspace(0, max(1, runs[-1].end), bins + 1)
    return Occupancy(
        tuple(edges.tolist()),
        tuple(_buffer(name, gathered.lives[name], hw, edges) for name in BUFFERS),
        _rounded(_constants(runs, edges)),
        _rounded(_level(gathered.lives[DRAM], edges) * _GRAIN),
        _rounded(_traffic(gathered.loads, edges)),
        _rounded(_traffic(gathered.stores, edges)),
        hw.platform.bus_bytes,
    )


def _gather(run: DeviceRun, hw: HardwareConfig, gathered: _Gathered) -> None:
    times = run.result.times
    assert times is not None
    program = run.region.program
    rows = {name: RowLives(hw.depth(memory)) for name, memory in _MEMORIES.items()}
    rows[DRAM] = RowLives(-(-program.image_bytes // _GRAIN))
    for symbol in program.symbols:
        if symbol.kind is SymbolKind.INPUT:
            rows[DRAM].write(*_grains(symbol.offset, symbol.nbytes), run.start, run.start)
    ends = (times.completed + run.start).tolist()
    starts = (times.completed + run.start - times.busy - times.memory).tolist()
    for access in accesses(program):
        if access.memory in _CHIP_ONLY:
            continue
        start, end = starts[access.instruction], ends[access.instruction]
        place = _grains(access.first, access.rows) if access.memory == DRAM else (access.first, access.rows)
        # What is changed where it lies stays in use.
        if access.reads:
            rows[access.memory].read(*place, end)
        else:
            rows[access.memory].write(*place, start, end)
    for symbol in program.symbols:
        if symbol.kind is SymbolKind.OUTPUT:
            rows[DRAM].read(*_grains(symbol.offset, symbol.nbytes), run.end)
    for name, own in rows.items():
        gathered.lives[name].append(own.lives())
    _gather_traffic(run, hw, gathered)


def _gather_traffic(run: DeviceRun, hw: HardwareConfig, gathered: _Gathered) -> None:
    times = run.result.times
    assert times is not None
    table = run.region.program.instructions
    sizes = np.ones(8)
    for memory in MemoryType:
        sizes[memory] = hw.elem_bytes(memory)
    moved = table["y_size"] * table["x_size"] * sizes[table["memory_type"]]
    for opcode, found in ((Opcode.LOAD, gathered.loads), (Opcode.STORE, gathered.stores)):
        which = np.flatnonzero((table["opcode"] == opcode) & (moved > 0) & (times.completed >= 0))
        end = times.completed[which] + run.start
        length = np.maximum(1, (times.busy + times.memory)[which])
        start = end - length
        found.extend(zip(start.tolist(), end.tolist(), (moved[which] / length).tolist(), strict=True))


def _grains(first: int, count: int) -> tuple[int, int]:
    low = first // _GRAIN
    return low, -(-(first + count) // _GRAIN) - low


def _buffer(name: str, lives: Lives, hw: HardwareConfig, edges: Floats) -> BufferLevel:
    memory = _MEMORIES[name]
    rows = hw.depth(memory)
    level = _level(lives, edges) / rows
    return BufferLevel(BUFFERS[name], rows * hw.elem_bytes(memory), rows, _rounded(level), round(_peak(lives) / rows, 4))


def _level(lives: Lives, edges: Floats) -> Floats:
    starts, ends = (np.concatenate([pair[end] for pair in lives]) for end in (0, 1))
    return mean_level(starts, ends, edges)


def _peak(lives: Lives) -> float:
    """The most that are alive at once."""
    starts, ends = (np.concatenate([pair[end] for pair in lives]) for end in (0, 1))
    if not len(starts):
        return 0.0
    moments = np.concatenate([ends, starts])
    steps = np.concatenate([-np.ones(len(ends)), np.ones(len(starts))])
    # What ends at a moment makes room for what begins then.
    order = np.lexsort((steps, moments))
    return float(np.cumsum(steps[order]).max())


def _constants(runs: Sequence[DeviceRun], edges: Floats) -> Floats:
    sizes = [
        sum(symbol.nbytes for symbol in run.region.program.symbols if symbol.kind in (SymbolKind.UOP, SymbolKind.CONSTANT))
        for run in runs
    ]
    starts, ends = (np.array([getattr(run, end) for run in runs], dtype=np.float64) for end in ("start", "end"))
    return mean_level(starts, ends, edges, np.array(sizes, dtype=np.float64))


def _traffic(moves: list[tuple[float, float, float]], edges: Floats) -> Floats:
    if not moves:
        return np.zeros(len(edges) - 1)
    starts, ends, rates = np.array(moves).T
    return mean_level(starts, ends, edges, rates)


def _rounded(values: Floats) -> Level:
    return tuple(np.round(np.maximum(values, 0.0), 4).tolist())
