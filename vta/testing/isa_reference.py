"""The instruction set in plain NumPy, one micro-op at a time: slow, and meant to be read.

What an instruction does is defined here; the simulators must give the same bits and the same counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.device import Counters
from vta.errors import DeviceError
from vta.isa import AluOp, Opcode, Unit, decode, decode_uops, units_of
from vta.isa.instruction import DEPTHWISE_TAPS, GEMM_REQUANTIZES, REQUANTIZE_KEEP, REQUANTIZE_TABLE, REQUANTIZE_WIDE

__all__ = ["IsaReference", "oldest"]

_QUEUES = ("load_to_compute", "compute_to_load", "compute_to_store", "store_to_compute")

_POPS = {
    (Unit.LOAD, "pop_next"): "compute_to_load",
    (Unit.COMPUTE, "pop_prev"): "load_to_compute",
    (Unit.COMPUTE, "pop_next"): "store_to_compute",
    (Unit.STORE, "pop_prev"): "compute_to_store",
}
_PUSHES = {
    (Unit.LOAD, "push_next"): "load_to_compute",
    (Unit.COMPUTE, "push_prev"): "compute_to_load",
    (Unit.COMPUTE, "push_next"): "compute_to_store",
    (Unit.STORE, "push_prev"): "store_to_compute",
}


def oldest(ready: Sequence[int]) -> int:
    """Choose the instruction that comes first in the program."""
    return min(ready)


class IsaReference:
    """The state of one accelerator: SRAM, tokens, and the device memory `dram`, shape (bytes,) of uint8, changed in place."""

    def __init__(self, hw: HardwareConfig, dram: NDArray[np.uint8], checks: bool = True) -> None:
        self.hw = hw
        self.dram = dram
        self.checks = checks
        self.tokens = dict.fromkeys(_QUEUES, 0)
        rows = {memory: hw.depth(memory) for memory in MemoryType}
        vector, matrix = (hw.batch, hw.block), (hw.block, hw.block)
        acc_type = np.int16 if hw.acc_bits == 16 else np.int32
        self.uop = np.zeros(rows[MemoryType.UOP], np.uint32)
        self.inp = np.zeros((rows[MemoryType.INP], *vector), np.int8)
        self.wgt = np.zeros((rows[MemoryType.WGT], *matrix), np.int8)
        self.acc = np.zeros((rows[MemoryType.ACC], *vector), acc_type)
        self.out = np.zeros((rows[MemoryType.OUT], *vector), np.int8)
        self.table = np.zeros(rows[MemoryType.TABLE], np.uint32)
        self.written = {memory: np.zeros(count, bool) for memory, count in rows.items()}
        self.written[MemoryType.ACC_8BIT] = self.written[MemoryType.ACC]
        self._kept, self._kept_looks_up = np.zeros((3, *vector), np.int64), False
        self._counts: Counter[str] = Counter()

    @property
    def counters(self) -> Counters:
        """What all runs so far did."""
        return Counters(**self._counts)

    def run(self, stream: NDArray[np.uint8], choose: Callable[[Sequence[int]], int] = oldest) -> None:
        """Execute a stream, shape (n, 16). `choose` picks among the indices of the instructions that can go on.

        Raises `DeviceError` naming the instruction; nothing of that instruction has then been done.
        """
        instructions = decode(stream, self.hw)
        units = units_of(instructions)
        queues: dict[Unit, list[int]] = {unit: np.flatnonzero(units == unit).tolist() for unit in Unit}
        for unit, flag in ((Unit.LOAD, "prev"), (Unit.STORE, "next")):
            for index in queues[unit]:
                if instructions[index][f"pop_{flag}"] or instructions[index][f"push_{flag}"]:
                    raise DeviceError(f"instruction {index}: there is no {flag} unit")
        while any(queues.values()):
            ready = [q[0] for unit, q in queues.items() if q and self._ready(unit, instructions[q[0]])]
            if not ready:
                raise DeviceError("deadlock: " + ", ".join(f"instruction {q[0]}" for q in queues.values() if q))
            index = choose(ready)
            unit = Unit(units[index])
            self._execute(index, unit, instructions[index])
            queues[unit].pop(0)

    def _ready(self, unit: Unit, instruction: np.void) -> bool:
        return all(self.tokens[queue] > 0 for (u, flag), queue in _POPS.items() if u == unit and instruction[flag])

    def _execute(self, index: int, unit: Unit, instruction: np.void) -> None:
        for (u, flag), queue in _POPS.items():
            self.tokens[queue] -= int(u == unit and instruction[flag])
        body = {Opcode.LOAD: self._load, Opcode.STORE: self._store, Opcode.GEMM: self._gemm, Opcode.ALU: self._alu}
        body[Opcode.DEPTHWISE] = self._depthwise
        try:
            body.get(Opcode(instruction["opcode"]), lambda _: None)(instruction)
        except DeviceError as error:
            raise DeviceError(f"instruction {index}: {error}") from None
        for (u, flag), queue in _PUSHES.items():
            self.tokens[queue] += int(u == unit and instruction[flag])
        self._counts[f"{unit.name.lower()}_instructions"] += 1

    def _load(self, insn: np.void) -> None:
        x_size, y_size = int(insn["x_size"]), int(insn["y_size"])
        if x_size == 0:
            return
        _require(insn["memory_type"] in ((0, 1, 2, 3, 5, 6) if self.hw.table_unit else (0, 1, 2, 3, 5)), "memory type")
        memory = MemoryType(insn["memory_type"])
        shape = (insn["y_pad_0"] + y_size + insn["y_pad_1"], insn["x_pad_0"] + x_size + insn["x_pad_1"])
        rows = slice(insn["sram_base"], insn["sram_base"] + shape[0] * shape[1])
        _require(rows.stop <= self.hw.depth(memory), "SRAM bounds")
        elements = np.zeros((*shape, self.hw.elem_bytes(memory)), np.uint8)
        for y, start in enumerate(self._dram_rows(insn, memory)):
            row = elements[insn["y_pad_0"] + y]
            row[insn["x_pad_0"] : insn["x_pad_0"] + x_size].reshape(-1)[:] = self.dram[start : start + row.shape[1] * x_size]
        self._fill(memory, rows, elements)
        counted = MemoryType.ACC if memory is MemoryType.ACC_8BIT else memory
        name = "acc" if memory is MemoryType.TABLE else counted.name.lower()
        self._counts[f"{name}_bytes"] += x_size * y_size * self.hw.elem_bytes(counted)

    def _fill(self, memory: MemoryType, rows: slice, elements: NDArray[np.uint8]) -> None:
        if memory is MemoryType.ACC_8BIT:
            self.acc[rows] = elements.view(np.int8).reshape(self.acc[rows].shape)
        else:
            target: NDArray[Any] = getattr(self, memory.name.lower())
            target[rows] = elements.view(target.dtype.newbyteorder("<")).reshape(target[rows].shape)
        self.written[memory][rows] = True

    def _store(self, insn: np.void) -> None:
        x_size, y_size = int(insn["x_size"]), int(insn["y_size"])
        if x_size == 0:
            return
        _require(insn["memory_type"] == MemoryType.OUT, "memory type")
        _require(all(insn[pad] == 0 for pad in ("x_pad_0", "x_pad_1", "y_pad_0", "y_pad_1")), "padding")
        base = int(insn["sram_base"])
        _require(base + x_size * y_size <= self.hw.depth(MemoryType.OUT), "SRAM bounds")
        starts = list(self._dram_rows(insn, MemoryType.OUT))
        self._require_written(MemoryType.OUT, np.arange(base, base + x_size * y_size))
        for y, start in enumerate(starts):
            row = self.out[base + y * x_size : base + (y + 1) * x_size].reshape(-1).view(np.uint8)
            self.dram[start : start + row.size] = row
        self._counts["out_bytes"] += x_size * y_size * self.hw.elem_bytes(MemoryType.OUT)

    def _dram_rows(self, insn: np.void, memory: MemoryType) -> Iterator[int]:
        """Byte address of each row of a transfer; checks all of them first."""
        size = self.hw.elem_bytes(memory)
        starts = [(int(insn["dram_base"]) + y * int(insn["x_stride"])) * size for y in range(insn["y_size"])]
        _require(all(start + insn["x_size"] * size <= self.dram.size for start in starts), "DRAM bounds")
        return iter(starts)

    def _gemm(self, insn: np.void) -> None:
        reset = bool(insn["reset"])
        nest = self._nest(insn, ("dst",) if reset else ("dst", "src", "wgt"), (MemoryType.ACC, MemoryType.INP, MemoryType.WGT))
        dst, src, wgt = nest
        if not reset:
            for memory, rows in zip((MemoryType.ACC, MemoryType.INP, MemoryType.WGT), nest, strict=True):
                self._require_written(memory, rows)
            self.written[MemoryType.OUT][dst] = True
        for step, (d, s, w) in enumerate(zip(dst, src, wgt, strict=True)):
            if reset:
                self.acc[d] = 0
                continue
            product = self.inp[s].astype(np.int64) @ self.wgt[w].astype(np.int64).T
            self._add(insn, step, d, product)
        self.written[MemoryType.ACC][dst] = True
        self._counts["reset_uops" if reset else "gemm_uops"] += len(dst)
        self._counts["macs"] += 0 if reset else len(dst) * self.hw.batch * self.hw.block**2

    def _depthwise(self, insn: np.void) -> None:
        dst, src, wgt = self._nest(insn, ("dst", "src", "wgt"), (MemoryType.ACC, MemoryType.INP, MemoryType.WGT))
        taps = src[:, None] + np.arange(DEPTHWISE_TAPS)
        _require((taps < self.hw.depth(MemoryType.INP)).all(), "src bounds")
        for memory, rows in ((MemoryType.ACC, dst), (MemoryType.INP, taps), (MemoryType.WGT, wgt)):
            self._require_written(memory, rows)
        for step, (d, rows, w) in enumerate(zip(dst, taps, wgt, strict=True)):
            products = self.inp[rows].astype(np.int64) * self.wgt[w][:DEPTHWISE_TAPS, None]
            self._add(insn, step, d, products.sum(axis=0))
        self.written[MemoryType.OUT][dst] = True
        self._counts["gemm_uops"] += len(dst)
        self._counts["macs"] += len(dst) * self.hw.batch * self.hw.block * DEPTHWISE_TAPS

    def _add(self, insn: np.void, step: int, d: int, products: NDArray[np.int64]) -> None:
        """Add products to a row; requantize it if this is the last micro-op of an iteration of an instruction that does."""
        self.acc[d] = (self.acc[d] + products).astype(self.acc.dtype)
        self.out[d] = self.acc[d].astype(np.int8)
        if insn["imm"] & GEMM_REQUANTIZES and (step + 1) % (insn["uop_end"] - insn["uop_bgn"]) == 0:
            self._requantize_row(d, self._kept, self._kept_looks_up)

    def _alu(self, insn: np.void) -> None:
        if insn["iter_out"] * insn["iter_in"] * max(0, insn["uop_end"] - insn["uop_bgn"]) == 0:
            return
        _require(insn["alu_opcode"] <= (AluOp.REQUANTIZE if self.hw.requantize_unit else AluOp.MUL), "ALU opcode")
        if insn["alu_opcode"] == AluOp.REQUANTIZE:
            self._requantize(insn)
            return
        use_imm = bool(insn["use_imm"])
        nest = self._nest(insn, ("dst",) if use_imm else ("dst", "src"), (MemoryType.ACC, MemoryType.ACC))
        dst, src, _ = nest
        self._require_written(MemoryType.ACC, dst)
        if not use_imm:
            self._require_written(MemoryType.ACC, src)
        for d, s in zip(dst, src, strict=True):
            x = self.acc[d].astype(np.int64)
            y = np.full_like(x, insn["imm"]) if use_imm else self.acc[s].astype(np.int64)
            self.acc[d] = _alu_result(AluOp(insn["alu_opcode"]), x, y).astype(self.acc.dtype)
            self.out[d] = self.acc[d].astype(np.int8)
        self.written[MemoryType.OUT][dst] = True
        self._counts["alu_uops"] += len(dst)

    def _requantize(self, insn: np.void) -> None:
        keeps = bool(insn["imm"] & REQUANTIZE_KEEP)
        dst, _, _ = self._nest(insn, () if keeps else ("dst",), (MemoryType.ACC,))
        first = decode_uops(self.uop[insn["uop_bgn"] : insn["uop_bgn"] + 1], self.hw)["src"][0]
        outer = np.arange(1 if keeps else insn["iter_out"])[:, None] * insn["src_factor_out"]
        rows = first + outer + np.arange(3) * insn["src_factor_in"]
        _require((rows < self.hw.depth(MemoryType.ACC)).all(), "src bounds")
        self._require_written(MemoryType.ACC, rows)
        wide = bool(insn["imm"] & REQUANTIZE_WIDE)
        looks_up = bool(self.hw.table_unit and not wide and insn["imm"] & REQUANTIZE_TABLE)
        if looks_up:
            self._require_written(MemoryType.TABLE, np.arange(len(self.table)))
        if keeps:
            self._kept, self._kept_looks_up = self.acc[rows[0]].astype(np.int64), looks_up
            return
        self._require_written(MemoryType.ACC, dst)
        for parameters, block in zip(rows, dst.reshape(len(rows), -1), strict=True):
            self._kept, self._kept_looks_up = self.acc[parameters].astype(np.int64), looks_up
            bias, multiplier, control = self._kept
            for d in block:
                if wide:
                    self.acc[d] = _scaled(self.acc[d] + bias, multiplier, control >> 8 & 31, control & 31, control).astype(
                        np.int32
                    )
                    self.out[d] = self.acc[d].astype(np.int8)
                    continue
                self._requantize_row(d, self._kept, looks_up)
        self.written[MemoryType.OUT][dst] = True
        self._counts["alu_uops"] += len(dst)

    def _requantize_row(self, d: int, parameters: NDArray[np.int64], looks_up: bool) -> None:
        """To 8 bits."""
        bias, multiplier, control = parameters
        lifts = (control >> 5 & 1) != 0
        left, right = np.where(lifts, -control & 31, 0), np.where(lifts, 0, control & 31)
        zero_point, low, high = (control >> 8 * byte for byte in (1, 2, 3))
        total = _scaled(self.acc[d] + bias, multiplier, left, right, control) + zero_point.astype(np.int8)
        narrow = np.minimum(np.maximum(total, low.astype(np.int8)), high.astype(np.int8))
        table = self.table.astype("<u4").view(np.int8)
        self.out[d] = table[narrow + 128] if looks_up else narrow
        self.acc[d] = 0

    def _nest(
        self, insn: np.void, used: tuple[str, ...], memories: tuple[MemoryType, ...]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Rows that each step of the loop nest addresses, in order: dst, src, wgt. Checks those in `used`."""
        first, last = int(insn["uop_bgn"]), int(insn["uop_end"])
        o, i, u = np.meshgrid(
            np.arange(insn["iter_out"]), np.arange(insn["iter_in"]), np.arange(first, max(first, last)), indexing="ij"
        )
        if u.size:
            _require(last <= self.hw.depth(MemoryType.UOP), "uop_end")
            self._require_written(MemoryType.UOP, u)
        uops = decode_uops(self.uop[u.reshape(-1)], self.hw)
        rows = {
            name: uops[name] + (o * insn[f"{name}_factor_out"] + i * insn[f"{name}_factor_in"]).reshape(-1)
            for name in ("dst", "src", "wgt")
        }
        for name, memory in zip(used, memories, strict=False):
            _require((rows[name] < self.hw.depth(memory)).all(), f"{name} bounds")
        return rows["dst"], rows["src"], rows["wgt"]

    def _require_written(self, memory: MemoryType, rows: NDArray[np.int64]) -> None:
        if self.checks:
            _require(self.written[memory][rows].all(), f"{memory.name} row that nothing wrote")


def _scaled(
    x: NDArray[np.int64],
    multiplier: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    control: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The product of REQUANTIZE, shifted to the left before it, and rounded to the right after it."""
    once = (control >> 6 & 1) != 0
    raised = (x.astype(np.int32).astype(np.int64) << left).astype(np.int32).astype(np.int64)
    first = (raised * multiplier + np.where(once & (right > 0), 0, 1 << 30)) >> 31
    half = (np.int64(1) << right) >> 1
    away = ~once & (first < 0) & (right > 0)
    return np.asarray((first + half - away) >> right)


def _alu_result(op: AluOp, x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.int64]:
    if op is AluOp.MIN:
        return np.minimum(x, y)
    if op is AluOp.MAX:
        return np.maximum(x, y)
    if op is AluOp.ADD:
        return x + y
    if op is AluOp.MUL:
        return x * y
    left = np.where(y < -31, 0, x << np.clip(-y, 0, 31))
    return np.where(y >= 0, x >> np.clip(y, 0, 31), left)


def _require(condition: bool | np.bool_, what: str) -> None:
    if not condition:
        raise DeviceError(what)
