"""What schedules take on chip, and the limits that they break.

The one model of it: the compiler's choice, the config spaces of tuning, records and code generation all ask here, for one
schedule or for many in columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Generic, TypeVar, overload

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.schedule.columns import Bools, Ints, TileSizes, least, most
from vta.schedule.cut import step_blocks, step_kernel, step_window
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.access_map import rows_read
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm
from vta.tile.transfer_limits import MAX_PAD, MAX_SIZE, broken_stride

__all__ = [
    "MAX_SLOTS",
    "BrokenLimit",
    "Buffers",
    "Limit",
    "Resources",
    "broken_limits",
    "largest_pad",
    "resources",
    "transfers_fit",
]

MAX_SLOTS = 127
"""Of input and of weights each: every filled slot may be a token under way, and a queue counts 255."""

Size = TypeVar("Size", int, Ints)


@dataclass(frozen=True)
class Buffers:
    """Rows of the on-chip buffers that schedules may use."""

    inp: int
    wgt: int
    acc: int
    uop: int

    @classmethod
    def of(cls, hw: HardwareConfig) -> Buffers:
        """Those that `hw` has."""
        return cls(hw.depth(MemoryType.INP), hw.depth(MemoryType.WGT), hw.depth(MemoryType.ACC), hw.uop_depth)

    @classmethod
    def unlimited(cls) -> Buffers:
        """More than any schedule takes."""
        return cls(1 << 40, 1 << 40, 1 << 40, 1 << 40)


@dataclass(frozen=True)
class Resources(Generic[Size]):
    """SRAM rows that a schedule takes."""

    inp_slot: Size
    """For one window of input."""
    wgt_slot: Size
    """For the weights of one reduction step."""
    wgt_fixed: Size
    """For the weights of pointwise diagonal terms."""
    acc_tile: Size
    """Of one output tile, without the rows that its steps need beside it."""
    acc_slot: Size
    """Of one output tile with these."""
    vectors: Size
    """For per-channel constants."""
    vectors_whole: bool
    """Whether these hold all channels, rather than those of one tile."""

    def slots(self, buffers: Buffers) -> tuple[Size, Size, Size]:
        """How many windows of input, steps of weights and output tiles there is room for; none below 0."""
        inp = buffers.inp // self.inp_slot
        wgt = most(0, buffers.wgt - self.wgt_fixed) // self.wgt_slot
        acc = most(0, buffers.acc - self.vectors) // self.acc_slot
        return inp, wgt, acc


@overload
def resources(operator: GemmOperator, sizes: Schedule, buffers: Buffers) -> Resources[int]: ...


@overload
def resources(operator: GemmOperator, sizes: TileSizes, buffers: Buffers) -> Resources[Ints]: ...


def resources(operator: GemmOperator, sizes: Schedule | TileSizes, buffers: Buffers) -> Resources[Any]:
    """The SRAM rows that an operator takes, as `sizes` lay it out (see `GemmOperator.laid_out`), with such `buffers`."""
    one = least(1, sizes.tile_co)
    inp, wgt, fixed = one, one, 0 * one
    for term in operator.terms:
        height, width = step_window(term, sizes)
        if term.diagonal and term.pointwise:
            fixed = fixed + least(len(term.weights), sizes.tile_co)
            inp = most(inp, height * width)
            continue
        blocks = step_blocks(term, sizes)
        inp = most(inp, blocks * height * width)
        pairs = (1 if len(term.weights) == 1 else blocks) if term.diagonal else sizes.tile_co * blocks
        wgt = most(wgt, pairs * term.kernel_blocks(*step_kernel(term, sizes)))
    tile = sizes.tile_co * sizes.tile_h * sizes.tile_w
    count = len(operator.vectors)
    whole = count * operator.output.blocks <= buffers.acc // 4
    vectors = count * (operator.output.blocks * one if whole else sizes.tile_co)
    return Resources(inp, wgt, fixed, tile, tile * (1 + operator.scratch_tiles), vectors, whole)


def largest_pad(operator: GemmOperator, term: GemmTerm, axis: int) -> int:
    """Zero rows (axis 0) or columns (axis 1) that a window at the edge of the input needs."""
    extent = (operator.output.height, operator.output.width)[axis]
    source = (term.source.height, term.source.width)[axis]
    rows = rows_read(term, axis, outputs=range(extent), kernel=range(term.kernel[axis]))
    return max(-rows.start, rows.stop - source)


def transfers_fit(operator: GemmOperator, sizes: TileSizes) -> Bools:
    """Whether no window needs more padding than a load can give, and rows are no further apart than it can step."""
    rows = np.broadcast(sizes.tile_co, sizes.tile_h, sizes.tile_w, sizes.tile_ci).shape
    fit = np.full(rows, not any(broken_stride(tensor) for tensor in operator.tensors))
    for term in operator.terms:
        for axis, size in enumerate(step_window(term, sizes)):
            if largest_pad(operator, term, axis) > MAX_PAD:
                fit &= size <= MAX_PAD + 1
    return fit


class Limit(Enum):
    """What a schedule may not exceed; the values are how it is called."""

    INPUT_BUFFER = "input buffer"
    WEIGHT_BUFFER = "weight buffer"
    ACCUMULATOR_BUFFER = "accumulator buffer"
    TOKEN_QUEUE = "token queue"
    ROW_STRIDE = "row stride"
    PADDING = "padding"


@dataclass(frozen=True)
class BrokenLimit:
    """A limit that a schedule breaks: what it takes, and what is allowed. As a text, the words of `message`."""

    limit: Limit
    value: int
    """Rows of a buffer, slots, elements between rows, or rows or columns of a window that may lie on padding."""
    allowed: int
    message: str

    def __str__(self) -> str:
        return self.message


def broken_limits(operator: GemmOperator, schedule: Schedule, hw: HardwareConfig) -> list[BrokenLimit]:
    """The limits that `schedule` breaks on `hw`, for an operator as it lays it out; empty if it fits."""
    buffers = Buffers.of(hw)
    need = resources(operator, schedule, buffers)
    broken = [
        BrokenLimit(limit, rows, there, f"{limit.value}: {rows} rows needed, {there} there")
        for limit, rows, there in (
            (Limit.INPUT_BUFFER, schedule.inp_slots * need.inp_slot, buffers.inp),
            (Limit.WEIGHT_BUFFER, schedule.wgt_slots * need.wgt_slot + need.wgt_fixed, buffers.wgt),
            (Limit.ACCUMULATOR_BUFFER, schedule.acc_slots * need.acc_slot + need.vectors, buffers.acc),
        )
        if rows > there
    ]
    for name in ("inp_slots", "wgt_slots"):
        if (slots := getattr(schedule, name)) > MAX_SLOTS:
            message = f"{Limit.TOKEN_QUEUE.value}: {name} = {slots}; allowed: up to {MAX_SLOTS}"
            broken.append(BrokenLimit(Limit.TOKEN_QUEUE, slots, MAX_SLOTS, message))
    for tensor in (operator.stored, *operator.sources):
        broken += [BrokenLimit(Limit.ROW_STRIDE, tensor.width, MAX_SIZE, message) for message in broken_stride(tensor)]
    return broken + [limit for term in operator.terms for limit in _broken_pads(operator, term, schedule)]


def _broken_pads(operator: GemmOperator, term: GemmTerm, schedule: Schedule) -> Iterator[BrokenLimit]:
    """A window that is no wider than the largest pad can never need more of it."""
    for axis, size in enumerate(step_window(term, schedule)):
        pad = largest_pad(operator, term, axis)
        if pad > MAX_PAD and size > MAX_PAD + 1:
            message = f"padding {pad} exceeds {MAX_PAD} and a window of {size} can need it all"
            yield BrokenLimit(Limit.PADDING, size, MAX_PAD + 1, message)
