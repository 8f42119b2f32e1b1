"""What templates of statistics along rows have in common: rows of the accumulator by name, and steps on arrays of them.

A channel block of an image of one row lies in the accumulator place after place. What is found out about each
channel, such as the largest of its values, is one row a block; blocks are treated together, so such rows are arrays. The unit
multiplies by parameters that are rows, too: those that were computed like any others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vta.codegen.box import Box
from vta.codegen.stream import Loop, Segment, Stream, single_uop
from vta.codegen.templates.template import Rows, Template
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.ir import names as ops
from vta.ir.arithmetic.rows import Factor
from vta.ir.graph import attrs_of
from vta.ir.ops.quantized.rows import RowAttributes
from vta.isa.instruction import REQUANTIZE_WIDE, AluOp
from vta.partition.fused.fused_operator import FusedOperator
from vta.partition.fused.support_rules import Breach, support_rule
from vta.schedule.tile_sizes import Size
from vta.support.dataclass import dataclass

__all__ = ["ALONG_COLUMNS", "RowProgram", "RowTemplate", "factor_rows", "narrow_control", "rows_are_images", "wide_control"]

ALONG_COLUMNS = "along the columns of an image of one row, where the config has the requantize and table units"
"""When VTA runs operators of rows."""
_SHIFT_MASK, _LEFT_AT, _ZERO_POINT_AT, _LOW_AT, _HIGH_AT = 0x3F, 8, 8, 16, 24
_ROW_OPERATORS = (ops.QNN_NORMALIZE, ops.QNN_SOFTMAX_SHARES, ops.QNN_SOFTMAX_TERMS)


@support_rule(*_ROW_OPERATORS, by_config=True)
def rows_are_images(fused: FusedOperator, hw: HardwareConfig) -> Breach | None:
    """Values are normalised along the columns of an image of one row, with 32-bit accumulators, a requantize and a table unit."""
    anchor = fused.anchor
    shape, axis = anchor.shape, attrs_of(anchor, RowAttributes).axis
    if len(shape) != 4 or shape[2] != 1 or axis % len(shape) != 3:
        return Breach(anchor, f"axis {axis} of {anchor.type}")
    if any(source.value is None for source in anchor.inputs[1:]):
        return Breach(anchor, f"{anchor.inputs[1].name}, which is added and no constant")
    target = hw.capabilities
    units = target.requantize and target.table and target.multiply and hw.acc_bits == 32 and hw.batch == 1
    return None if units else Breach(anchor, hw.model)


def narrow_control(left: int, zero_point: int = 0) -> int:
    """The third row of parameters of a REQUANTIZE to int8 that shifts to the left before the product."""
    word = -left & _SHIFT_MASK | (zero_point & 0xFF) << _ZERO_POINT_AT | 0x80 << _LOW_AT | 0x7F << _HIGH_AT
    return word - (1 << 32) if word >> 31 else word


def factor_rows(factor: Factor, bias: int = 0) -> tuple[int, int, int]:
    """The parameters of a wide REQUANTIZE by a factor."""
    return bias, factor.multiplier, factor.left << _LEFT_AT


def wide_control(left: int) -> int:
    """The third row of parameters of a wide REQUANTIZE."""
    return left << _LEFT_AT


@dataclass(frozen=True, eq=False, kw_only=True)
class RowTemplate(Template):
    """An operator along the columns of an image of one row; tiles are blocks of channels, with all their columns."""

    @property
    def extents(self) -> Size:
        """Blocks alone are cut."""
        return self.source.blocks, 1, 1

    @property
    def least_need(self) -> str:
        """A block of channels."""
        return f"a block of channels of {self.source.width} columns does not fit the input and accumulator buffers"

    def tile_rows(self, tile: Size) -> Rows:
        """The values, and in the accumulator the arrays of statistics beside them."""
        values = tile[0] * self.source.width
        return Rows(values, values + tile[0] * self._arrays)

    def tile_size(self, hw: HardwareConfig) -> Size:
        """The largest that fits, but so small that tiles are loaded and stored while others are computed."""
        largest = super().tile_size(hw)
        return min(largest[0], -(-self.source.blocks // self._least_tiles)), 1, 1

    @property
    def _least_tiles(self) -> int:
        """How many tiles there are at least, if there are as many blocks: few where a tile takes long for its statistics."""
        return 2

    @property
    def _spare(self) -> int:
        """Rows that hold what is stored for columns that are not computed; 0 where all are."""
        return 0

    @property
    def _arrays(self) -> int:
        """How many rows a block the statistics take."""
        raise NotImplementedError

    def _identities(self) -> Sequence[int]:
        """The factors that values are multiplied by as they come into the accumulator, one block of weights each."""
        return (1,)

    def _constants(self) -> Sequence[int]:
        """The rows of constants that all tiles share, each of one value; they lie at the end of the accumulator."""
        raise NotImplementedError

    def _compute(self, program: RowProgram) -> None:
        """Emit what is done to a tile, whose values are in input rows."""
        raise NotImplementedError

    @property
    def _hidden(self) -> int:
        """What columns hold that are computed for no channel of a tile."""
        return 0

    def _visible(self, first: int, blocks: int) -> int:
        """How many columns are computed for `blocks` blocks, from `first` on, counted over all samples."""
        return self.source.width

    def _fits(self, tile: Size, copies: int, hw: HardwareConfig) -> bool:
        rows = self.tile_rows(tile)
        left = hw.depth(MemoryType.ACC) - len(self._constants()) - self._spare
        return copies * rows.inp <= hw.depth(MemoryType.INP) and copies * rows.acc <= left

    def _load_constants(self, stream: Stream) -> int:
        """Load weights and rows of constants; returns the first of the rows."""
        hw = stream.hw
        factors = [factor * np.eye(hw.block, dtype=np.int8) for factor in self._identities()]
        weights = stream.add_constant(np.stack(factors).astype(np.int8), MemoryType.WGT)
        stream.load(MemoryType.WGT, 0, Segment.CONSTANTS, weights, len(factors))
        values = np.repeat(np.array(self._constants(), np.int32)[:, None], hw.block, axis=1)
        first = hw.depth(MemoryType.ACC) - len(values)
        stream.load(MemoryType.ACC, first, Segment.CONSTANTS, stream.add_constant(values, MemoryType.ACC), len(values))
        return first

    def _add_beside(self, stream: Stream) -> Sequence[int]:
        """Add constants that lie beside values to those of the program; returns where each starts."""
        return ()

    def _load_beside(self, stream: Stream, beside: Sequence[int], first: int, blocks: int, width: int, inp: int) -> None:
        """Load what lies beside `width` columns of `blocks` blocks, from `first` on, into input rows from `inp` on."""

    def emit(self, stream: Stream, addresses: Mapping[str, int]) -> None:
        """Emit the whole operator; `addresses` gives the arena element where each memory starts."""
        source, output = self.source, self.output
        tile_size = self.tile_size(stream.hw)
        constants, beside = self._load_constants(stream), self._add_beside(stream)
        copies, rows = self.tile_copies(tile_size, stream.hw), self.tile_rows(tile_size)
        spare = constants - self._spare
        self._fill_spare(stream, spare)
        starts = [(batch, block) for batch in range(source.batch) for block in range(0, source.blocks, tile_size[0])]
        for number, (batch, block) in enumerate(starts):
            stream.tile, slot = number, number % copies
            blocks = min(tile_size[0], source.blocks - block)
            first = batch * source.blocks + block
            width = self._visible(first, blocks)
            box = Box(batch, block, 0, 0, blocks, 1, width)
            stream.load_window(source, addresses[source.memory.name], box, slot * rows.inp)
            self._load_beside(stream, beside, first, blocks, width, slot * rows.inp + blocks * width)
            # Where other tiles follow that may be larger, statistics lie behind the values of all.
            behind = tile_size[0] if self._spare or source.batch > 1 else blocks
            arrays = slot * rows.acc + behind * source.width
            program = RowProgram(stream, blocks, width, slot * rows.inp, slot * rows.acc, arrays, constants)
            if number < copies:
                # A tile that is requantized leaves zeros.
                program.clear(program.values, arrays - program.values)
            self._compute(program)
            stream.store_tile(output, addresses[output.memory.name], box, program.values)
            for hidden in range(width, source.width if self._spare else width, max(self._spare, 1)):
                columns = min(self._spare, source.width - hidden)
                for one in range(block, block + blocks):
                    box = Box(batch, one, 0, hidden, 1, 1, columns)
                    stream.store_tile(output, addresses[output.memory.name], box, spare)

    def _fill_spare(self, stream: Stream, spare: int) -> None:
        """Make rows of what is stored where nothing is computed."""
        if not self._spare:
            return
        stream.gemm(single_uop(spare), inner=Loop(self._spare, 1, 0), reset=True)
        # A reset leaves what is stored undefined.
        stream.alu(AluOp.ADD, single_uop(spare, spare), inner=Loop(self._spare, 1, 1), imm=self._hidden)


class RowProgram:
    """Emits steps on the values of a tile and on arrays of statistics, one row a block each."""

    def __init__(self, stream: Stream, blocks: int, width: int, inp: int, acc: int, arrays: int, constants: int) -> None:
        self.stream = stream
        self.values = acc
        """The first row of the values."""
        self.blocks, self.rows = blocks, blocks * width
        """Blocks of channels, and rows of values."""
        self._width, self._inp, self._constants = width, inp, constants
        self._arrays = self._next = arrays

    def arrays(self, count: int) -> list[int]:
        """Room for `count` arrays one after another; the first row of each."""
        first, self._next = self._next, self._next + count * self.blocks
        return [first + at * self.blocks for at in range(count)]

    def after(self, array: int) -> int:
        """The array that lies behind another one."""
        return array + self.blocks

    def constant(self, number: int) -> int:
        """The row of a constant."""
        return self._constants + number

    def clear(self, first: int, rows: int) -> None:
        """Set rows to zero."""
        self.stream.gemm(single_uop(first), inner=Loop(rows, 1, 0), reset=True)

    def clear_arrays(self) -> None:
        """Set all arrays that there are to zero."""
        self.clear(self._arrays, self._next - self._arrays)

    def clear_values(self) -> None:
        """Set the values to zero."""
        self.clear(self.values, self.rows)

    def bring(self, identity: int = 0, beside: int = 0) -> None:
        """Add what was loaded, times the factor of an identity, to the values: these, or one of the constants beside them."""
        inp = self._inp + beside * self.rows
        self.stream.gemm(single_uop(self.values, inp, identity), inner=Loop(self.rows, 1, 1), is_transfer=True)

    def add_up(self, array: int) -> None:
        """Add the sums of what was loaded to an array."""
        nest = Loop(self.blocks, 1, self._width), Loop(self._width, 0, 1)
        self.stream.gemm_nest(nest, (array, self._inp, 0), is_transfer=True)

    def gather(self, op: AluOp, array: int) -> None:
        """Let all values of each block meet a row of an array, one after the other."""
        outer, inner = Loop(self.blocks, 1, self._width), Loop(self._width, 0, 1)
        self.stream.alu(op, single_uop(array, self.values), outer, inner)

    def square(self) -> None:
        """Multiply the values by themselves."""
        self.stream.alu(AluOp.MUL, single_uop(self.values, self.values), inner=Loop(self.rows, 1, 1))

    def add_to_values(self, value: int) -> None:
        """Add a number to all values."""
        self.stream.alu(AluOp.ADD, single_uop(self.values, self.values), inner=Loop(self.rows, 1, 1), imm=value)

    def array(self, op: AluOp, array: int, other: int) -> None:
        """An operation on two arrays."""
        self.stream.alu(op, single_uop(array, other), inner=Loop(self.blocks, 1, 1))

    def with_constant(self, op: AluOp, array: int, number: int) -> None:
        """An operation on an array and a constant."""
        self.stream.alu(op, single_uop(array, self.constant(number)), inner=Loop(self.blocks, 1, 0))

    def by(self, op: AluOp, array: int, value: int) -> None:
        """An operation on an array and a number of 16 bits."""
        self.stream.alu(op, single_uop(array, array), inner=Loop(self.blocks, 1, 1), imm=value)

    def copy(self, array: int, other: int) -> None:
        """Make an array equal to another one."""
        self.clear(array, self.blocks)
        self.array(AluOp.ADD, array, other)

    def scale(self, array: int, number: int) -> None:
        """Multiply an array by a `Factor`, whose parameters are three constants from `number` on."""
        inner = Loop(self.blocks, 1, 1)
        self.stream.alu(AluOp.REQUANTIZE, single_uop(array, self.constant(number)), inner=inner, imm=REQUANTIZE_WIDE)

    def multiply(self, array: int, parameters: int) -> None:
        """Take the high product of an array with the parameters in three arrays from `parameters` on."""
        self._requantize(array, parameters, 1, REQUANTIZE_WIDE)

    def narrow(self, parameters: int, flags: int = 0) -> None:
        """Requantize the values to int8 by the parameters in three arrays from `parameters` on."""
        self._requantize(self.values, parameters, self._width, flags)

    def _requantize(self, first: int, parameters: int, rows: int, flags: int) -> None:
        outer, inner = Loop(self.blocks, rows, 1), Loop(rows, 1, self.blocks)
        self.stream.alu(AluOp.REQUANTIZE, single_uop(first, parameters), outer, inner, imm=flags)
