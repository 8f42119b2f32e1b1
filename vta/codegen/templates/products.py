"""The template of tile operators: convolution, dense, sum pooling and element-wise chains, one tile after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vta.codegen.loop_nest import Dim, Folded, fold, single_uop
from vta.codegen.output_padding import emit_output_padding
from vta.codegen.slots import Slots
from vta.codegen.sparse import sparse_fold
from vta.codegen.stream import Loop, Segment, Stream
from vta.codegen.templates.emission import emit_operator
from vta.codegen.window import Window, load_window
from vta.config.targets import MemoryType
from vta.isa.instruction import AluOp
from vta.schedule.cut import step_blocks, step_kernel
from vta.schedule.resources import Buffers, resources
from vta.schedule.schedule import Schedule
from vta.tile.access_map import AccessMap, access_maps, max_rows, rows_read
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit, kept_blocks
from vta.tile.operator import Tensor
from vta.tile.step import Branch, Immediate, Join, PerChannel, Step, TensorOperand

__all__ = ["Tile", "store_tile"]


class Tile(NamedTuple):
    """A box of the output: first index and size along each axis."""

    batch: int
    block: int
    row: int
    column: int
    blocks: int
    height: int
    width: int

    @property
    def positions(self) -> int:
        """Rows and columns of one channel block."""
        return self.height * self.width

    @property
    def rows(self) -> int:
        """Accumulator rows: [blocks][height][width]."""
        return self.blocks * self.positions


class ReductionStep(NamedTuple):
    """A box of the reduction: input channel blocks (of the tile, in a diagonal term) and kernel positions."""

    block: int
    blocks: int
    kh: int
    kh_count: int
    kw: int
    kw_count: int


@emit_operator.register
def _(operator: GemmOperator, stream: Stream, addresses: Mapping[str, int], schedule: Schedule | None) -> None:
    assert schedule is not None, "every operator of products has a schedule"
    _Emitter(stream, operator.laid_out(schedule), schedule, addresses).run()


def store_tile(stream: Stream, sram: int, tensor: Tensor, address: int, tile: Tile) -> None:
    """Emit the STOREs of a tile that lies densely in output rows from `sram` on."""
    plane = tensor.height * tensor.width
    start = address + tensor.index(tile.batch, tile.block, tile.row, tile.column)
    if (tile.width == tensor.width or tile.height == 1) and (plane < 1 << 16 or tile.blocks == 1):
        stream.store(sram, start, tile.positions, tile.blocks, min(plane, (1 << 16) - 1))
        return
    for block in range(tile.blocks):
        stride = tensor.width if tile.height > 1 else tile.width
        stream.store(sram + block * tile.positions, start + block * plane, tile.width, tile.height, stride)


@dataclass
class _Emitter:
    stream: Stream
    operator: GemmOperator
    schedule: Schedule
    addresses: Mapping[str, int]

    def __post_init__(self) -> None:
        need = resources(self.operator, self.schedule, Buffers.of(self.stream.hw))
        schedule = self.schedule
        self._need = need
        self._inp = Slots(0, need.inp_slot, schedule.inp_slots)
        self._wgt = Slots(need.wgt_fixed, need.wgt_slot, schedule.wgt_slots)
        self._acc_slot = -1
        self._vectors_at = -1
        self._fixed_at: dict[int, tuple[int, int]] = {}
        self._fixed_base: dict[int, int] = {}
        self._nests: dict[tuple[object, ...], list[Folded]] = {}
        self._weights: dict[tuple[object, ...], tuple[int, int]] = {}
        self._vectors = [self._vector_constant(values) for values in self.operator.vectors]
        self._settled = [0] * schedule.acc_slots
        dilated = any(term.source_dilation != (1, 1) for term in self.operator.terms)
        self._reaches_all = not dilated and not schedule.skip_padding
        self._written: dict[tuple[object, ...], Sequence[int]] = {}
        self._copied: dict[int, int] = {}
        self._accesses: dict[tuple[int, int, tuple[int, int, int, int]], tuple[range, tuple[AccessMap, ...]]] = {}
        base = 0
        for term in self.operator.terms:
            if term.diagonal and term.pointwise:
                self._fixed_base[id(term)] = base
                base += min(len(term.weights), schedule.tile_co)

    def run(self) -> None:
        padding = self.operator.output_padding
        if padding is not None:
            emit_output_padding(self.stream, padding, self.operator.output, self.addresses[padding.stored.memory.name])
        for index, tile in enumerate(self._tiles()):
            self.stream.tile = index
            self._emit_tile(tile)

    def _tiles(self) -> Iterator[Tile]:
        out, schedule = self.operator.output, self.schedule
        channels = [(at, min(schedule.tile_co, out.blocks - at)) for at in range(0, out.blocks, schedule.tile_co)]
        rows = [(at, min(schedule.tile_h, out.height - at)) for at in range(0, out.height, schedule.tile_h)]
        columns = [(at, min(schedule.tile_w, out.width - at)) for at in range(0, out.width, schedule.tile_w)]
        places = list(product(range(out.batch), rows, columns))
        if schedule.weights_outer:
            order = ((place, channel) for channel in channels for place in places)
        else:
            order = ((place, channel) for place in places for channel in channels)
        for (batch, (row, height), (column, width)), (block, blocks) in order:
            yield Tile(batch, block, row, column, blocks, height, width)

    def _emit_tile(self, tile: Tile) -> None:
        self._acc_slot = (self._acc_slot + 1) % self.schedule.acc_slots
        acc = self._need.vectors + self._acc_slot * self._need.acc_slot
        self._load_vectors(tile)
        self._start(tile, acc)
        missed = self._accumulate(self.operator.digits, tile, acc)
        if not self.operator.epilogue and (missed or not self._reaches_all):
            # A reset leaves the output rows undefined on some targets; a shift by 0 fills them.
            self._immediate(AluOp.SHR, 0, tile, acc)
        first = 0 if self.operator.accumulator_init is None else 1
        self._emit_steps(self.operator.epilogue, tile, acc, count(first))
        self._store(tile, acc)

    def _emit_steps(self, steps: tuple[Step, ...], tile: Tile, acc: int, vectors: Iterator[int]) -> None:
        """Apply `steps` to the rows of a tile from `acc` on; `vectors` numbers the per-channel constants as they are met."""
        for step in steps:
            match step.operand:
                case PerChannel() as operand if operand.has_phases:
                    self._phase_steps(step.op, operand.phases, tile, acc, vectors)
                case PerChannel():
                    self._vector_step(step.op, tile, acc, next(vectors))
                case Immediate(value):
                    self._immediate(step.op, value, tile, acc)
                case Branch() as branch:
                    scratch = self._scratch(acc, branch.slot)
                    self._copy(branch, tile, acc, scratch)
                    self._emit_steps(branch.steps, tile, scratch, vectors)
                case Join(slot):
                    self._combine(step.op, tile, acc, self._scratch(acc, slot))
                case TensorOperand(digits) if step.joins_products:
                    self._accumulate(digits, tile, acc)
                case TensorOperand(digits):
                    scratch = self._scratch(acc, 0)
                    self._reset(tile, scratch)
                    self._accumulate(digits, tile, scratch)
                    self._combine(step.op, tile, acc, scratch)

    def _scratch(self, acc: int, slot: int) -> int:
        """The first of the rows beside a tile from `acc` on that a slot has."""
        return acc + self._need.acc_tile * (1 + slot)

    def _combine(self, op: AluOp, tile: Tile, acc: int, other: int) -> None:
        self.stream.alu(op, single_uop(acc, other), inner=Loop(tile.rows, 1, 1))

    def _copy(self, branch: Branch, tile: Tile, acc: int, scratch: int) -> None:
        """Copy the rows of a tile for a branch."""
        settled = branch.copy_elided and self._copied.get(scratch, 0) >= tile.rows
        if not settled:
            self._reset(tile, scratch)
        self._copied[scratch] = max(self._copied.get(scratch, 0), tile.rows)
        self.stream.alu(AluOp.MAX if settled else AluOp.ADD, single_uop(scratch, acc), inner=Loop(tile.rows, 1, 1))

    def _store(self, tile: Tile, acc: int) -> None:
        stored, padding = self.operator.stored, self.operator.output_padding
        place = tile if padding is None else tile._replace(row=tile.row + padding.top, column=tile.column + padding.left)
        address = self.addresses[stored.memory.name]
        for plane in range(stored.planes):
            if plane:
                self._immediate(AluOp.SHR, 8, tile, acc)
            store_tile(self.stream, acc, stored, address + plane * stored.elements, place)

    def _start(self, tile: Tile, acc: int) -> None:
        """Give the accumulator rows of a tile the values that they start from."""
        if self.operator.accumulator_init is None or self._settled[self._acc_slot] < tile.rows:
            self._reset(tile, acc)
        if self.operator.accumulator_init is not None:
            self._settled[self._acc_slot] = max(self._settled[self._acc_slot], tile.rows)
            self._vector_step(AluOp.MAX, tile, acc, 0)

    def _reset(self, tile: Tile, acc: int) -> None:
        self.stream.gemm(single_uop(acc), inner=Loop(tile.rows, 1, 0), reset=True)

    def _immediate(self, op: AluOp, value: int, tile: Tile, acc: int) -> None:
        self.stream.alu(op, single_uop(acc, acc), inner=Loop(tile.rows, 1, 1), imm=value)

    def _vector_row(self, number: int, tile: Tile) -> int:
        """The accumulator row of a per-channel constant that belongs to the tile's first channel block."""
        whole = self._need.vectors_whole
        return number * self.operator.output.blocks + tile.block if whole else number * tile.blocks

    def _phase_steps(self, op: AluOp, phases: tuple[int, int], tile: Tile, acc: int, vectors: Iterator[int]) -> None:
        """One step on the outputs of each phase, which lie `phases` rows and columns apart."""
        down, across = phases
        for y, x in product(range(down), range(across)):
            row = self._vector_row(next(vectors), tile)
            top, left = (y - tile.row) % down, (x - tile.column) % across
            rows, columns = -(-(tile.height - top) // down), -(-(tile.width - left) // across)
            if rows < 1 or columns < 1:
                continue
            nest = Dim(tile.blocks, tile.positions, 1), Dim(rows, down * tile.width), Dim(columns, across)
            base = acc + top * tile.width + left, row, 0
            for folded in self.stream.folded(("phase", nest, base), partial(fold, nest, base, self.stream.hw, alu=True)):
                self.stream.alu(op, *folded)

    def _vector_step(self, op: AluOp, tile: Tile, acc: int, number: int) -> None:
        row = self._vector_row(number, tile)
        outer = Loop(tile.blocks, tile.positions if tile.blocks > 1 else 0, 1 if tile.blocks > 1 else 0)
        self.stream.alu(op, single_uop(acc, row), outer, Loop(tile.positions, 1, 0))

    def _load_vectors(self, tile: Tile) -> None:
        """Bring the per-channel constants that the tile needs into their accumulator rows."""
        wanted = 0 if self._need.vectors_whole else tile.block
        if not self._vectors or self._vectors_at == wanted:
            return
        self._vectors_at = wanted
        # One after the other in memory, so that one load brings all.
        blocks, count = self.operator.output.blocks, len(self._vectors)
        if self._need.vectors_whole:
            self.stream.load(MemoryType.ACC, 0, Segment.CONSTANTS, self._vectors[0], count * blocks)
        else:
            self.stream.load(MemoryType.ACC, 0, Segment.CONSTANTS, self._vectors[0] + tile.block, tile.blocks, count, blocks)

    def _vector_constant(self, operand: NDArray[np.int64]) -> int:
        """Append a per-channel constant to the image, each block repeated for every row of BATCH."""
        hw, blocks = self.stream.hw, self.operator.output.blocks
        values = np.zeros(blocks * hw.block, dtype=np.int64)
        values[: len(operand)] = operand
        rows = np.repeat(values.reshape(blocks, 1, hw.block), hw.batch, axis=1)
        return self.stream.add_constant(rows.astype(f"<i{hw.acc_bits // 8}"), MemoryType.ACC)

    def _accumulate(self, digits: tuple[RadixDigit, ...], tile: Tile, acc: int) -> set[int]:
        """Add the digits to rows from `acc` on; returns the channel blocks of the tile that nothing was written to."""
        missed = set(range(tile.blocks))
        for digit in digits:
            if digit.shift:
                self._immediate(AluOp.SHR, -digit.shift, tile, acc)
                missed.clear()
            for term in digit.terms:
                for step in self._reduction_steps(term, tile):
                    missed.difference_update(self._reduce(term, tile, step, acc))
        return missed

    def _reduction_steps(self, term: GemmTerm, tile: Tile) -> Iterator[ReductionStep]:
        kh, kw = step_kernel(term, self.schedule)
        height, width = max_rows(term, 0, tile.height, kh), max_rows(term, 1, tile.width, kw)
        total = tile.blocks if term.diagonal else term.source.blocks
        blocks = step_blocks(term, self.schedule)
        if term.diagonal:
            blocks = max(1, min(blocks, self._need.inp_slot // (height * width)))
        for block in range(0, total, blocks):
            for row in range(0, term.kernel[0], kh):
                for column in range(0, term.kernel[1], kw):
                    yield ReductionStep(
                        block,
                        min(blocks, total - block),
                        row,
                        min(kh, term.kernel[0] - row),
                        column,
                        min(kw, term.kernel[1] - column),
                    )

    def _reduce(self, term: GemmTerm, tile: Tile, step: ReductionStep, acc: int) -> Sequence[int]:
        """Add the products of one step; returns the channel blocks of the tile that these write to."""
        down, rows = self._access(term, 0, (tile.row, tile.height, step.kh, step.kh_count))
        across, columns = self._access(term, 1, (tile.column, tile.width, step.kw, step.kw_count))
        first = step.block + (tile.block if term.diagonal else 0)
        window = Window(tile.batch, first, step.blocks, down.start, across.start, len(down), len(across))
        written = self._written_blocks(term, tile, step) if window.overlaps(term.source) else ()
        if not written:
            return written
        wgt = self._weight_rows(term, tile, step)
        inp = self._input_rows(term, window)
        shape = tile[4:], window[5:], step.kh_count, step.kw_count
        which = (tile.block, *step) if term.sparse else (step.blocks, step.block if term.diagonal else 0)
        key = (id(term), *shape, which, rows, columns, acc, inp, wgt)
        if key not in self._nests and _keeps_blocks(term):
            self._nests[key] = self._sparse(term, tile, step, (acc, inp, wgt), window)
        if key not in self._nests:
            first = acc + (step.block * tile.positions if term.diagonal else 0)
            nests = [self._nest(term, tile, step, box, window) for box in product(rows, columns)]
            self._nests[key] = [
                folded
                for nest, (dst, src, weight) in nests
                for folded in fold(nest, (first + dst, inp + src, wgt + weight), self.stream.hw)
            ]
        for uops, outer, inner in self._nests[key]:
            self.stream.gemm(uops, outer, inner, moves=term.is_transfer)
        return written

    def _access(self, term: GemmTerm, axis: int, place: tuple[int, int, int, int]) -> tuple[range, tuple[AccessMap, ...]]:
        """What a tile and step read along an axis, and how; `place`: first output, outputs, first kernel position, positions.

        Kept, as tiles in a row or column have it in common.
        """
        key = id(term), axis, place
        if key not in self._accesses:
            output, outputs, position, positions = place
            spans = {"outputs": range(output, output + outputs), "kernel": range(position, position + positions)}
            maps = access_maps(term, axis, **spans, skip_padding=self.schedule.skip_padding)
            self._accesses[key] = rows_read(term, axis, **spans), maps
        return self._accesses[key]

    def _written_blocks(self, term: GemmTerm, tile: Tile, step: ReductionStep) -> Sequence[int]:
        """The channel blocks of a tile that the products of a step add to: fewer than it has where weights are left out."""
        every = range(step.block, step.block + step.blocks) if term.diagonal else range(tile.blocks)
        if not term.sparse:
            return every
        key = id(term), tile.block, tile.blocks, step
        if key not in self._written:
            kept = kept_blocks(self._step_weights(term, tile, step))[:, 0]
            if _keeps_blocks(term):
                self._written[key] = sorted({(step.block if term.diagonal else 0) + int(block) for block in kept})
            else:
                self._written[key] = every if len(kept) else ()
        return self._written[key]

    def _sparse(
        self, term: GemmTerm, tile: Tile, step: ReductionStep, base: tuple[int, int, int], window: Window
    ) -> list[Folded]:
        """The products of a step with the weight blocks that are not zero, which are the only ones on chip."""
        kept = kept_blocks(self._step_weights(term, tile, step))
        out, source, kh, kw = kept.T
        if term.diagonal:
            out, source = out + step.block, out
        (down, across), (step_down, step_across) = term.strides, term.dilation
        src = base[1] + (source * window.height + kh * step_down) * window.width + kw * step_across
        rows = np.stack([base[0] + out * tile.positions, src, base[2] + np.arange(len(kept))], axis=1)
        loops = Loop(tile.height, tile.width, down * window.width), Loop(tile.width, 1, across)
        return sparse_fold(rows, *loops, self.stream.hw)

    @staticmethod
    def _nest(
        term: GemmTerm, tile: Tile, step: ReductionStep, box: tuple[AccessMap, AccessMap], window: Window
    ) -> tuple[tuple[Dim, ...], tuple[int, int, int]]:
        """The loops of one box of a reduction step, and where they start."""
        shared = term.diagonal and len(term.weights) == 1
        kernel = term.kernel_blocks(step.kh_count, step.kw_count)
        rows, columns = box
        width, plane = window.width, window.height * window.width
        kernel_down, kernel_across = (0, 0) if term.window else (step.kw_count, 1)
        spatial = (
            Dim(rows.output_count, rows.output_step * tile.width, rows.row_per_output * width),
            Dim(columns.output_count, columns.output_step, columns.row_per_output),
            Dim(rows.kernel_count, 0, rows.row_per_kernel * width, rows.kernel_step * kernel_down),
            Dim(columns.kernel_count, 0, columns.row_per_kernel, columns.kernel_step * kernel_across),
        )
        base = (
            rows.output * tile.width + columns.output,
            rows.row * width + columns.row,
            rows.kernel * kernel_down + columns.kernel * kernel_across,
        )
        if term.diagonal:
            return (Dim(step.blocks, tile.positions, plane, 0 if shared else kernel), *spatial), base
        channels = (Dim(step.blocks, 0, plane, kernel), Dim(tile.blocks, tile.positions, 0, step.blocks * kernel))
        return (*channels, *spatial), base

    def _input_rows(self, term: GemmTerm, window: Window) -> int:
        key = (term.source.name, window)
        found = self._inp.find(key)
        if found is None:
            found = self._inp.take(key)
            load_window(self.stream, term.source, self.addresses[term.source.memory.name], window, found)
        return found

    def _weight_rows(self, term: GemmTerm, tile: Tile, step: ReductionStep) -> int:
        if term.diagonal and term.pointwise:
            return self._fixed_weight_rows(term, tile, step)
        block = 0 if len(term.weights) == 1 else tile.block
        key = (id(term), block, *step)
        found = self._wgt.find(key)
        if found is None:
            found = self._wgt.take(key)
            weights = self._step_weights(term, tile, step)
            self._load_weights(key, found, weights[tuple(kept_blocks(weights).T)] if _keeps_blocks(term) else weights)
        return found

    @staticmethod
    def _step_weights(term: GemmTerm, tile: Tile, step: ReductionStep) -> NDArray[np.int8]:
        """The weight blocks of one reduction step."""
        if term.diagonal:
            first = 0 if len(term.weights) == 1 else tile.block + step.block
            out_blocks = slice(first, first + (1 if len(term.weights) == 1 else step.blocks))
            in_blocks = slice(0, 1)
        else:
            out_blocks = slice(tile.block, tile.block + tile.blocks)
            in_blocks = slice(step.block, step.block + step.blocks)
        kernel = (slice(step.kh, step.kh + step.kh_count), slice(step.kw, step.kw + step.kw_count))
        if term.window:
            kernel = (slice(0, 1), slice(0, 1))
        return np.asarray(term.weights[out_blocks, in_blocks, kernel[0], kernel[1]])

    def _fixed_weight_rows(self, term: GemmTerm, tile: Tile, step: ReductionStep) -> int:
        """Weights of a pointwise diagonal term stay in rows of their own while the channel tile stays the same."""
        base = self._fixed_base[id(term)]
        shared = len(term.weights) == 1
        first = 0 if shared else tile.block
        wanted = (first, 1 if shared else tile.blocks)
        if self._fixed_at.get(id(term)) != wanted:
            self._fixed_at[id(term)] = wanted
            self._load_weights((id(term), *wanted), base, term.weights[first : first + wanted[1]])
        return base if shared else base + step.block

    def _load_weights(self, key: tuple[object, ...], sram: int, weights: NDArray[np.int8]) -> None:
        if key not in self._weights:
            count = weights.size // (self.stream.hw.block**2)
            self._weights[key] = (self.stream.add_constant(weights, MemoryType.WGT), count)
        index, count = self._weights[key]
        self.stream.load(MemoryType.WGT, sram, Segment.CONSTANTS, index, count)


def _keeps_blocks(term: GemmTerm) -> bool:
    """Whether only the weight blocks of a term that are not zero are loaded and multiplied with."""
    return term.sparse and not (term.diagonal and term.pointwise) and term.source_dilation == (1, 1)
