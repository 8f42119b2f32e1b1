"""Random instruction streams for any config, most of which run and some of which must be refused, with memory for them."""

import re

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import DeviceError
from vta.isa import AluOp, Opcode, blank_instructions, encode

DRAM_BYTES = 1 << 18
LOADED = (MemoryType.UOP, MemoryType.WGT, MemoryType.INP, MemoryType.ACC, MemoryType.ACC_8BIT)


def make_config(batch, block, acc_width, depths):
    vector = batch + block
    return HardwareConfig(
        target="sim",
        hw_version="0.0.2",
        log_inp_width=3,
        log_wgt_width=3,
        log_acc_width=acc_width,
        log_batch=batch,
        log_block=block,
        log_uop_buff_size=2 + depths[0],
        log_wgt_buff_size=2 * block + depths[1],
        log_inp_buff_size=vector + depths[2],
        log_acc_buff_size=vector + acc_width - 3 + depths[3],
    )


class ProgramMaker:
    """Random instructions that mostly stay inside the buffers of `hw`."""

    def __init__(self, hw, rng):
        self.hw = hw
        self.rng = rng

    def below(self, limit):
        return int(self.rng.integers(0, max(1, limit)))

    def transfer(self, opcode, memory):
        insn = blank_instructions(1)
        depth = self.hw.depth(memory)
        elements = (DRAM_BYTES - 4096) // self.hw.elem_bytes(memory)
        insn["opcode"], insn["memory_type"] = opcode, memory
        insn["sram_base"] = self.below(depth)
        insn["x_size"] = self.below(min(depth, 6) + 1)
        insn["y_size"] = self.below(4)
        insn["x_stride"] = self.below(9)
        insn["dram_base"] = 4096 // self.hw.elem_bytes(memory) + self.below(elements - 40)
        if opcode == Opcode.LOAD and self.below(2):
            for pad in ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"):
                insn[pad] = self.below(3)
        if self.below(16):
            shape = [insn[f"{axis}_pad_0"] + insn[f"{axis}_size"] + insn[f"{axis}_pad_1"] for axis in "xy"]
            insn["sram_base"] = self.below(depth - int(shape[0][0] * shape[1][0]) + 1)
        return insn

    def nest(self, opcode):
        insn = blank_instructions(1)
        insn["opcode"] = opcode
        insn["uop_bgn"] = self.below(self.hw.depth(MemoryType.UOP))
        insn["uop_end"] = insn["uop_bgn"] + self.below(5)
        if self.below(16):
            insn["uop_end"] = np.minimum(insn["uop_end"], self.hw.depth(MemoryType.UOP))
        insn["iter_out"], insn["iter_in"] = self.below(4), self.below(4)
        most = 4 if self.below(3) == 0 else 2
        wide = MemoryType.INP if opcode == Opcode.GEMM else MemoryType.ACC
        limits = {"dst": MemoryType.ACC, "src": wide, "wgt": MemoryType.WGT}
        for name, memory in limits.items():
            if name == "wgt" and opcode == Opcode.ALU:
                continue
            for loop in ("out", "in"):
                insn[f"{name}_factor_{loop}"] = self.below(min(most, self.hw.depth(memory) // 4))
        if opcode == Opcode.GEMM:
            insn["reset"] = self.below(4) == 0
        else:
            insn["alu_opcode"] = self.rng.choice(list(AluOp) * 8 + [5])
            insn["use_imm"] = self.below(2)
            insn["imm"] = self.rng.choice([self.below(65536) - 32768, self.below(80) - 40])
        return insn

    def any(self):
        kind = self.below(8)
        if kind < 2:
            return self.transfer(Opcode.LOAD, MemoryType(self.rng.choice(LOADED)))
        if kind == 2:
            return self.transfer(Opcode.STORE, MemoryType.OUT)
        return self.nest(Opcode.GEMM if kind < 5 else Opcode.ALU)

    def fill(self, memory):
        """Load all rows of a memory."""
        insn = self.transfer(Opcode.LOAD, memory)
        for name in ("sram_base", "y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"):
            insn[name] = 0
        insn["x_size"], insn["y_size"] = self.hw.depth(memory), 1
        insn["dram_base"] = 4096 // self.hw.elem_bytes(memory)
        return insn

    def uop_image(self):
        """Micro-ops for the first words after the first page: small, so that most nests stay inside."""
        depth = self.hw.log_depth
        acc, inp, wgt = (depth[m] for m in (MemoryType.ACC, MemoryType.INP, MemoryType.WGT))
        small = self.rng.integers(0, 1 << 32, (3, self.hw.depth(MemoryType.UOP)), dtype=np.uint64)
        dst = small[0] % (1 << acc) >> self.rng.integers(0, 2, small.shape[1], dtype=np.uint64)
        src = small[1] % (1 << min(acc, inp)) >> self.rng.integers(0, 2, small.shape[1], dtype=np.uint64)
        word = dst | src << np.uint64(acc) | small[2] % (1 << wgt) << np.uint64(acc + max(acc, inp))
        return word.astype("<u4").view(np.uint8)


def epilogue(hw):
    """Store all of OUT, then each byte of all accumulators."""
    rows = hw.depth(MemoryType.ACC)
    program = blank_instructions(2 + 2 * (hw.acc_bits // 8))
    stores = [0, *range(3, len(program), 2)]
    program["opcode"], program["memory_type"], program["y_size"] = Opcode.STORE, MemoryType.OUT, 1
    program["x_size"] = rows
    for count, index in enumerate(stores):
        program[index]["dram_base"] = (4096 >> hw.log_elem_bytes[MemoryType.OUT]) + count * rows
    program[1]["opcode"], program[1]["memory_type"], program[1]["x_size"] = Opcode.LOAD, MemoryType.UOP, 1
    program[1]["dram_base"] = (DRAM_BYTES - 4) // 4
    for plane, index in enumerate(range(2, len(program), 2)):
        program[index] = blank_instructions(1)[0]
        shift = program[index]
        shift["opcode"], shift["uop_end"], shift["iter_out"], shift["iter_in"] = Opcode.ALU, 1, rows, 1
        shift["dst_factor_out"], shift["src_factor_out"] = 1, 1
        shift["alu_opcode"], shift["use_imm"], shift["imm"] = AluOp.SHR, 1, 8 * (plane > 0)
    return encode(program, hw)


def failure(body):
    try:
        body()
    except DeviceError as error:
        return str(error)
    return None


def where(error):
    return None if error is None else re.findall(r"instruction (\d+)", error)


def make_dram(hw, maker):
    dram = maker.rng.integers(0, 256, DRAM_BYTES, dtype=np.uint8)
    dram[:4096] = 0
    dram[-4:] = 0
    uops = maker.uop_image()
    dram[4096 : 4096 + uops.size] = uops
    return dram
