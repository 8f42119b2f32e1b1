"""The template of operators that multiply: one tile of the output after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, product, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.oracles.emitter.loop_nest import Uop
from tests.oracles.emitter.output_padding import emit_output_padding
from tests.oracles.emitter.slots import Slots
from tests.oracles.emitter.sparse import sparse_fold
from tests.oracles.emitter.stream import NO_LOOP, OracleStream
from tests.oracles.emitter.window import overlaps
from vta.codegen.box import Box
from vta.codegen.stream import Loop, Segment
from vta.config.targets import MemoryType
from vta.isa.instruction import GEMM_REQUANTIZES, REQUANTIZE_KEEP, REQUANTIZE_TABLE, REQUANTIZE_WIDE, AluOp
from vta.schedule.cut import step_blocks, step_kernel
from vta.schedule.resources import Buffers, resources
from vta.schedule.schedule import Schedule
from vta.tile.access_map import AccessMap, access_maps, max_rows, rows_read
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit, kept_blocks
from vta.tile.operator import Tensor
from vta.tile.step import Branch, Immediate, Join, PerChannel, Requantization, Step, TensorOperand

__all__ = ["emit_gemm"]

_FINISHED_PLACES = 8
"""From so many places on, the last products of a tile requantize."""


class ReductionStep(NamedTuple):
    """A box of the reduction: input channel blocks (of the tile, in a diagonal term) and kernel positions."""

    block: int
    blocks: int
    kh: int
    kh_count: int
    kw: int
    kw_count: int


def emit_gemm(stream: OracleStream, operator: GemmOperator, schedule: Schedule, addresses: Mapping[str, int]) -> None:
    """Emit the whole operator into `stream`; `addresses` gives the arena element where each memory starts."""
    _Emitter(stream, operator.laid_out(schedule), schedule, addresses).run()


class _Emitter:
    def __init__(self, stream: OracleStream, operator: GemmOperator, schedule: Schedule, addresses: Mapping[str, int]) -> None:
        self.stream = stream
        self.operator = operator
        self.schedule = schedule
        self.addresses = addresses
        self._need = need = resources(operator, schedule, Buffers.of(stream.hw))
        self._inp = Slots(0, need.inp_slot, schedule.inp_slots)
        self._wgt = Slots(need.wgt_fixed, need.wgt_slot, schedule.wgt_slots)
        self._acc_slot = -1
        self._vectors_at = -1
        self._fixed_at: dict[int, tuple[int, int]] = {}
        self._fixed_base: dict[int, int] = {}
        self._weights: dict[tuple[object, ...], tuple[int, int]] = {}
        self._vectors = [self._vector_constant(values) for values in operator.vectors]
        self._initialized = [0] * schedule.acc_slots
        dilated = any(term.source_dilation != (1, 1) for term in operator.terms)
        self._reaches_all = not dilated and not schedule.skip_padding
        self._copied: dict[int, int] = {}
        self._kept = -1
        base = 0
        for term in operator.terms:
            if term.diagonal and term.pointwise:
                self._fixed_base[id(term)] = base
                base += min(len(term.weights), schedule.tile_co)

    def run(self) -> None:
        padding = self.operator.output_padding
        if padding is not None:
            emit_output_padding(self.stream, padding, self.operator.output, self.addresses[padding.stored.memory.name])
        if self.operator.table is not None:
            first = self.stream.add_constant(self.operator.table, MemoryType.TABLE)
            self.stream.load(MemoryType.TABLE, 0, Segment.CONSTANTS, first, self.stream.hw.depth(MemoryType.TABLE))
        for index, tile in enumerate(self._tiles()):
            self.stream.tile = index
            self._emit_tile(tile)

    def _tiles(self) -> Iterator[Box]:
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
            yield Box(batch, block, row, column, blocks, height, width)

    def _emit_tile(self, tile: Box) -> None:
        self._acc_slot = (self._acc_slot + 1) % self.schedule.acc_slots
        acc = self._need.vectors + self._acc_slot * self._need.acc_slot
        self._load_vectors(tile)
        self._start(tile, acc)
        finishing = self._finishing_term()
        if finishing is not None and tile.positions >= _FINISHED_PLACES:
            self._finish(finishing, tile, acc)
            self._store(tile, acc)
            return
        missed = self._accumulate(self.operator.digits, tile, acc)
        if not self.operator.epilogue and (missed or not self._reaches_all):
            # A reset leaves the output rows undefined on some targets; a shift by 0 fills them.
            self._immediate(AluOp.SHR, 0, tile, acc)
        self._apply(self.operator.epilogue, tile, acc, count(self._first_vector))
        self._store(tile, acc)

    def _finishing_term(self) -> GemmTerm | None:
        """The term whose last products requantize: the last one that reaches every row of a tile."""
        match self.operator.epilogue:
            case [Step(operand=Requantization(wide=False))]:
                fitting = [t for t in self.operator.digits[-1].terms if not t.sparse and t.source_dilation == (1, 1)]
                return fitting[-1] if fitting else None
        return None

    def _finish(self, finishing: GemmTerm, tile: Box, acc: int) -> None:
        """Add the products of a tile, and let the last ones of each channel block requantize."""
        *before, last = self.operator.digits
        others = tuple(term for term in last.terms if term is not finishing)
        self._accumulate((*before, replace(last, terms=others)), tile, acc)
        steps = [step for step in self._reduction_steps(finishing, tile) if self._is_inside(finishing, tile, step)]
        left = set(range(tile.blocks))
        for step, following in zip_longest(steps, steps[1:]):
            if following is None or (finishing.diagonal and following.block != step.block):
                left -= self._finish_step(finishing, tile, step, acc)
            else:
                self._reduce(finishing, tile, step, acc)
        for block in sorted(left):
            self._kept = -1
            self._requantize_block(tile, acc, block, Loop(tile.positions, 1, self._apart(tile)))

    def _is_inside(self, term: GemmTerm, tile: Box, step: ReductionStep) -> bool:
        return overlaps(_window(term, tile, step), term.source)

    def _finish_step(self, term: GemmTerm, tile: Box, step: ReductionStep, acc: int) -> set[int]:
        """The products of a step, those of a place one after the other; returns the channel blocks that are requantized."""
        window, kernel = _window(term, tile, step), term.kernel_blocks(step.kh_count, step.kw_count)
        wgt, inp = self._weight_rows(term, tile, step), self._input_rows(term, window)
        loops = (
            Loop(tile.height, tile.width, term.strides[0] * window.width),
            Loop(tile.width, 1, term.strides[1]),
        )
        blocks = range(step.blocks if term.diagonal else tile.blocks)
        first = step.block if term.diagonal else 0
        for block in blocks:
            self._keep(tile, acc, first + block)
            uops = []
            for source in (block,) if term.diagonal else range(step.blocks):
                if term.diagonal:
                    row = 0 if len(term.weights) == 1 else block
                else:
                    row = block * step.blocks + source if term.computed is None else source * tile.blocks + block
                for kh, kw in product(range(step.kh_count), range(step.kw_count)):
                    place = (source * window.height + kh * term.dilation[0]) * window.width + kw * term.dilation[1]
                    weight = row * kernel + (0 if term.window else kh * step.kw_count + kw)
                    uops.append((acc + (first + block) * tile.positions, inp + place, wgt + weight))
            self.stream.gemm(tuple(uops), *loops, is_transfer=term.is_transfer, taps=term.taps, flags=GEMM_REQUANTIZES)
        return {first + block for block in blocks}

    def _keep(self, tile: Box, acc: int, block: int) -> None:
        """Have the parameters of a channel block of a tile read, unless they were read last."""
        if self._kept != tile.block + block:
            self._kept = tile.block + block
            self._requantize_block(tile, acc, block, Loop(1, 0, self._apart(tile)), REQUANTIZE_KEEP)

    def _requantize_block(self, tile: Box, acc: int, block: int, places: Loop, flags: int = 0) -> None:
        flags |= REQUANTIZE_TABLE if self.operator.table is not None else 0
        uop = acc + block * tile.positions, self._vector_row(self._first_vector, tile) + block, 0
        self.stream.requantize((uop,), NO_LOOP, places, flags)

    @property
    def _first_vector(self) -> int:
        return 0 if self.operator.accumulator_init is None else 1

    def _apart(self, tile: Box) -> int:
        """How far the rows of the parameters of a channel block lie apart."""
        return self._vector_row(1, tile) - self._vector_row(0, tile)

    def _apply(self, steps: tuple[Step, ...], tile: Box, acc: int, vectors: Iterator[int]) -> None:
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
                    self._apply(branch.steps, tile, scratch, vectors)
                case Join(slot):
                    self._combine(step.op, tile, acc, self._scratch(acc, slot))
                case Requantization() as operand:
                    first, _, _ = (next(vectors) for _ in operand.vectors)
                    self._requantize(operand, tile, acc, first)
                case TensorOperand(digits) if step.joins_products:
                    self._accumulate(digits, tile, acc)
                case TensorOperand(digits, steps):
                    scratch = self._scratch(acc, 0)
                    self._reset(tile, scratch)
                    self._accumulate(digits, tile, scratch)
                    self._apply(steps, tile, scratch, vectors)
                    self._combine(step.op, tile, acc, scratch)

    def _scratch(self, acc: int, slot: int) -> int:
        """The first of the rows beside a tile from `acc` on that a slot has."""
        return acc + self._need.acc_tile * (1 + slot)

    def _combine(self, op: AluOp, tile: Box, acc: int, other: int) -> None:
        self.stream.alu(op, ((acc, other, 0),), inner=Loop(tile.rows, 1, 1))

    def _copy(self, branch: Branch, tile: Box, acc: int, scratch: int) -> None:
        """Copy the rows of a tile for a branch."""
        elided = branch.copy_elided and self._copied.get(scratch, 0) >= tile.rows
        if not elided:
            self._reset(tile, scratch)
        self._copied[scratch] = max(self._copied.get(scratch, 0), tile.rows)
        self._combine(AluOp.MAX if elided else AluOp.ADD, tile, scratch, acc)

    def _store(self, tile: Box, acc: int) -> None:
        stored, padding = self.operator.stored, self.operator.output_padding
        place = tile if padding is None else tile._replace(row=tile.row + padding.top, column=tile.column + padding.left)
        address = self.addresses[stored.memory.name]
        for plane in range(stored.planes):
            if plane:
                self._immediate(AluOp.SHR, 8, tile, acc)
            self.stream.store_tile(stored, address + plane * stored.elements, place, acc)

    def _start(self, tile: Box, acc: int) -> None:
        """Give the accumulator rows of a tile the values that they start from."""
        initializes = self.operator.accumulator_init is not None
        left = initializes or self.operator.leaves_zeros
        if not left or self._initialized[self._acc_slot] < tile.rows:
            self._reset(tile, acc)
        if left:
            self._initialized[self._acc_slot] = max(self._initialized[self._acc_slot], tile.rows)
        if initializes:
            self._vector_step(AluOp.MAX, tile, acc, 0)

    def _reset(self, tile: Box, acc: int) -> None:
        self.stream.gemm(((acc, 0, 0),), inner=Loop(tile.rows, 1, 0), reset=True)

    def _immediate(self, op: AluOp, value: int, tile: Box, acc: int) -> None:
        self.stream.alu(op, ((acc, acc, 0),), inner=Loop(tile.rows, 1, 1), imm=value)

    def _vector_row(self, number: int, tile: Box) -> int:
        """The accumulator row of a per-channel constant that belongs to the tile's first channel block."""
        whole = self._need.vectors_whole
        return number * self.operator.output.blocks + tile.block if whole else number * tile.blocks

    def _phase_steps(self, op: AluOp, phases: tuple[int, int], tile: Box, acc: int, vectors: Iterator[int]) -> None:
        """One step on the outputs of each phase, which lie `phases` rows and columns apart."""
        down, across = phases
        for y, x in product(range(down), range(across)):
            row = self._vector_row(next(vectors), tile)
            top, left = (y - tile.row) % down, (x - tile.column) % across
            rows, columns = -(-(tile.height - top) // down), -(-(tile.width - left) // across)
            if rows < 1 or columns < 1:
                continue
            nest = Loop(tile.blocks, tile.positions, 1), Loop(rows, down * tile.width), Loop(columns, across)
            self.stream.alu_nest(op, nest, (acc + top * tile.width + left, row, 0))

    def _vector_step(self, op: AluOp, tile: Box, acc: int, number: int) -> None:
        row = self._vector_row(number, tile)
        outer = Loop(tile.blocks, tile.positions if tile.blocks > 1 else 0, 1 if tile.blocks > 1 else 0)
        self.stream.alu(op, ((acc, row, 0),), outer, Loop(tile.positions, 1, 0))

    def _requantize(self, operand: Requantization, tile: Box, acc: int, number: int) -> None:
        row, apart = self._vector_row(number, tile), self._apart(tile)
        self._kept = -1
        outer = Loop(tile.blocks, tile.positions if tile.blocks > 1 else 0, 1 if tile.blocks > 1 else 0)
        flags = REQUANTIZE_WIDE if operand.wide else REQUANTIZE_TABLE if operand.table is not None else 0
        self.stream.requantize(((acc, row, 0),), outer, Loop(tile.positions, 1, apart), flags)

    def _load_vectors(self, tile: Box) -> None:
        """Bring the per-channel constants that the tile needs into their accumulator rows."""
        wanted = 0 if self._need.vectors_whole else tile.block
        if not self._vectors or self._vectors_at == wanted:
            return
        self._vectors_at = wanted
        # One after the other in memory, so that one load brings all.
        first, blocks, number = self._vectors[0], self.operator.output.blocks, len(self._vectors)
        if self._need.vectors_whole:
            self.stream.load(MemoryType.ACC, 0, Segment.CONSTANTS, first, number * blocks)
        else:
            self.stream.load(MemoryType.ACC, 0, Segment.CONSTANTS, first + tile.block, tile.blocks, number, blocks)

    def _vector_constant(self, operand: NDArray[np.int64]) -> int:
        """Append a per-channel constant to the image, each block repeated for every row of BATCH."""
        hw, blocks = self.stream.hw, self.operator.output.blocks
        values = np.zeros(blocks * hw.block, dtype=np.int64)
        values[: len(operand)] = operand
        rows = np.repeat(values.reshape(blocks, 1, hw.block), hw.batch, axis=1)
        return self.stream.add_constant(rows.astype(f"<i{hw.acc_bits // 8}"), MemoryType.ACC)

    def _accumulate(self, digits: tuple[RadixDigit, ...], tile: Box, acc: int) -> set[int]:
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

    def _reduction_steps(self, term: GemmTerm, tile: Box) -> Iterator[ReductionStep]:
        kh, kw = step_kernel(term, self.schedule)
        height, width = max_rows(term, 0, tile.height, kh), max_rows(term, 1, tile.width, kw)
        total = tile.blocks if term.diagonal else term.source.blocks
        blocks = step_blocks(term, self.schedule)
        if term.diagonal:
            blocks = max(1, min(blocks, self._need.inp_slot // (height * width)))
        for block in range(0, total, blocks):
            for row in range(0, term.kernel[0], kh):
                for column in range(0, term.kernel[1], kw):
                    rows, columns = min(kh, term.kernel[0] - row), min(kw, term.kernel[1] - column)
                    yield ReductionStep(block, min(blocks, total - block), row, rows, column, columns)

    def _reduce(self, term: GemmTerm, tile: Box, step: ReductionStep, acc: int) -> Sequence[int]:
        """Add the products of one step; returns the channel blocks of the tile that these write to."""
        axes = _ranges(tile, step)
        window = _window(term, tile, step)
        written = self._written_blocks(term, tile, step) if overlaps(window, term.source) else ()
        if not written:
            return written
        wgt = self._weight_rows(term, tile, step)
        inp = self._input_rows(term, window)
        if _keeps_blocks(term):
            self._emit_kept(term, tile, step, (acc, inp, wgt), window)
            return written
        maps = (
            access_maps(term, axis, outputs=outputs, kernel=kernel, skip_padding=self.schedule.skip_padding)
            for axis, (outputs, kernel) in enumerate(axes)
        )
        first = acc + (step.block * tile.positions if term.diagonal else 0)
        for box in product(*maps):
            nest, (dst, src, weight) = self._nest(term, tile, step, box, window)
            self.stream.gemm_nest(nest, (first + dst, inp + src, wgt + weight), is_transfer=term.is_transfer, taps=term.taps)
        return written

    def _written_blocks(self, term: GemmTerm, tile: Box, step: ReductionStep) -> Sequence[int]:
        """The channel blocks of a tile that the products of a step add to: fewer than it has where weights are left out."""
        every = range(step.block, step.block + step.blocks) if term.diagonal else range(tile.blocks)
        if not term.sparse:
            return every
        kept = kept_blocks(self._step_weights(term, tile, step))[:, 0]
        if _keeps_blocks(term):
            return sorted({(step.block if term.diagonal else 0) + int(block) for block in kept})
        return every if len(kept) else ()

    def _emit_kept(self, term: GemmTerm, tile: Box, step: ReductionStep, base: Uop, window: Box) -> None:
        """The products of a step with the weight blocks that are not zero, which are the only ones on chip."""
        (down, across), (step_down, step_across) = term.strides, term.dilation
        uops: list[Uop] = []
        for out, source, kh, kw in kept_blocks(self._step_weights(term, tile, step)).tolist():
            row = (out if term.diagonal else source) * window.height + kh * step_down
            dst = base[0] + (out + step.block if term.diagonal else out) * tile.positions
            uops.append((dst, base[1] + row * window.width + kw * step_across, base[2] + len(uops)))
        loops = Loop(tile.height, tile.width, down * window.width), Loop(tile.width, 1, across)
        for part in sparse_fold(uops, *loops, self.stream.hw):
            self.stream.gemm(*part, is_transfer=term.is_transfer)

    @staticmethod
    def _nest(
        term: GemmTerm, tile: Box, step: ReductionStep, box: tuple[AccessMap, AccessMap], window: Box
    ) -> tuple[tuple[Loop, ...], Uop]:
        """The loops of one box of a reduction step, and where they start."""
        shared = term.diagonal and len(term.weights) == 1
        kernel = term.kernel_blocks(step.kh_count, step.kw_count)
        rows, columns = box
        width, plane = window.width, window.positions
        kernel_down, kernel_across = (0, 0) if term.window else (step.kw_count, 1)
        spatial = (
            Loop(rows.output_count, rows.output_step * tile.width, rows.row_per_output * width),
            Loop(columns.output_count, columns.output_step, columns.row_per_output),
            Loop(rows.kernel_count, 0, rows.row_per_kernel * width, rows.kernel_step * kernel_down),
            Loop(columns.kernel_count, 0, columns.row_per_kernel, columns.kernel_step * kernel_across),
        )
        base = (
            rows.output * tile.width + columns.output,
            rows.row * width + columns.row,
            rows.kernel * kernel_down + columns.kernel * kernel_across,
        )
        if term.diagonal:
            return (Loop(step.blocks, tile.positions, plane, 0 if shared else kernel), *spatial), base
        next_in, next_out = (kernel, step.blocks * kernel) if term.computed is None else (tile.blocks, 1)
        channels = (Loop(step.blocks, 0, plane, next_in), Loop(tile.blocks, tile.positions, 0, next_out))
        return (*channels, *spatial), base

    def _input_rows(self, term: GemmTerm, window: Box) -> int:
        key = term.source.name, window
        found = self._inp.find(key)
        if found is None:
            found = self._inp.take(key)
            self.stream.load_window(term.source, self.addresses[term.source.memory.name], window, found)
        return found

    def _weight_rows(self, term: GemmTerm, tile: Box, step: ReductionStep) -> int:
        if term.diagonal and term.pointwise:
            return self._fixed_weight_rows(term, tile, step)
        if term.computed is not None:
            return self._computed_weight_rows(term, term.computed, tile, step)
        block = 0 if len(term.weights) == 1 else tile.block
        key = id(term), block, *step
        found = self._wgt.find(key)
        if found is None:
            found = self._wgt.take(key)
            weights = self._step_weights(term, tile, step)
            self._load_weights(key, found, weights[tuple(kept_blocks(weights).T)] if _keeps_blocks(term) else weights)
        return found

    def _computed_weight_rows(self, term: GemmTerm, tensor: Tensor, tile: Box, step: ReductionStep) -> int:
        """Weights that are a tensor: a block of channels after the other, of which each has the columns of the tile."""
        key = id(term), tile.batch, tile.block, step.block, step.blocks
        found = self._wgt.find(key)
        if found is None:
            found, lanes = self._wgt.take(key), self.stream.hw.block
            first = (self.addresses[tensor.memory.name] + tensor.index(tile.batch, step.block, 0, 0)) // lanes + tile.block
            self.stream.load(MemoryType.WGT, found, Segment.ARENA, first, tile.blocks, step.blocks, tensor.width // lanes)
        return found

    @staticmethod
    def _step_weights(term: GemmTerm, tile: Box, step: ReductionStep) -> NDArray[np.int8]:
        """The weight blocks of one reduction step."""
        if term.diagonal:
            first = 0 if len(term.weights) == 1 else tile.block + step.block
            out_blocks = slice(first, first + (1 if len(term.weights) == 1 else step.blocks))
            in_blocks = slice(0, 1)
        else:
            out_blocks = slice(tile.block, tile.block + tile.blocks)
            in_blocks = slice(step.block, step.block + step.blocks)
        kernel = slice(step.kh, step.kh + step.kh_count), slice(step.kw, step.kw + step.kw_count)
        if term.window:
            kernel = slice(0, 1), slice(0, 1)
        return np.asarray(term.weights[out_blocks, in_blocks, kernel[0], kernel[1]])

    def _fixed_weight_rows(self, term: GemmTerm, tile: Box, step: ReductionStep) -> int:
        """Weights of a pointwise diagonal term stay in rows of their own while the channel tile stays the same."""
        base = self._fixed_base[id(term)]
        shared = len(term.weights) == 1
        first = 0 if shared else tile.block
        wanted = first, 1 if shared else tile.blocks
        if self._fixed_at.get(id(term)) != wanted:
            self._fixed_at[id(term)] = wanted
            self._load_weights((id(term), *wanted), base, term.weights[first : first + wanted[1]])
        return base if shared else base + step.block

    def _load_weights(self, key: tuple[object, ...], sram: int, weights: NDArray[np.int8]) -> None:
        if key not in self._weights:
            blocks = weights.size // (self.stream.hw.block**2)
            self._weights[key] = self.stream.add_constant(weights, MemoryType.WGT), blocks
        index, blocks = self._weights[key]
        self.stream.load(MemoryType.WGT, sram, Segment.CONSTANTS, index, blocks)


def _ranges(tile: Box, step: ReductionStep) -> tuple[tuple[range, range], tuple[range, range]]:
    """Outputs and kernel positions of a step, of rows and of columns."""
    rows = range(tile.row, tile.row + tile.height), range(step.kh, step.kh + step.kh_count)
    columns = range(tile.column, tile.column + tile.width), range(step.kw, step.kw + step.kw_count)
    return rows, columns


def _window(term: GemmTerm, tile: Box, step: ReductionStep) -> Box:
    """What the products of a step read."""
    axes = enumerate(_ranges(tile, step))
    rows, columns = (rows_read(term, axis, outputs=outputs, kernel=kernel) for axis, (outputs, kernel) in axes)
    first = step.block + (tile.block if term.diagonal else 0)
    return Box(tile.batch, first, rows.start, columns.start, step.blocks, len(rows), len(columns))


def _keeps_blocks(term: GemmTerm) -> bool:
    """Whether only the weight blocks of a term that are not zero are loaded and multiplied with."""
    return term.sparse and not (term.diagonal and term.pointwise) and term.source_dilation == (1, 1)
