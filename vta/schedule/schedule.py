"""Schedules of tile operators: how the work is cut, what that takes on chip, and whether it fits."""

from __future__ import annotations

from dataclasses import dataclass

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.tile.access_map import max_rows, rows_read
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm
from vta.tile.transfer_limits import MAX_PAD, broken_stride

__all__ = [
    "MAX_SLOTS",
    "Resources",
    "Schedule",
    "broken_limits",
    "largest_pad",
    "resources",
    "step_blocks",
    "step_kernel",
    "window_size",
]


MAX_SLOTS = 127
"""Of input and of weights each: every filled slot may be a token under way, and a queue counts 255."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One way to run a tile operator. Sizes of the last tile of a dimension may be smaller."""

    tile_co: int
    """Output channel blocks of a tile."""
    tile_h: int
    tile_w: int
    tile_ci: int
    """Input channel blocks of one reduction step."""
    tile_kh: int
    tile_kw: int
    inp_slots: int
    """Windows of input that are kept on chip."""
    wgt_slots: int
    """Weight steps that are kept on chip."""
    acc_slots: int
    """Output tiles that are in flight: with 2, a tile is stored while the next is computed."""
    weights_outer: bool
    """Visit all positions of a channel tile before the next channel tile; otherwise all channels of a position."""
    flat: bool = True
    """Where no term looks beyond its own position, rows and columns are one axis of `tile_w`."""
    skip_padding: bool = False
    """Leave out the products with zero padding: fewer products, in more instructions, where a tile lies at an edge."""

    @classmethod
    def smallest(cls) -> Schedule:
        """The one that takes the least room of all: if it does not fit, none does."""
        return _SMALLEST


_SMALLEST = Schedule(
    tile_co=1,
    tile_h=1,
    tile_w=1,
    tile_ci=1,
    tile_kh=1,
    tile_kw=1,
    inp_slots=1,
    wgt_slots=1,
    acc_slots=1,
    weights_outer=True,
)


@dataclass(frozen=True)
class Resources:
    """SRAM rows that a schedule takes."""

    inp_slot: int
    wgt_slot: int
    wgt_fixed: int
    """Rows for the weights of pointwise diagonal terms."""
    acc_tile: int
    """Accumulator rows of one output tile, without the rows that a tensor operand is computed into."""
    acc_slot: int
    vectors: int
    """Rows of per-channel constants."""
    vectors_whole: bool
    """Whether these hold all channels, rather than those of one tile."""


def window_size(term: GemmTerm, tile_h: int, tile_w: int, kh: int, kw: int) -> tuple[int, int]:
    """Input rows and columns that a tile needs, at most, for `kh` x `kw` kernel positions."""
    return max_rows(term, 0, tile_h, kh), max_rows(term, 1, tile_w, kw)


def step_kernel(term: GemmTerm, schedule: Schedule) -> tuple[int, int]:
    """Kernel rows and columns that one reduction step of the term covers."""
    return min(term.kernel[0], schedule.tile_kh), min(term.kernel[1], schedule.tile_kw)


def step_blocks(term: GemmTerm, schedule: Schedule) -> int:
    """Input channel blocks that one reduction step of the term covers."""
    if term.diagonal:
        return min(term.source.blocks, schedule.tile_co, schedule.tile_co if term.pointwise else schedule.tile_ci)
    return min(term.source.blocks, schedule.tile_ci)


def resources(operator: GemmOperator, schedule: Schedule, hw: HardwareConfig) -> Resources:
    """Return the SRAM rows that `schedule` takes."""
    inp, wgt, fixed = 1, 1, 0
    for term in operator.terms:
        kh, kw = step_kernel(term, schedule)
        height, width = window_size(term, schedule.tile_h, schedule.tile_w, kh, kw)
        if term.diagonal and term.pointwise:
            fixed += min(len(term.weights), schedule.tile_co)
            inp = max(inp, height * width)
        else:
            blocks = step_blocks(term, schedule)
            inp = max(inp, blocks * height * width)
            rows = (1 if len(term.weights) == 1 else blocks) if term.diagonal else schedule.tile_co * blocks
            wgt = max(wgt, rows * term.kernel_blocks(kh, kw))
    tile = schedule.tile_co * schedule.tile_h * schedule.tile_w
    count = len(operator.vectors)
    whole = count * operator.output.blocks <= hw.depth(MemoryType.ACC) // 4
    vectors = count * (operator.output.blocks if whole else schedule.tile_co)
    return Resources(inp, wgt, fixed, tile, tile * (1 + operator.scratch_tiles), vectors, whole)


def broken_limits(operator: GemmOperator, schedule: Schedule, hw: HardwareConfig) -> list[str]:
    """Return the limits that `schedule` breaks on `hw`, each with the need and what there is; empty if it fits."""
    need = resources(operator, schedule, hw)
    broken = []
    for name, memory, rows in (
        ("input", MemoryType.INP, schedule.inp_slots * need.inp_slot),
        ("weight", MemoryType.WGT, schedule.wgt_slots * need.wgt_slot + need.wgt_fixed),
        ("accumulator", MemoryType.ACC, schedule.acc_slots * need.acc_slot + need.vectors),
    ):
        if rows > hw.depth(memory):
            broken.append(f"{name} buffer: {rows} rows needed, {hw.depth(memory)} there")
    for name, slots in (("inp_slots", schedule.inp_slots), ("wgt_slots", schedule.wgt_slots)):
        if slots > MAX_SLOTS:
            broken.append(f"token queue: {name} = {slots}; allowed: up to {MAX_SLOTS}")
    for tensor in {tensor.name: tensor for tensor in (operator.stored, *operator.sources)}.values():
        broken += broken_stride(tensor)
    for term in operator.terms:
        broken += _broken_pads(operator, term, schedule)
    return broken


def _broken_pads(operator: GemmOperator, term: GemmTerm, schedule: Schedule) -> list[str]:
    """A window that is no wider than the largest pad can never need more of it."""
    sizes = window_size(term, schedule.tile_h, schedule.tile_w, *step_kernel(term, schedule))
    broken = []
    for axis, size in enumerate(sizes):
        pad = largest_pad(operator, term, axis)
        if pad > MAX_PAD and size > MAX_PAD + 1:
            broken.append(f"padding {pad} exceeds {MAX_PAD} and a window of {size} can need it all")
    return broken


def largest_pad(operator: GemmOperator, term: GemmTerm, axis: int) -> int:
    """Zero rows (axis 0) or columns (axis 1) that a window at the edge of the input needs."""
    extent = (operator.output.height, operator.output.width)[axis]
    source = (term.source.height, term.source.width)[axis]
    rows = rows_read(term, axis, outputs=range(extent), kernel=range(term.kernel[axis]))
    return max(-rows.start, rows.stop - source)
