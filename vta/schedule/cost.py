"""Estimates what many schedules of a tile operator take: cycles of the compute unit and of the memory port, and bytes.

The estimate knows the sizes of tiles, what stays on chip between them, and fixed costs per instruction. It ranks schedules; it
does not predict cycle counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.schedule.schedule import MAX_SLOTS, largest_pad
from vta.schedule.traffic import Reuse, data_bytes
from vta.tile.access_map import max_rows
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm
from vta.tile.transfer_limits import MAX_PAD

__all__ = ["Buffers", "Estimate", "TileSizes", "estimate_tiles", "passes_per_row", "work_cycles"]

_INSTRUCTION_CYCLES = 8
"""Fixed cost of a compute instruction."""
_TRANSFER_CYCLES = 6
"""Fixed cost of a transfer that others overlap."""
_LATENCY_CYCLES = 32
"""Cost of a transfer that nothing overlaps."""
_UOP_LOAD_CYCLES = 16
"""Cost of a load of micro-ops, which computing waits for."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


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
class TileSizes:
    """Columns of tile sizes, one row per schedule; kernel rows and columns of a step are the same for all."""

    co: Ints
    h: Ints
    w: Ints
    ci: Ints
    kh: int
    kw: int


@dataclass(frozen=True)
class Estimate:
    """What is expected of each schedule."""

    cycles: Floats
    data: Ints
    """Bytes of inputs, weights, per-channel constants and results."""
    moved: Floats
    """Bytes, with those of micro-ops."""
    inp_slots: Ints
    wgt_slots: Ints
    acc_slots: Ints
    valid: Bools


def work_cycles(operator: GemmOperator, term: GemmTerm) -> int:
    """Cycles of micro-ops for products and passes."""
    out = operator.output
    return out.batch * out.blocks * out.height * out.width * (passes_per_row(operator) + term.products_per_row)


def passes_per_row(operator: GemmOperator) -> int:
    """Micro-ops that an output row takes besides the products of the main term: a start, the other terms, and the steps.

    Of a term that leaves out blocks of zeros, rows differ: their mean counts, rounded up.
    """
    main = operator.main_term
    others = sum(_kept_per_row(term, operator) for term in operator.terms if term is not main)
    return 1 + others + operator.alu_passes + operator.output.planes - 1


def _kept_per_row(term: GemmTerm, operator: GemmOperator) -> int:
    if not term.sparse or term.window or term.source_dilation != (1, 1):
        return term.products_per_row
    return -(-term.kept_block_count // (len(term.weights) if term.diagonal else operator.output.blocks))


def estimate_tiles(operator: GemmOperator, hw: HardwareConfig, buffers: Buffers, tiles: TileSizes, outer: Bools) -> Estimate:
    """Estimate schedules of the tile sizes `tiles` on `hw`, if it had the given buffers.

    Where `outer` holds, all positions of a channel tile are visited before the next channel tile, elsewhere all channels of a
    position before the next position.
    """
    term = operator.main_term
    out = operator.output
    kh, kw = min(tiles.kh, term.kernel[0]), min(tiles.kw, term.kernel[1])
    height, width = max_rows(term, 0, tiles.h, kh), max_rows(term, 1, tiles.w, kw)
    channel_tiles, places = _up(out.blocks, tiles.co), out.batch * _up(out.height, tiles.h) * _up(out.width, tiles.w)
    reduction = term.source.blocks if not term.diagonal else tiles.co
    steps = _up(reduction, tiles.ci) * _up(term.kernel[0], kh) * _up(term.kernel[1], kw)

    inp_slot, wgt_slot, fixed = _slot_rows(operator, term, tiles, height * width, term.kernel_blocks(kh, kw))
    inp_fit = np.minimum(MAX_SLOTS, buffers.inp // inp_slot)
    wgt_fit = np.minimum(MAX_SLOTS, (buffers.wgt - fixed) // wgt_slot)
    acc_fit = _acc_fit(operator, buffers, tiles)
    inp_want, wgt_want = np.where(outer, steps * places, steps), np.where(outer, steps, steps * channel_tiles)
    inp_kept, wgt_kept = inp_fit >= inp_want, wgt_fit >= wgt_want
    slots = (_slot_count(inp_fit, inp_want), _slot_count(wgt_fit, wgt_want), np.clip(acc_fit, 1, 2))
    valid = (inp_fit >= 1) & (wgt_fit >= 1) & (acc_fit >= 1) & _pads_fit(operator, term, height, width)

    runs = channel_tiles * places
    gemms = runs * steps
    inp_loads = gemms / np.where(inp_kept, channel_tiles, 1)
    wgt_loads = gemms / np.where(wgt_kept, places, 1)
    beat = hw.platform.bus_bytes
    extra_inputs = len(operator.terms) - 1
    whole = np.full(tiles.co.shape, _vectors_whole(operator, buffers))
    reuse = Reuse(tiles.h, tiles.w, channel_tiles, places, inp_kept, wgt_kept, outer, whole)
    data = data_bytes(operator, term, (kh, kw), reuse, hw)
    transfers = inp_loads * np.minimum(tiles.ci, term.source.blocks) + wgt_loads + runs * (tiles.co + extra_inputs)
    memory = data / beat + transfers * _TRANSFER_CYCLES
    passes = passes_per_row(operator)
    shapes = np.where(out.height % tiles.h, 2, 1) * np.where(out.width % tiles.w, 2, 1) * np.where(out.blocks % tiles.co, 2, 1)
    uop_loads, uops = _uop_traffic(tiles, kh, kw, term, gemms, slots[0] * slots[1] * slots[2] * shapes, buffers)
    uop_bytes = uops * hw.elem_bytes(MemoryType.UOP)
    uop_cycles = uop_bytes / beat + uop_loads * _UOP_LOAD_CYCLES
    compute = work_cycles(operator, term) + (runs * passes + gemms * _phases(term)) * _INSTRUCTION_CYCLES + uop_cycles
    overlapped = (slots[0] > 1) & (slots[1] > 1) & (slots[2] > 1)
    first = (inp_slot * hw.elem_bytes(MemoryType.INP) + wgt_slot * hw.elem_bytes(MemoryType.WGT)) / beat
    last = tiles.co * tiles.h * tiles.w * (passes + hw.elem_bytes(MemoryType.OUT) / beat)
    serial = memory + compute + transfers * _LATENCY_CYCLES
    cycles = np.where(overlapped, np.maximum(memory, compute) + first + last, serial)
    return Estimate(cycles, data, data + uop_bytes, *slots, valid)


def _pads_fit(operator: GemmOperator, term: GemmTerm, height: Ints, width: Ints) -> Bools:
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


def _slot_rows(operator: GemmOperator, term: GemmTerm, tiles: TileSizes, window: Ints, kernel: int) -> tuple[Ints, Ints, Ints]:
    fixed = np.zeros_like(tiles.co)
    for other in operator.terms:
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


def _acc_fit(operator: GemmOperator, buffers: Buffers, tiles: TileSizes) -> Ints:
    count = len(operator.vectors)
    vectors = count * operator.output.blocks if _vectors_whole(operator, buffers) else count * tiles.co
    tile = tiles.co * tiles.h * tiles.w * (1 + operator.scratch_tiles)
    return np.asarray((buffers.acc - vectors) // tile, dtype=np.int64)


def _vectors_whole(operator: GemmOperator, buffers: Buffers) -> bool:
    return len(operator.vectors) * operator.output.blocks <= buffers.acc // 4


def _phases(term: GemmTerm) -> int:
    """Instructions, at least, that the products of one reduction step take: outputs that differ in what they read are apart."""
    return min(term.kernel[0], term.source_dilation[0]) * min(term.kernel[1], term.source_dilation[1])


def _uop_traffic(
    tiles: TileSizes, kh: int, kw: int, term: GemmTerm, gemms: Ints, combinations: Ints, buffers: Buffers
) -> tuple[Floats, Floats]:
    """Loads of micro-ops and what they load: what the two longest loops leave, for every combination of slots and shapes."""
    blocks = np.minimum(tiles.ci, term.source.blocks)
    same = np.ones_like(blocks)
    down, across = term.source_dilation
    sizes = (tiles.co, _up(tiles.h, down), _up(tiles.w, across), blocks if not term.diagonal else same)
    extents = np.stack([*sizes, same * -(-kh // down), same * -(-kw // across)])
    extents.sort(axis=0)
    length = reduce(np.multiply, extents[:-2]) * _phases(term)
    distinct = np.minimum(gemms, combinations)
    loads = np.where(distinct * length <= buffers.uop, distinct, gemms).astype(np.float64)
    return loads, loads * length
