"""Random programs for the core: legal, free of races, and with the tokens that this takes."""

from __future__ import annotations

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa import AluOp, Opcode, Unit, blank_instructions, units_of

DRAM_BYTES = 1 << 15
DATA_START = 4096
STREAM_ADDRESS = DRAM_BYTES - 8192
LOADED = (MemoryType.UOP, MemoryType.WGT, MemoryType.INP, MemoryType.ACC, MemoryType.ACC_8BIT)
LOAD_KINDS = (MemoryType.INP, MemoryType.WGT)


def small_config(batch, block, acc_width, depths=(4, 4, 4, 5)) -> HardwareConfig:
    """A config with 2^depths rows of uop, wgt, inp and acc."""
    vector = batch + block
    sizes = {"uop": 2, "wgt": 2 * block, "inp": vector, "acc": vector + acc_width - 3}
    buffers = {f"log_{name}_buff_size": size + depth for (name, size), depth in zip(sizes.items(), depths, strict=True)}
    return HardwareConfig("rtl", "0.0.2", 3, 3, acc_width, batch, block, **buffers)


class Programs:
    """Draws instructions whose rows lie inside the memories of `hw`."""

    def __init__(self, hw, rng, pad=3, rows=4):
        self.hw, self.rng = hw, rng
        self.pad, self.rows = pad, rows

    def below(self, limit):
        return int(self.rng.integers(0, max(1, limit)))

    def transfer(self, opcode, memory):
        insn = blank_instructions(1)
        depth, size = self.hw.depth(memory), self.hw.elem_bytes(memory)
        insn["opcode"], insn["memory_type"] = opcode, memory
        if self.below(12) == 0:
            return insn
        while True:
            insn["x_size"], insn["y_size"] = 1 + self.below(depth), 1 + self.below(self.rows)
            for pad in ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"):
                insn[pad] = self.below(self.pad) if opcode == Opcode.LOAD and self.below(2) else 0
            insn["x_stride"] = self.below(2 * depth)
            rows = (insn["x_pad_0"] + insn["x_size"] + insn["x_pad_1"]) * (insn["y_pad_0"] + insn["y_size"] + insn["y_pad_1"])
            span = int((insn["x_size"] + insn["x_stride"] * insn["y_size"])[0]) * size
            if rows <= depth and span < STREAM_ADDRESS - DATA_START:
                break
        insn["sram_base"] = self.below(depth - int(rows[0]) + 1)
        insn["dram_base"] = DATA_START // size + self.below((STREAM_ADDRESS - DATA_START - span) // size)
        return insn

    def fill(self, memory):
        """Load all rows of a memory."""
        insn = blank_instructions(1)
        insn["opcode"], insn["memory_type"] = Opcode.LOAD, memory
        insn["x_size"], insn["y_size"] = self.hw.depth(memory), 1
        insn["dram_base"] = 0 if memory is MemoryType.UOP else DATA_START // self.hw.elem_bytes(memory)
        return insn

    def nest(self, opcode):
        insn = blank_instructions(1)
        insn["opcode"] = opcode
        insn["uop_bgn"] = self.below(self.hw.depth(MemoryType.UOP) - 4)
        insn["uop_end"] = insn["uop_bgn"] + self.below(5)
        insn["iter_out"], insn["iter_in"] = self.below(4), self.below(4)
        src = MemoryType.INP if opcode == Opcode.GEMM else MemoryType.ACC
        for name, memory in {"dst": MemoryType.ACC, "src": src, "wgt": MemoryType.WGT}.items():
            if self.hw.depth(memory) >= 8 and (name != "wgt" or opcode == Opcode.GEMM):
                for loop in ("out", "in"):
                    insn[f"{name}_factor_{loop}"] = self.below(2)
        if opcode == Opcode.GEMM:
            insn["reset"] = self.below(4) == 0
        else:
            insn["alu_opcode"] = self.rng.choice([op for op in AluOp if op != AluOp.REQUANTIZE])
            insn["use_imm"] = self.below(2)
            insn["imm"] = self.rng.choice([self.below(65536) - 32768, self.below(80) - 40])
        return insn

    def uop_image(self):
        """Micro-ops whose rows, with what the loops of `nest` add, stay inside the memories."""
        rows = {memory: self.hw.log_depth[memory] for memory in LOADED}
        acc, inp, wgt = (rows[memory] for memory in (MemoryType.ACC, MemoryType.INP, MemoryType.WGT))
        depth = self.hw.depth(MemoryType.UOP)
        dst, src, wgt_row = (self.rng.integers(0, max(1, (1 << bits) - 6), depth) for bits in (acc, min(acc, inp), wgt))
        return (dst | src << acc | wgt_row << (acc + max(acc, inp))).astype("<u4").view(np.uint8)

    def any(self):
        kind = self.below(9)
        if kind < 3:
            # Micro-ops are loaded once, by `fill`: others could address rows beyond the memories.
            return self.transfer(Opcode.LOAD, MemoryType(self.rng.choice([m for m in LOADED if m is not MemoryType.UOP])))
        if kind == 3:
            return self.transfer(Opcode.STORE, MemoryType.OUT)
        return self.nest(Opcode.GEMM if kind < 6 else Opcode.ALU)

    def dram(self):
        dram = self.rng.integers(0, 256, DRAM_BYTES, dtype=np.uint8)
        uops = self.uop_image()
        dram[: uops.size] = uops
        return dram


def blank(unit):
    """An instruction of `unit` that only carries tokens."""
    insn = blank_instructions(1)
    insn["opcode"] = Opcode.STORE if unit == Unit.STORE else Opcode.LOAD
    insn["memory_type"] = {Unit.LOAD: MemoryType.INP, Unit.COMPUTE: MemoryType.UOP, Unit.STORE: MemoryType.OUT}[unit]
    return insn


def in_order(instructions):
    """Add FINISH and the tokens that make each unit wait for what the others did before."""
    instructions = instructions.copy()
    done = [instructions[:1]]
    unit = Unit(int(units_of(instructions)[0]))
    finish = blank_instructions(1)
    finish["opcode"] = Opcode.FINISH
    for row in [*(instructions[i : i + 1] for i in range(1, len(instructions))), finish]:
        following = Unit(int(units_of(row)[0]))
        while unit != following:
            step = Unit(unit + (1 if following > unit else -1))
            done[-1]["push_next" if step > unit else "push_prev"] = 1
            entry = row if step == following else blank(step)
            if entry is row and row["opcode"] == Opcode.FINISH:
                entry = blank(step)
            entry["pop_prev" if step > unit else "pop_next"] = 1
            done.append(entry)
            unit = step
        if done[-1] is not row:
            done.append(row)
    return np.concatenate(done)


def loosely(instructions, rng):
    """Add FINISH and random tokens: never a deadlock, but no order between the units that data could rely on."""
    stages = {Unit.LOAD: ("next",), Unit.COMPUTE: ("prev", "next"), Unit.STORE: ("prev",)}
    counts = dict.fromkeys([(unit, unit + step) for unit in Unit for step in (-1, 1)], 0)
    finish = blank_instructions(1)
    finish["opcode"] = Opcode.FINISH
    program = np.concatenate([instructions, finish])
    for index, unit in enumerate(units_of(program)[:-1]):
        for side in stages[Unit(unit)]:
            other = int(unit) + (1 if side == "next" else -1)
            if counts[other, unit] and rng.integers(0, 2):
                counts[other, unit] -= 1
                program[f"pop_{side}"][index] = 1
            if rng.integers(0, 2):
                counts[unit, other] += 1
                program[f"push_{side}"][index] = 1
    return program
