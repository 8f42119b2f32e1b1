"""Small programs that bring what lies in on-chip memories to DRAM, where it can be read: for any device that runs streams.

Each spoils other memories, so that what is to be looked at next takes another run of what came before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.config.targets import MemoryType
from vta.devices.device import Device, RunOptions
from vta.isa.encoding import encode, encode_uops
from vta.isa.instruction import UOP_DTYPE, AluOp, Opcode, blank_instructions
from vta.isa.program import PAGE_BYTES

__all__ = ["Probe"]

Bytes = NDArray[np.uint8]

_KEEPING = RunOptions(checks=False, keep_state=True, limit_seconds=60.0)
_CLEARED = (MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.UOP)
_MOST_LOOPS = 1 << 13
_MOST_COLUMNS = 1 << 13
_SEED = 1
_STEP, _TIMES = 7919, 61


class Probe:
    """Reads the on-chip memories of a device. To be closed."""

    def __init__(self, device: Device) -> None:
        """Allocate what the probes load and store. Raises `DeviceError` if there is no room."""
        self._device = device
        self._hw = device.hw
        self._places: dict[str, int] = {}
        self._encoded: dict[bytes, Bytes] = {}
        hw = self._hw
        rng = np.random.default_rng(_SEED)
        ones = np.repeat(np.eye(hw.block, dtype=np.int8)[:, None], hw.batch, axis=1)
        self._place("identity", np.eye(hw.block, dtype=np.int8))
        self._place("ones", ones)
        uops = np.zeros(1, UOP_DTYPE)
        self._place("uop", encode_uops(uops, hw))
        for name, memory in (("inp", MemoryType.INP), ("wgt", MemoryType.WGT), ("acc", MemoryType.ACC)):
            size = hw.depth(memory) * hw.elem_bytes(memory)
            self._place(f"random {name}", rng.integers(0, 256, size, np.uint8))
        largest = max(hw.depth(memory) * hw.elem_bytes(memory) for memory in _CLEARED)
        self._place("zeros", np.zeros(largest, np.uint8))
        self._place("out", np.zeros(self._rows * hw.elem_bytes(MemoryType.OUT), np.uint8))

    def close(self) -> None:
        """Give the memory back."""
        while self._places:
            self._device.free(self._places.popitem()[1])

    def clear(self) -> None:
        """Fill all on-chip memories with zeros: what no program has written may be anything, and would not be the same."""
        for memory in _CLEARED:
            self._load(memory, "zeros", self._hw.depth(memory))
        self._alu(AluOp.ADD, 0)

    def accumulators(self) -> list[Bytes]:
        """What a STORE would store, and the four bytes of the accumulators; spoils these."""
        found = [self._stored()]
        self._uop()
        self._alu(AluOp.ADD, 0)
        for plane in range(self._hw.acc_bits // 8):
            if plane:
                self._alu(AluOp.SHR, 8)
            found.append(self._stored())
        return found

    def inputs(self) -> list[Bytes]:
        """The input buffer, by products with one; spoils accumulators, and one element of weights."""
        self._uop()
        self._load(MemoryType.WGT, "identity", 1)
        found = []
        depth = self._hw.depth(MemoryType.INP)
        for first in range(0, depth, self._rows):
            count = min(self._rows, depth - first)
            self._uop()
            self._gemm(count, reset=True)
            self._uop(src=first)
            self._gemm(count, src=1)
            found.append(self._stored(count))
        return found

    def weights(self) -> list[Bytes]:
        """The weight buffer, by products of ones in one place; spoils accumulators, and some elements of the input buffer."""
        block = self._hw.block
        self._load(MemoryType.INP, "ones", block)
        found = []
        depth, chunk = self._hw.depth(MemoryType.WGT), self._rows // block
        for first in range(0, depth, chunk):
            count = min(chunk, depth - first)
            self._uop()
            self._gemm(count * block, reset=True)
            self._uop(wgt=first)
            self._run(self._loops(Opcode.GEMM, (count, block, 0, 1), (block, 1, 1, 0)))
            found.append(self._stored(count * block))
        return found

    def uops(self, count: int) -> list[Bytes]:
        """What the first `count` micro-ops do to values that are all different; spoils everything."""
        for name, memory in (("inp", MemoryType.INP), ("wgt", MemoryType.WGT), ("acc", MemoryType.ACC)):
            self._load(memory, f"random {name}", self._hw.depth(memory))
        rows = blank_instructions(count)
        rows["opcode"], rows["iter_in"] = Opcode.GEMM, 1
        rows["uop_bgn"], rows["uop_end"] = np.arange(count), np.arange(count) + 1
        # How often each is done depends on where it lies: sums would not show their order.
        rows["iter_out"] = np.arange(count) * _STEP % _TIMES + 1
        self._run(rows)
        return self.accumulators()

    @property
    def _rows(self) -> int:
        return self._hw.depth(MemoryType.ACC)

    def _place(self, name: str, data: NDArray[np.generic]) -> None:
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        address = self._device.allocate(max(PAGE_BYTES, flat.size))
        self._places[name] = address
        self._device.write(address, flat)

    def _run(self, rows: NDArray[np.void]) -> None:
        key = rows.tobytes()
        if key not in self._encoded:
            self._encoded[key] = encode(rows, self._hw)
        self._device.run(self._encoded[key], _KEEPING)

    def _load(self, memory: MemoryType, name: str, count: int, sram: int = 0) -> None:
        self._run(self._transfer(Opcode.LOAD, memory, name, count, sram))

    def _transfer(self, opcode: Opcode, memory: MemoryType, name: str, count: int, sram: int = 0) -> NDArray[np.void]:
        row = blank_instructions(1)
        row["opcode"], row["memory_type"], row["sram_base"] = opcode, memory, sram
        row["dram_base"] = self._places[name] >> self._hw.log_elem_bytes[memory]
        # Sizes have 16 bits, and memories up to 2^16 rows.
        width = min(count, _MOST_COLUMNS)
        row["x_size"] = row["x_stride"] = width
        row["y_size"] = count // width
        return row

    def _uop(self, src: int = 0, wgt: int = 0) -> None:
        """Put a micro-op into the first row that has the given operands."""
        uops = np.zeros(1, UOP_DTYPE)
        uops["src"], uops["wgt"] = src, wgt
        self._device.write(self._places["uop"], np.ascontiguousarray(encode_uops(uops, self._hw)).view(np.uint8).reshape(-1))
        self._load(MemoryType.UOP, "uop", 1)

    def _stored(self, count: int = 0) -> Bytes:
        """The first rows of the output buffer."""
        rows = count or self._rows
        self._run(self._transfer(Opcode.STORE, MemoryType.OUT, "out", rows))
        return self._device.read(self._places["out"], rows * self._hw.elem_bytes(MemoryType.OUT))

    def _alu(self, op: AluOp, value: int) -> None:
        rows = self._nest(Opcode.ALU, self._rows, 1, 1)
        rows["alu_opcode"], rows["use_imm"], rows["imm"] = op, 1, value
        self._run(rows)

    def _gemm(self, count: int, src: int = 0, reset: bool = False) -> None:
        rows = self._nest(Opcode.GEMM, count, 1, src)
        rows["reset"] = reset
        self._run(rows)

    def _nest(self, opcode: Opcode, count: int, dst: int, src: int) -> NDArray[np.void]:
        """Once for each of `count` rows, which lie `dst` and `src` apart."""
        inner = min(count, _MOST_LOOPS)
        return self._loops(opcode, (count // inner, inner * dst, inner * src, 0), (inner, dst, src, 0))

    @staticmethod
    def _loops(opcode: Opcode, outer: tuple[int, int, int, int], inner: tuple[int, int, int, int]) -> NDArray[np.void]:
        """Two loops: how often, and what an iteration adds to the accumulator, to the source, and to the weights."""
        row = blank_instructions(1)
        row["opcode"], row["uop_end"] = opcode, 1
        for suffix, (count, dst, src, wgt) in (("out", outer), ("in", inner)):
            row[f"iter_{suffix}"] = count
            if count > 1:
                row[f"dst_factor_{suffix}"], row[f"src_factor_{suffix}"], row[f"wgt_factor_{suffix}"] = dst, src, wgt
        return row
