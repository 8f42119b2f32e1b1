"""Schedules whose tiles are whole rows of the output, all channels of a place before the next place."""

from __future__ import annotations

from dataclasses import replace

from vta.config.hardware import HardwareConfig
from vta.schedule.resources import MAX_SLOTS, Buffers, broken_limits, resources
from vta.schedule.schedule import Schedule
from vta.schedule.tile_sizes import equal_sizes
from vta.tile.gemm_operator import GemmOperator

__all__ = ["row_strips"]

_SHARE = 4
"""A tile takes at most one part in this many of the accumulator, and a step as much of the input buffer."""


def row_strips(operator: GemmOperator, rows: int, hw: HardwareConfig) -> Schedule | None:
    """The schedule with tiles of `rows` rows; None if `hw` has no room for it, or the output fewer rows."""
    if rows > operator.output.height:
        return None
    flat, buffers = operator.flattened, Buffers.of(hw)
    out, term = flat.output, flat.main_term
    joined = out.height == 1
    height, width = (1, rows * operator.output.width) if joined else (rows, out.width)
    channels = 1 if term.diagonal else _largest(out.blocks, buffers.acc // (_SHARE * height * width))
    inputs = 1 if term.diagonal else _largest(term.source.blocks, buffers.inp // (_SHARE * height * width))
    if not channels or not inputs:
        return None
    kernels = [each.kernel for each in flat.terms]
    schedule = Schedule(
        tile_co=channels,
        tile_h=height,
        tile_w=width,
        tile_ci=inputs,
        tile_kh=max(kernel[0] for kernel in kernels),
        tile_kw=max(kernel[1] for kernel in kernels),
        inp_slots=2 if term.diagonal else 2 * -(-term.source.blocks // inputs),
        wgt_slots=1,
        acc_slots=2,
        weights_outer=False,
    )
    steps = len(flat.terms) * -(-out.blocks // channels) * (1 if term.diagonal else -(-term.source.blocks // inputs))
    fit = (buffers.wgt // 2) // max(1, resources(flat, schedule, buffers).wgt_slot)
    schedule = replace(schedule, wgt_slots=max(1, min(steps, fit, MAX_SLOTS)))
    return None if broken_limits(flat, schedule, hw) else schedule


def _largest(extent: int, most: int) -> int:
    """The largest size that cuts `extent` into equal parts of at most `most`; 0 if there is none."""
    return max((size for size in equal_sizes(extent) if size <= most), default=0)
