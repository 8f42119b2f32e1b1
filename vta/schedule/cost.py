"""The cost model: what many schedules of an operator take, in cycles of the compute unit and of the memory port, and in bytes.

It knows the sizes of tiles, what stays on chip between them, and fixed costs per instruction. It ranks schedules; it does not
predict cycle counts. What no schedule can go below is in `vta.schedule.roofline`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.instruction import INSTRUCTION_BYTES, REQUANTIZE_PARAMETERS
from vta.schedule.columns import Bools, Floats, Ints, TileSizes
from vta.schedule.cut import step_kernel
from vta.schedule.loops import Loops, loops_of, up
from vta.schedule.resources import MAX_SLOTS, Buffers, resources, transfers_fit
from vta.schedule.traffic import Reuse, data_bytes
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm

__all__ = ["INSTRUCTION_CYCLES", "Estimate", "LeastWork", "estimate", "least_work", "passes_per_row", "work_cycles"]

INSTRUCTION_CYCLES = 8
"""Fixed cost of a compute instruction."""
_TRANSFER_CYCLES = 6
"""Fixed cost of a transfer that others overlap."""
_LATENCY_CYCLES = 32
"""Cost of a transfer that nothing overlaps."""
_AHEAD, _AHEAD_OF_PRODUCTS_THAT_REQUANTIZE = 2, 4
"""Reduction steps that there is room for on chip: where tiles take few cycles, several loads have to be under way at once."""
_UOP_LOAD_CYCLES = 16
"""Cost of a load of micro-ops, which computing waits for."""


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


def work_cycles(operator: GemmOperator) -> int:
    """Cycles of micro-ops for products and passes."""
    return _work_cycles(operator, passes_per_row(operator))


def _work_cycles(operator: GemmOperator, passes: int) -> int:
    return operator.output.elements * (passes + operator.main_term.products_per_row)


def passes_per_row(operator: GemmOperator) -> int:
    """Micro-ops that an output row takes besides the products of the main term: a start, the other terms, and the steps.

    Of a term that leaves out blocks of zeros, rows differ: their mean counts, rounded up.
    """
    main = operator.main_term
    others = sum(_kept_per_row(term, operator) for term in operator.terms if term is not main)
    start = 0 if operator.leaves_zeros else 1
    return start + others + operator.alu_passes + operator.output.planes - 1


def _kept_per_row(term: GemmTerm, operator: GemmOperator) -> int:
    if not term.sparse or term.window or term.source_dilation != (1, 1):
        return term.products_per_row
    return -(-term.kept_block_count // (len(term.weights) if term.diagonal else operator.output.blocks))


def estimate(operator: GemmOperator, hw: HardwareConfig, buffers: Buffers, sizes: TileSizes, weights_outer: Bools) -> Estimate:
    """Estimate schedules of tile `sizes` on `hw`, if it had the given `buffers`, with as many slots as they have use for."""
    loops, need = loops_of(operator, sizes, blocks_apart=True), resources(operator, sizes, buffers)
    # Windows of a transposed convolution have fewer positions than the tile. Tiles that only fit because of that need more
    # micro-ops than the bytes that they save are worth.
    window = np.maximum(need.inp_slot, sizes.tile_h * sizes.tile_w)
    inp_fit, wgt_fit, acc_fit = replace(need, inp_slot=window).slots(buffers)
    inp_fit, wgt_fit = np.minimum(MAX_SLOTS, inp_fit), np.minimum(MAX_SLOTS, wgt_fit)
    inp_want, wgt_want = loops.reuse(weights_outer)
    ahead = _AHEAD_OF_PRODUCTS_THAT_REQUANTIZE if hw.capabilities.requantize else _AHEAD
    slots = _slot_count(inp_fit, inp_want, ahead), _slot_count(wgt_fit, wgt_want, ahead), np.clip(acc_fit, 1, 2)
    valid = (inp_fit >= 1) & (wgt_fit >= 1) & (acc_fit >= 1) & transfers_fit(operator, sizes)
    reuse = Reuse(inp_fit >= inp_want, wgt_fit >= wgt_want, weights_outer, need.vectors_whole)
    data = data_bytes(operator, sizes, loops, reuse, hw)
    transfers = _transfers(operator, sizes, loops, reuse)
    uop_loads, uops = _uop_traffic(operator, sizes, loops, slots[0] * slots[1] * slots[2], buffers)
    beat = hw.platform.bus_bytes
    uop_bytes = uops * hw.elem_bytes(MemoryType.UOP)
    memory = data / beat + transfers * _TRANSFER_CYCLES
    passes = passes_per_row(operator)
    instructions = loops.tiles * passes + loops.tiles * loops.steps * _phases(operator.main_term)
    parameters = loops.tiles * sizes.tile_co * (REQUANTIZE_PARAMETERS * operator.requantizations)
    compute = _work_cycles(operator, passes) + instructions * INSTRUCTION_CYCLES + parameters
    compute = compute + uop_bytes / beat + uop_loads * _UOP_LOAD_CYCLES
    overlapped = (slots[0] > 1) & (slots[1] > 1) & (slots[2] > 1)
    first = (window * hw.elem_bytes(MemoryType.INP) + need.wgt_slot * hw.elem_bytes(MemoryType.WGT)) / beat
    last = loops.out * (passes + hw.elem_bytes(MemoryType.OUT) / beat)
    serial = memory + compute + transfers * _LATENCY_CYCLES
    cycles = np.where(overlapped, np.maximum(memory, compute) + first + last, serial)
    return Estimate(cycles, data, data + uop_bytes, *slots, valid)


def _transfers(operator: GemmOperator, sizes: TileSizes, loops: Loops, reuse: Reuse) -> Floats:
    """Transfers of inputs, weights and results: one for each channel block of a window or tile, and one for a step's weights."""
    inp_loads, wgt_loads = _loads(loops, reuse.inp_kept, reuse.wgt_kept)
    further_inputs = len(operator.terms) - 1
    blocks = np.minimum(sizes.tile_ci, operator.main_term.source.blocks)
    return np.asarray(inp_loads * blocks + wgt_loads + loops.tiles * (sizes.tile_co + further_inputs))


def _loads(loops: Loops, inp_kept: Bools, wgt_kept: Bools) -> tuple[Floats, Floats]:
    """Reduction steps that load a window of input, and those that load weights."""
    gemms = loops.tiles * loops.steps
    return gemms / np.where(inp_kept, loops.channels, 1), gemms / np.where(wgt_kept, loops.places, 1)


def _slot_count(fit: Ints, want: Ints, steps: int) -> Ints:
    """Slots to use: room for what can stay on chip and as much again to prefetch, or for `steps`."""
    return np.where(fit >= want, np.minimum(fit, np.maximum(steps, 2 * want)), np.minimum(fit, steps))


def _phases(term: GemmTerm) -> int:
    """Instructions, at least, that the products of one reduction step take: outputs that differ in what they read are apart."""
    return min(term.kernel[0], term.source_dilation[0]) * min(term.kernel[1], term.source_dilation[1])


def _uop_traffic(operator: GemmOperator, sizes: TileSizes, loops: Loops, slots: Ints, buffers: Buffers) -> tuple[Floats, Floats]:
    """Loads of micro-ops and what they load: what the two longest loops leave, for every combination of slots and shapes."""
    term, out = operator.main_term, operator.output
    (down, across), (kh, kw) = term.source_dilation, step_kernel(term, sizes)
    one = np.ones_like(sizes.tile_co)
    blocks = one if term.diagonal else np.minimum(sizes.tile_ci, term.source.blocks)
    kernel = up(kh, down) * one, up(kw, across) * one
    extents = [sizes.tile_co, up(sizes.tile_h, down), up(sizes.tile_w, across), blocks, *kernel]
    length = reduce(np.multiply, extents) // _two_largest(extents) * _phases(term)
    cut = (out.height, sizes.tile_h), (out.width, sizes.tile_w), (out.blocks, sizes.tile_co)
    shapes = reduce(np.multiply, [np.where(extent % size, 2, 1) for extent, size in cut])
    gemms = loops.tiles * loops.steps
    distinct = np.minimum(gemms, slots * shapes)
    loads = np.where(distinct * length <= buffers.uop, distinct, gemms).astype(np.float64)
    return loads, loads * length


def _two_largest(columns: Sequence[Ints]) -> Ints:
    """The product of the two largest of each row."""
    largest, next_largest = np.maximum(*columns[:2]), np.minimum(*columns[:2])
    for column in columns[2:]:
        next_largest = np.maximum(next_largest, np.minimum(largest, column))
        largest = np.maximum(largest, column)
    return np.asarray(largest * next_largest)


@dataclass(frozen=True)
class LeastWork:
    """What tilings take without any fixed cost, in cycles."""

    compute: Floats
    memory: Floats
    """Beats read: data, as if windows reached nowhere over the edge, and instructions."""

    @property
    def cycles(self) -> Floats:
        """What neither can go below."""
        return np.maximum(self.compute, self.memory)


def least_work(operator: GemmOperator, loops: Loops, inp_kept: Bools, wgt_kept: Bools, hw: HardwareConfig) -> LeastWork:
    """What tilings take at least. `inp_kept`: input stays on chip for all channel tiles; `wgt_kept`: weights for all places."""
    inp_loads, wgt_loads = _loads(loops, inp_kept, wgt_kept)
    passes = passes_per_row(operator)
    instructions = loops.tiles * loops.steps + inp_loads + wgt_loads + loops.tiles * (passes + 1)
    moved = inp_loads * loops.inp * hw.elem_bytes(MemoryType.INP) + wgt_loads * loops.wgt * hw.elem_bytes(MemoryType.WGT)
    compute = loops.tiles * loops.out * (operator.main_term.products_per_row + passes)
    return LeastWork(compute.astype(np.float64), (moved + instructions * INSTRUCTION_BYTES) / hw.platform.bus_bytes)
