"""What a VTA operator computes, in packed blocks: the input of the templates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vta.isa.instruction import AluOp

__all__ = [
    "Border",
    "Branch",
    "GemmTerm",
    "Join",
    "Level",
    "MaxPool",
    "Operand",
    "Operator",
    "RegionOperators",
    "Step",
    "Tensor",
    "TileOperator",
    "Upsample",
]


@dataclass(frozen=True)
class Tensor:
    """A packed int8 tensor of a region: [batch][blocks][height][width] elements."""

    name: str
    batch: int
    """Blocks of BATCH rows."""
    blocks: int
    """Blocks of BLOCK channels."""
    height: int
    width: int
    planes: int = 1
    """4 for an int32 value stored as byte planes."""
    container: Tensor | None = None
    """The tensor of which this is some blocks of channels; None: it has memory of its own."""
    first_block: int = 0
    """Where its blocks begin in the container."""

    @property
    def elements(self) -> int:
        """Elements of one plane."""
        return self.batch * self.blocks * self.height * self.width

    @property
    def memory(self) -> Tensor:
        """The tensor whose memory holds it: itself, or the container."""
        return self.container or self

    def index(self, batch: int, block: int, row: int, column: int) -> int:
        """Element index of a position in the memory that holds the tensor."""
        return ((batch * self.memory.blocks + self.first_block + block) * self.height + row) * self.width + column

    def part(self, name: str, first: int, count: int) -> Tensor:
        """Some of its blocks as a tensor: the same memory, `count` blocks from `first` on."""
        return replace(self, name=name, blocks=count, container=self.memory, first_block=self.first_block + first)


@dataclass(frozen=True, eq=False)
class GemmTerm:
    """A sum of matrix products over a sliding window, added to the accumulator."""

    source: Tensor
    weights: NDArray[np.int8]
    """(CO, CI, KH, KW, BLOCK_OUT, BLOCK_IN). In a diagonal term CI is 1, and CO may be 1: one block for all channels."""
    diagonal: bool = False
    """Output block co reads input block co only, rather than all of them."""
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    """Zero rows above and zero columns to the left; what is missing below and to the right is zero too. Negative where the
    first rows or columns are not read."""
    dilation: tuple[int, int] = (1, 1)
    window: tuple[int, int] | None = None
    """Kernel size of a term whose weights, with KH = KW = 1, are the same at every kernel position."""
    groups: int = 1
    """Groups of the network's convolution; a fact about the workload, the weights alone say what is computed."""
    sparse: bool = False
    """Most weights are zero: products with blocks of zeros are left out."""
    source_dilation: tuple[int, int] = (1, 1)
    """Distance of the source's rows and columns, with zeros between, as the kernel slides over them: the stride of a transposed
    convolution. Where it is above 1, `strides` are 1. No product with the zeros is made."""
    moves: bool = False
    """The products only bring the source into the accumulator; the network does not count them as its own."""

    @property
    def kernel(self) -> tuple[int, int]:
        """Kernel height and width."""
        return self.window or (self.weights.shape[2], self.weights.shape[3])

    def kernel_blocks(self, kh: int, kw: int) -> int:
        """Weight blocks that `kh` x `kw` kernel positions take, for one pair of channel blocks."""
        return 1 if self.window else kh * kw

    @property
    def pointwise(self) -> bool:
        """Whether output position (y, x) reads input position (y, x) and no other."""
        geometry = self.kernel, self.strides, self.padding, self.source_dilation
        return geometry == ((1, 1), (1, 1), (0, 0), (1, 1))


@dataclass(frozen=True, eq=False)
class Level:
    """Terms added to the accumulator after it has been shifted left by `shift` bits."""

    shift: int
    terms: tuple[GemmTerm, ...]


@dataclass(frozen=True, eq=False)
class Branch:
    """A copy of the tile in accumulator rows of its own, with steps applied to it."""

    steps: tuple[Step, ...]
    """Of immediate and per-channel operands only."""
    slot: int = 0
    """Which of the rows beside the tile hold it."""
    settles: bool = False
    """What its steps leave is never larger than what it copies, so that the maximum of both is the next copy."""


@dataclass(frozen=True)
class Join:
    """The copy that the branch of the same slot made."""

    slot: int = 0


Operand = int | NDArray[np.int64] | tuple[Level, ...] | Branch | Join
"""Of an ALU step: an immediate; one value per channel, shape (C,), or one per channel and phase, shape (C, SH, SW), of which
output (y, x) takes ``[:, y % SH, x % SW]``; a tensor computed into accumulator rows of its own; the
copy that a branch made. A step whose operand is a `Branch` makes the copy and leaves the tile as it is."""


@dataclass(frozen=True, eq=False)
class Step:
    """One ALU operation on the whole tile."""

    op: AluOp
    operand: Operand


@dataclass(frozen=True)
class Border:
    """Rows and columns of one value around what an operator stores."""

    stored: Tensor
    """The output with its border."""
    top: int
    left: int
    value: int


@dataclass(frozen=True, eq=False)
class TileOperator:
    """Accumulate the levels, apply the steps, store the low 8 bits (or all four bytes as planes)."""

    name: str
    kind: str
    output: Tensor
    levels: tuple[Level, ...]
    steps: tuple[Step, ...]
    macs: int
    preload: NDArray[np.int64] | None = None
    """One value per channel that the accumulator starts from, never below what a stored tile leaves in it; None: zero."""
    border: Border | None = None

    @property
    def stored(self) -> Tensor:
        """The tensor in memory: the output, with its border where it has one."""
        return self.output if self.border is None else self.border.stored


@dataclass(frozen=True)
class MaxPool:
    """Maximum over a sliding window; positions outside the input never win."""

    name: str
    source: Tensor
    output: Tensor
    pool_size: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int]
    kind: str = "max_pool2d"
    macs: int = 0

    @property
    def stored(self) -> Tensor:
        """The tensor in memory."""
        return self.output


@dataclass(frozen=True)
class Upsample:
    """Every row and every column several times: nearest neighbour."""

    name: str
    source: Tensor
    output: Tensor
    factors: tuple[int, int]
    """How often each row and each column."""
    kind: str = "upsampling"
    macs: int = 0

    @property
    def stored(self) -> Tensor:
        """The tensor in memory."""
        return self.output


Operator = TileOperator | MaxPool | Upsample


@dataclass(frozen=True, eq=False)
class RegionOperators:
    """The operators of a region in program order, and the tensors that it has in common with what is around it."""

    name: str
    operators: tuple[Operator, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
