"""Chooses a schedule by the cost model: what the compute unit does against what the memory port moves.

Schedules whose estimated cycles differ by a percent or so are equally fast, and of those the one that moves the fewest bytes is
chosen. What counts as equally fast is measured from a bound that does not depend on the sizes of buffers, so that a larger
buffer, which adds schedules and removes none, does not lead to one that moves more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.errors import CompileError
from vta.schedule.columns import Bools, Floats, Ints, TileSizes
from vta.schedule.cost import Estimate, estimate, work_cycles
from vta.schedule.resources import Buffers, broken_limits
from vta.schedule.schedule import Schedule
from vta.schedule.skip_padding import pays_to_skip_padding
from vta.schedule.tile_sizes import equal_sizes
from vta.tile.gemm_operator import GemmOperator

__all__ = ["choose_schedule", "fastest_schedules", "kernel_splits"]

_EQUAL_CYCLES = 1.02
"""Schedules whose estimates differ by less than this factor are equally fast."""
_CHECKED = 64
"""Schedules of a kernel split that are checked exactly before the next split is tried, of those that the estimate finds valid."""


def choose_schedule(operator: GemmOperator, hw: HardwareConfig) -> Schedule:
    """Return the schedule that moves the fewest bytes of those that fit `hw` and are the fastest, by estimate.

    Raises `CompileError` naming a limit that every schedule breaks.
    """
    operator = operator.flattened
    bound = _least_cycles(operator, hw)
    for kernel in kernel_splits(operator):
        for schedule in _ranked(operator, hw, kernel, bound):
            if not broken_limits(operator, schedule, hw):
                return replace(schedule, skip_padding=pays_to_skip_padding(operator, schedule, hw))
    reasons = [str(limit) for limit in broken_limits(operator, Schedule.smallest(), hw)] or ["no tile size fits all buffers"]
    raise CompileError(f"{operator.name}: no schedule fits {hw.model}: {'; '.join(reasons)}")


def fastest_schedules(operator: GemmOperator, hw: HardwareConfig, count: int, *, one_tile: bool = False) -> list[Schedule]:
    """Up to `count` schedules that fit `hw` and take whole kernels at a time: the fastest by estimate, whatever they move.

    With `one_tile` the accumulator holds one tile in place of two, and the estimate is as if there were two as large.
    """
    operator = operator.flattened
    kernel, buffers = kernel_splits(operator)[0], Buffers.of(hw)
    if one_tile:
        buffers = replace(buffers, acc=2 * buffers.acc)
    sizes, outer = _tilings(operator, kernel, buffers)
    found = estimate(operator, hw, buffers, sizes, outer)
    places, cycles, moved = _valid(found)
    order = np.lexsort((moved, cycles))[:_CHECKED]
    ranked = _schedules(found, sizes, outer, kernel, places[order])
    alone = (replace(each, acc_slots=1) if one_tile else each for each in ranked)
    fitting = (each for each in alone if not broken_limits(operator, each, hw))
    return [replace(each, skip_padding=pays_to_skip_padding(operator, each, hw)) for each in islice(fitting, count)]


def kernel_splits(operator: GemmOperator) -> list[tuple[int, int]]:
    """Kernel rows and columns that one reduction step may cover, the whole kernel first."""
    kernels = [term.kernel for term in operator.terms]
    height, width = max(k[0] for k in kernels), max(k[1] for k in kernels)
    half = (height, -(-width // 2))
    return list(dict.fromkeys([(height, width), half, (1, width), (1, -(-width // 2)), (1, min(8, width)), (1, 1)]))


def _ranked(operator: GemmOperator, hw: HardwareConfig, kernel: tuple[int, int], bound: float) -> Iterator[Schedule]:
    """The best schedules whose steps cover `kernel`, by estimate; `bound`: the fewest cycles possible.

    The order is by powers of `_EQUAL_CYCLES` above what is possible, then by bytes, then by cycles.
    """
    buffers = Buffers.of(hw)
    sizes, outer = _tilings(operator, kernel, buffers)
    found = estimate(operator, hw, buffers, sizes, outer)
    places, cycles, moved = _valid(found)
    speed = np.floor(np.log(np.maximum(1, cycles / bound)) / np.log(_EQUAL_CYCLES))
    order = np.lexsort((cycles, moved, speed))[:_CHECKED]
    yield from _schedules(found, sizes, outer, kernel, places[order])


def _valid(found: Estimate) -> tuple[Ints, Floats, Floats]:
    """The places of valid schedules in the grid of tilings, row by row, with their cycles and the bytes that they move."""
    valid, cycles, moved = np.broadcast_arrays(found.valid, found.cycles, found.moved)
    return np.flatnonzero(valid), cycles[valid], moved[valid]


def _schedules(found: Estimate, sizes: TileSizes, outer: Bools, kernel: tuple[int, int], places: Ints) -> Iterator[Schedule]:
    """The schedules at some places of the grid."""
    grid = found.cycles.shape

    def at(place: tuple[Ints, ...], values: Ints | Bools) -> int:
        # An axis along which values do not change has one, or is none.
        axes = zip(place[len(place) - values.ndim :], values.shape, strict=True)
        return int(values[tuple([along if extent > 1 else 0 for along, extent in axes])])

    for flat in places:
        place = np.unravel_index(flat, grid)
        yield Schedule(
            tile_co=at(place, sizes.tile_co),
            tile_h=at(place, sizes.tile_h),
            tile_w=at(place, sizes.tile_w),
            tile_ci=at(place, sizes.tile_ci),
            tile_kh=kernel[0],
            tile_kw=kernel[1],
            inp_slots=at(place, found.inp_slots),
            wgt_slots=at(place, found.wgt_slots),
            acc_slots=at(place, found.acc_slots),
            weights_outer=bool(at(place, outer)),
        )


def _least_cycles(operator: GemmOperator, hw: HardwareConfig) -> float:
    """Estimated cycles of the fastest schedule if buffers were as large as one likes."""
    unlimited = Buffers.unlimited()
    _, cycles, _ = _valid(estimate(operator, hw, unlimited, *_tilings(operator, operator.main_term.kernel, unlimited)))
    fastest = float(cycles.min(initial=np.inf))
    return fastest if np.isfinite(fastest) else max(1.0, float(work_cycles(operator)))


def _tilings(operator: GemmOperator, kernel: tuple[int, int], buffers: Buffers) -> tuple[TileSizes, Bools]:
    """Tile sizes that may fit, each with both orders: whether weights are the outer loop.

    They are the axes of a grid, each of its own dimension: what follows from one or two of them is computed once.
    """
    out, term = operator.output, operator.main_term
    in_blocks = 1 if term.diagonal and term.pointwise else term.source.blocks
    ci_sizes = [size for size in equal_sizes(in_blocks) if size <= buffers.inp]
    axes = [np.array(sizes, np.int64) for sizes in (*map(equal_sizes, (out.blocks, out.height, out.width)), ci_sizes)]
    (co, height, width, ci), outer = np.ix_(*axes), np.array([True, False]).reshape(2, 1, 1, 1, 1)
    kh, kw = (np.asarray(size) for size in kernel)
    return TileSizes(tile_co=co, tile_h=height, tile_w=width, tile_ci=ci, tile_kh=kh, tile_kw=kw), outer
