"""Chooses a schedule by a quick estimate of cycles: what the compute unit does against what the memory port moves.

The estimate knows the sizes of tiles, what stays on chip between them, and fixed costs per instruction. It ranks schedules; it
does not predict cycle counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from vta.codegen.schedule import (
    MAX_SLOTS,
    Schedule,
    alu_passes,
    broken_limits,
    flattened,
    largest_pad,
    scratch_tiles,
    terms_of,
    vectors_of,
)
from vta.codegen.window import MAX_PAD
from vta.codegen.workload import GemmTerm, TileOperator
from vta.config import HardwareConfig
from vta.errors import CompileError
from vta.targets import TARGETS, MemoryType

__all__ = [
    "ScheduleChooser",
    "choose_schedule",
    "choosing",
    "current_chooser",
    "equal_sizes",
    "kernel_splits",
    "main_term",
    "products_per_row",
]

_INSTRUCTION_CYCLES = 8
"""Fixed cost of a compute instruction."""
_TRANSFER_CYCLES = 6
"""Fixed cost of a transfer that others overlap."""
_LATENCY_CYCLES = 32
"""Cost of a transfer that nothing overlaps."""
_TRAFFIC_WEIGHT = 1 / 64
"""Of a cycle of transfers that computing hides: of two schedules that are as fast, the one that moves less is better."""
_CHECKED = 64
"""Schedules that are checked exactly before giving up, of those that the estimate finds valid."""

ScheduleChooser = Callable[[TileOperator, HardwareConfig], Schedule]

_CHOOSER: ContextVar[ScheduleChooser] = ContextVar("schedule chooser")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Candidates:
    """Columns of tile sizes, one row per candidate."""

    co: Ints
    h: Ints
    w: Ints
    ci: Ints
    kh: int
    kw: int


def choose_schedule(operator: TileOperator, hw: HardwareConfig) -> Schedule:
    """Return the schedule of least estimated cycles that fits `hw`.

    Raises `CompileError` naming a limit that every schedule breaks.
    """
    operator = flattened(operator)
    ranked: list[tuple[float, Schedule]] = []
    for kernel in kernel_splits(operator):
        for weights_outer in (True, False):
            ranked += _rank(operator, hw, kernel, weights_outer)
        if ranked:
            break
    ranked.sort(key=lambda item: item[0])
    for _, schedule in ranked[:_CHECKED]:
        if not broken_limits(operator, schedule, hw):
            return schedule
    smallest = Schedule(1, 1, 1, 1, 1, 1, 1, 1, 1, True)
    reasons = broken_limits(operator, smallest, hw) or ["no tile size fits all buffers"]
    raise CompileError(f"{operator.name}: no schedule fits {hw.model}: {'; '.join(reasons)}")


def current_chooser() -> ScheduleChooser:
    """What chooses schedules here: `choose_schedule`, or what a surrounding `choosing` says."""
    return _CHOOSER.get(choose_schedule)


@contextmanager
def choosing(chooser: ScheduleChooser) -> Iterator[None]:
    """Let `chooser` choose the schedules of what is compiled inside."""
    token = _CHOOSER.set(chooser)
    try:
        yield
    finally:
        _CHOOSER.reset(token)


def main_term(operator: TileOperator) -> GemmTerm:
    """The term with the most work, one that slides over its input where several have the same; it shapes the schedule."""
    return max(terms_of(operator), key=lambda term: (products_per_row(term), not term.pointwise))


def kernel_splits(operator: TileOperator) -> list[tuple[int, int]]:
    """Kernel rows and columns that one reduction step may cover, the whole kernel first."""
    kernels = [term.kernel for term in terms_of(operator)]
    height, width = max(k[0] for k in kernels), max(k[1] for k in kernels)
    half = (height, -(-width // 2))
    return list(dict.fromkeys([(height, width), half, (1, width), (1, -(-width // 2)), (1, min(8, width)), (1, 1)]))


def equal_sizes(extent: int) -> list[int]:
    """Tile sizes that cut `extent` into equal parts, but for the last."""
    return sorted({-(-extent // parts) for parts in range(1, extent + 1)})


def _rank(operator: TileOperator, hw: HardwareConfig, kernel: tuple[int, int], outer: bool) -> list[tuple[float, Schedule]]:
    out, term = operator.output, main_term(operator)
    in_blocks = 1 if term.diagonal and term.pointwise else term.source.blocks
    ci_sizes = [size for size in equal_sizes(in_blocks) if size <= hw.depth(MemoryType.INP)]
    axes = [equal_sizes(out.blocks), equal_sizes(out.height), equal_sizes(out.width), ci_sizes]
    grid = np.array(list(product(*axes)), dtype=np.int64)
    grid = grid[grid[:, 0] * grid[:, 1] * grid[:, 2] <= hw.depth(MemoryType.ACC)]
    co, height, width, ci = grid.T
    tiles = _Candidates(co, height, width, ci, kernel[0], kernel[1])
    cost, slots, valid = _estimate(operator, term, hw, tiles, outer)
    order = np.flatnonzero(valid)
    order = order[np.argsort(cost[order], kind="stable")][:_CHECKED]
    ranked = []
    for i in order:
        tile_co, tile_h, tile_w, tile_ci = (int(size) for size in grid[i])
        inp, wgt, acc = (int(count[i]) for count in slots)
        schedule = Schedule(tile_co, tile_h, tile_w, tile_ci, kernel[0], kernel[1], inp, wgt, acc, outer)
        ranked.append((float(cost[i]), schedule))
    return ranked


def _estimate(
    operator: TileOperator, term: GemmTerm, hw: HardwareConfig, tiles: _Candidates, outer: bool
) -> tuple[Floats, tuple[Ints, Ints, Ints], NDArray[np.bool_]]:
    """Cycles, slot counts (input, weight, accumulator) and feasibility of each candidate."""
    out = operator.output
    kh, kw = min(tiles.kh, term.kernel[0]), min(tiles.kw, term.kernel[1])
    height = (tiles.h - 1) * term.strides[0] + (kh - 1) * term.dilation[0] + 1
    width = (tiles.w - 1) * term.strides[1] + (kw - 1) * term.dilation[1] + 1
    channel_tiles, places = _up(out.blocks, tiles.co), out.batch * _up(out.height, tiles.h) * _up(out.width, tiles.w)
    reduction = term.source.blocks if not term.diagonal else tiles.co
    steps = _up(reduction, tiles.ci) * _up(term.kernel[0], kh) * _up(term.kernel[1], kw)

    inp_slot, wgt_slot, fixed = _slot_rows(operator, term, tiles, height * width, term.kernel_blocks(kh, kw))
    inp_fit = np.minimum(MAX_SLOTS, hw.depth(MemoryType.INP) // inp_slot)
    wgt_fit = np.minimum(MAX_SLOTS, (hw.depth(MemoryType.WGT) - fixed) // wgt_slot)
    acc_fit = _acc_fit(operator, hw, tiles)
    inp_want, wgt_want = (steps * places, steps) if outer else (steps, steps * channel_tiles)
    inp_kept, wgt_kept = inp_fit >= inp_want, wgt_fit >= wgt_want
    slots = (_slot_count(inp_fit, inp_want), _slot_count(wgt_fit, wgt_want), np.clip(acc_fit, 1, 2))
    valid = (inp_fit >= 1) & (wgt_fit >= 1) & (acc_fit >= 1) & _pads_fit(operator, term, height, width)

    runs = channel_tiles * places
    gemms = runs * steps
    inp_loads = gemms / np.where(inp_kept, channel_tiles, 1)
    wgt_loads = gemms / np.where(wgt_kept, places, 1)
    beat = (1 << TARGETS[hw.target].platform.log_bus_bits) // 8
    extra_inputs = len(terms_of(operator)) - 1
    rows = out.batch * out.blocks * out.height * out.width
    moved = (
        inp_loads * inp_slot * hw.elem_bytes(MemoryType.INP)
        + wgt_loads * wgt_slot * hw.elem_bytes(MemoryType.WGT)
        + rows * (out.planes + extra_inputs) * hw.elem_bytes(MemoryType.OUT)
    )
    transfers = inp_loads * np.minimum(tiles.ci, term.source.blocks) + wgt_loads + runs * (tiles.co + extra_inputs)
    memory = moved / beat + transfers * _TRANSFER_CYCLES
    passes = 1 + alu_passes(operator) + extra_inputs + (out.planes - 1)
    work = rows * (passes + products_per_row(term))
    compute = work + (runs * passes + gemms) * _INSTRUCTION_CYCLES + _uop_cycles(tiles, kh, kw, term, gemms, slots, hw) / beat
    overlapped = (slots[0] > 1) & (slots[1] > 1) & (slots[2] > 1)
    first = (inp_slot * hw.elem_bytes(MemoryType.INP) + wgt_slot * hw.elem_bytes(MemoryType.WGT)) / beat
    last = tiles.co * tiles.h * tiles.w * (passes + hw.elem_bytes(MemoryType.OUT) / beat)
    serial = memory + compute + transfers * _LATENCY_CYCLES
    cost = np.where(overlapped, np.maximum(memory, compute) + first + last, serial) + moved / beat * _TRAFFIC_WEIGHT
    return cost, slots, valid


def _pads_fit(operator: TileOperator, term: GemmTerm, height: Ints, width: Ints) -> NDArray[np.bool_]:
    fits = np.ones(height.shape, dtype=bool)
    for axis, size in enumerate((height, width)):
        if largest_pad(operator, term, axis) > MAX_PAD:
            fits &= size <= MAX_PAD + 1
    return fits


def _up(extent: int | Ints, size: int | Ints) -> Ints:
    return np.asarray(-(-np.asarray(extent) // size), dtype=np.int64)


def _slot_count(fit: Ints, want: Ints) -> Ints:
    """Slots to use: room for what can stay on chip and as much again to prefetch, or else for two steps."""
    return np.where(fit >= want, np.minimum(fit, np.maximum(2, 2 * want)), np.minimum(fit, 2))


def _slot_rows(operator: TileOperator, term: GemmTerm, tiles: _Candidates, window: Ints, kernel: int) -> tuple[Ints, Ints, Ints]:
    fixed = np.zeros_like(tiles.co)
    for other in terms_of(operator):
        if other.diagonal and other.pointwise:
            fixed = fixed + np.minimum(len(other.weights), tiles.co)
    positions = tiles.h * tiles.w
    if term.diagonal and term.pointwise:
        return np.maximum(positions, 1), np.ones_like(tiles.co), fixed
    blocks = np.minimum(tiles.ci, term.source.blocks)
    if term.diagonal:
        blocks = np.minimum(blocks, tiles.co)
        rows = np.ones_like(blocks) if len(term.weights) == 1 else blocks
    else:
        rows = tiles.co * blocks
    return np.maximum(blocks * window, positions), rows * kernel, fixed


def _acc_fit(operator: TileOperator, hw: HardwareConfig, tiles: _Candidates) -> Ints:
    count = len(vectors_of(operator))
    whole = count * operator.output.blocks <= hw.depth(MemoryType.ACC) // 4
    vectors = count * operator.output.blocks if whole else count * tiles.co
    tile = tiles.co * tiles.h * tiles.w * (1 + scratch_tiles(operator))
    return np.asarray((hw.depth(MemoryType.ACC) - vectors) // tile, dtype=np.int64)


def products_per_row(term: GemmTerm) -> int:
    """Products of blocks that one output row takes."""
    return term.kernel[0] * term.kernel[1] * (1 if term.diagonal else term.source.blocks)


def _uop_cycles(
    tiles: _Candidates, kh: int, kw: int, term: GemmTerm, gemms: Ints, slots: tuple[Ints, Ints, Ints], hw: HardwareConfig
) -> Floats:
    """Bytes of micro-ops loaded: what the two longest loops leave, for every combination of slots."""
    blocks = np.minimum(tiles.ci, term.source.blocks)
    same = np.ones_like(blocks)
    extents = np.stack([tiles.co, tiles.h, tiles.w, blocks if not term.diagonal else same, same * kh, same * kw])
    extents.sort(axis=0)
    length = reduce(np.multiply, extents[:-2])
    distinct = np.minimum(gemms, slots[0] * slots[1] * slots[2])
    loads = np.where(distinct * length <= hw.uop_depth, distinct, gemms)
    return np.asarray(loads * (length * 4.0 + 16 * _INSTRUCTION_CYCLES), dtype=np.float64)
