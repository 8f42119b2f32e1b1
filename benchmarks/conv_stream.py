"""A convolution as one instruction stream: a plain tiling, one context, for measuring simulators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vta.config import HardwareConfig
from vta.isa import AluOp, Opcode, blank_instructions, encode, encode_uops
from vta.isa.instruction import UOP_DTYPE
from vta.targets import MemoryType

__all__ = ["Conv", "Placed", "conv_stream", "reference"]

SHIFT = 8
CLIP = (0, 127)


@dataclass(frozen=True)
class Conv:
    """A square convolution; `size` is the input height and width, channels are counted in scalars."""

    name: str
    size: int
    channels_in: int
    channels_out: int
    kernel: int
    pad: int
    stride: int

    @property
    def size_out(self) -> int:
        """Height and width of the output."""
        return (self.size + 2 * self.pad - self.kernel) // self.stride + 1

    def macs(self, batch: int) -> int:
        """Multiply-accumulates for `batch` images."""
        return batch * self.size_out**2 * self.channels_in * self.channels_out * self.kernel**2


@dataclass(frozen=True)
class Placed:
    """DRAM byte addresses of the packed tensors and of room for the micro-ops."""

    data: int
    weight: int
    bias: int
    out: int
    uops: int


@dataclass(frozen=True)
class _Tile:
    rows: int
    """Output rows."""
    blocks: int
    """Output channel blocks."""


def _choose_tile(conv: Conv, hw: HardwareConfig) -> _Tile:
    """The tile with the most output elements whose operands fit on chip, one input channel block at a time."""
    out = conv.size_out
    width = (out - 1) * conv.stride + conv.kernel
    taps = conv.kernel**2

    def fits(tile: _Tile) -> bool:
        return (
            tile.blocks * (tile.rows * out + 1) <= hw.depth(MemoryType.ACC)
            and ((tile.rows - 1) * conv.stride + conv.kernel) * width <= hw.depth(MemoryType.INP)
            and tile.blocks * taps <= hw.depth(MemoryType.WGT)
            and tile.blocks * (taps + 2) <= hw.uop_depth
        )

    blocks_out = conv.channels_out // hw.block
    tiles = [
        _Tile(rows, blocks)
        for rows in range(1, out + 1)
        for blocks in range(1, blocks_out + 1)
        if out % rows == 0 and blocks_out % blocks == 0
    ]
    return max(filter(fits, tiles), key=lambda tile: tile.rows * tile.blocks)


def _uops(conv: Conv, tile: _Tile) -> NDArray[np.void]:
    """Micro-ops of a tile: GEMM (block, tap), then the bias add, then the immediate operations (block each)."""
    taps, out = conv.kernel**2, conv.size_out
    width = (out - 1) * conv.stride + conv.kernel
    plane = tile.rows * out
    block, tap = (index.reshape(-1) for index in np.mgrid[: tile.blocks, :taps])
    uops = np.zeros(tile.blocks * (taps + 2), UOP_DTYPE)
    gemm, bias, immediate = np.split(uops, [len(tap), len(tap) + tile.blocks])
    gemm["dst"] = block * plane
    gemm["src"] = tap // conv.kernel * width + tap % conv.kernel
    gemm["wgt"] = block * taps + tap
    bias["dst"] = immediate["dst"] = immediate["src"] = np.arange(tile.blocks) * plane
    bias["src"] = tile.blocks * plane + np.arange(tile.blocks)
    return uops


class _Emitter:
    """Collects the instructions of a convolution."""

    def __init__(self, conv: Conv, tile: _Tile, placed: Placed, hw: HardwareConfig) -> None:
        self.conv, self.tile, self.placed, self.hw = conv, tile, placed, hw
        self.program: list[NDArray[np.void]] = []
        self.taps = conv.kernel**2
        self.width = (conv.size_out - 1) * conv.stride + conv.kernel
        self.gemm_uops = tile.blocks * self.taps

    def emit(self, opcode: Opcode, **fields: int) -> None:
        insn = blank_instructions(1)
        insn["opcode"] = opcode
        for name, value in fields.items():
            insn[name] = value
        self.program.append(insn)

    def move(self, opcode: Opcode, memory: MemoryType, address: int, offset: int = 0, **fields: int) -> None:
        base = address // self.hw.elem_bytes(memory) + offset
        self.emit(opcode, memory_type=memory, dram_base=base, **{"y_size": 1, "x_stride": 1, **fields})

    def load_input(self, block: int, first_row: int) -> None:
        """Input rows of one channel block for output rows from `first_row` on, padded."""
        conv = self.conv
        top = first_row * conv.stride - conv.pad
        rows = (self.tile.rows - 1) * conv.stride + conv.kernel
        above, below = max(0, -top), max(0, top + rows - conv.size)
        self.move(
            Opcode.LOAD,
            MemoryType.INP,
            self.placed.data,
            (block * conv.size + top + above) * conv.size,
            y_size=rows - above - below,
            x_size=min(conv.size, self.width - conv.pad),
            x_stride=conv.size,
            y_pad_0=above,
            y_pad_1=below,
            x_pad_0=conv.pad,
            x_pad_1=max(0, self.width - conv.pad - conv.size),
            pop_next=1,
        )

    def load_weights(self, block_out: int, block_in: int, blocks_in: int) -> None:
        self.move(
            Opcode.LOAD,
            MemoryType.WGT,
            self.placed.weight,
            (block_out * blocks_in + block_in) * self.taps,
            y_size=self.tile.blocks,
            x_size=self.taps,
            x_stride=blocks_in * self.taps,
            push_next=1,
        )

    def gemm(self, **flags: int) -> None:
        out, stride = self.conv.size_out, self.conv.stride
        self.emit(
            Opcode.GEMM,
            uop_end=self.gemm_uops,
            iter_out=self.tile.rows,
            iter_in=out,
            dst_factor_out=out,
            dst_factor_in=1,
            src_factor_out=stride * self.width,
            src_factor_in=stride,
            **flags,
        )

    def alu(self, first_uop: int, op: AluOp, **fields: int) -> None:
        self.emit(
            Opcode.ALU,
            uop_bgn=first_uop,
            uop_end=first_uop + self.tile.blocks,
            iter_out=self.tile.rows * self.conv.size_out,
            iter_in=1,
            dst_factor_out=1,
            src_factor_out=fields.get("use_imm", 0),
            alu_opcode=op,
            **fields,
        )

    def finish_tile(self, block_out: int, first_row: int) -> None:
        """Shift, add the bias, clip and store."""
        tile, out = self.tile, self.conv.size_out
        bias, immediate = self.gemm_uops, self.gemm_uops + tile.blocks
        bias_row = tile.blocks * tile.rows * out
        self.move(Opcode.LOAD, MemoryType.ACC, self.placed.bias, block_out, sram_base=bias_row, x_size=tile.blocks)
        self.alu(immediate, AluOp.SHR, use_imm=1, imm=SHIFT)
        self.alu(bias, AluOp.ADD)
        self.alu(immediate, AluOp.MAX, use_imm=1, imm=CLIP[0])
        self.alu(immediate, AluOp.MIN, use_imm=1, imm=CLIP[1], push_next=1)
        self.move(
            Opcode.STORE,
            MemoryType.OUT,
            self.placed.out,
            (block_out * out + first_row) * out,
            y_size=tile.blocks,
            x_size=tile.rows * out,
            x_stride=out * out,
            pop_prev=1,
            push_prev=1,
        )


def conv_stream(conv: Conv, placed: Placed, hw: HardwareConfig) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """The stream, shape (n, 16), and the micro-op words to write at `placed.uops`.

    Tensors are packed for one batch of `hw.batch` images; bias is int32, one accumulator element for each channel block.
    """
    tile = _choose_tile(conv, hw)
    words = encode_uops(_uops(conv, tile), hw)
    emitter = _Emitter(conv, tile, placed, hw)
    blocks_in = conv.channels_in // hw.block
    emitter.move(Opcode.LOAD, MemoryType.UOP, placed.uops, x_size=len(words))
    for block_out in range(0, conv.channels_out // hw.block, tile.blocks):
        for row in range(0, conv.size_out, tile.rows):
            emitter.gemm(reset=1, pop_next=1)
            for block_in in range(blocks_in):
                emitter.load_input(block_in, row)
                emitter.load_weights(block_out, block_in, blocks_in)
                emitter.gemm(pop_prev=1, push_prev=1)
            emitter.finish_tile(block_out, row)
    program = np.concatenate(emitter.program)
    _trim_tokens(program)
    carrier, finish = blank_instructions(1), blank_instructions(1)
    carrier["pop_next"] = 1
    finish["opcode"] = Opcode.FINISH
    return encode(np.concatenate([program, carrier, finish]), hw), words


def _trim_tokens(program: NDArray[np.void]) -> None:
    """The first load and the first reset wait for nothing; nothing waits for the last GEMM."""
    inputs = np.flatnonzero(program["memory_type"] == MemoryType.INP)
    gemms = np.flatnonzero(program["opcode"] == Opcode.GEMM)
    program["pop_next"][[inputs[0], gemms[0]]] = 0
    program["push_prev"][gemms[-1]] = 0


def reference(conv: Conv, data: NDArray[np.int8], weight: NDArray[np.int8], bias: NDArray[np.int32]) -> NDArray[np.int8]:
    """What the stream computes, on plain tensors: NCHW, OIHW and (O,)."""
    pad, out = conv.pad, conv.size_out
    padded = np.pad(data, ((0, 0), (0, 0), (pad, pad), (pad, pad))).astype(np.float64)
    acc = np.zeros((len(data), conv.channels_out, out, out))
    for y in range(conv.kernel):
        for x in range(conv.kernel):
            ys, xs = (slice(start, start + (out - 1) * conv.stride + 1, conv.stride) for start in (y, x))
            acc += np.einsum("oc,nchw->nohw", weight[:, :, y, x].astype(np.float64), padded[:, :, ys, xs], optimize=True)
    shifted = (acc.astype(np.int64) >> SHIFT) + bias[:, None, None]
    return shifted.clip(*CLIP).astype(np.int8)
