"""The C++ engine against the NumPy one: random programs on random configs, with every kind of inner loop."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.config import HardwareConfig
from vta.errors import DeviceError
from vta.isa import AluOp, Opcode, blank_instructions, encode
from vta.runtime.device import Counters, RunOptions
from vta.runtime.devices.sim import Kernel, SimDevice
from vta.targets import MemoryType
from vta.testing.isa_reference import IsaReference

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


@st.composite
def configs(draw):
    block = draw(st.integers(2, 6))
    acc_width = draw(st.integers(4, 5))
    batch = draw(st.integers(0, min(6, 15 - acc_width - block)))
    return make_config(batch, block, acc_width, draw(st.tuples(*[st.integers(1, 5)] * 4)))


def available_kernels(hw):
    found = []
    for kernel in (Kernel.PORTABLE, Kernel.AVX2, Kernel.AVX512):
        try:
            SimDevice(hw, memory_bytes=8192, kernel=kernel)
        except DeviceError:
            continue
        found.append(kernel)
    return found


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


def run_both(hw, stream, dram, checks):
    """Run on the reference and on every kernel; all must agree on everything. Returns the error, if any."""
    reference = IsaReference(hw, dram.copy(), checks)
    expected_error = failure(lambda: reference.run(stream))
    expected = reference.counters
    reference.checks = False
    reference.run(epilogue(hw))
    for kernel in available_kernels(hw):
        device = SimDevice(hw, memory_bytes=DRAM_BYTES, kernel=kernel)
        base = device.allocate(DRAM_BYTES - 4096)
        device.write(base, dram[4096:])
        results = []
        error = failure(lambda d=device, r=results: r.append(d.run(stream, RunOptions(checks=checks))))
        assert where(error) == where(expected_error), (error, expected_error)
        if error is None:
            assert results[0].counters == expected
        device.run(epilogue(hw), RunOptions(checks=False, keep_state=True))
        np.testing.assert_array_equal(device.read(base, DRAM_BYTES - 4096), reference.dram[4096:])
    return expected_error


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


@given(configs(), st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
@settings(deadline=None, max_examples=60)
def test_random_programs_agree(hw, seed, length, checks):
    maker = ProgramMaker(hw, np.random.default_rng(seed))
    dram = make_dram(hw, maker)
    filled = [maker.fill(memory) for memory in LOADED[:4] if maker.below(8)]
    program = np.concatenate([*filled, *(maker.any() for _ in range(length))])
    program["uop_end"] = np.minimum(program["uop_end"], 2 * hw.depth(MemoryType.UOP) - 1)
    run_both(hw, encode(program, hw), dram, checks)


@pytest.mark.parametrize("acc_width", [4, 5])
@pytest.mark.parametrize(("batch", "block"), [(0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (1, 4), (2, 3), (3, 3), (4, 4), (6, 4)])
def test_extreme_values_on_every_block(batch, block, acc_width):
    hw = make_config(batch, block, acc_width if batch + block + acc_width <= 15 else 4, (5, 3, 4, 4))
    rng = np.random.default_rng(batch * 10 + block)
    maker = ProgramMaker(hw, rng)
    dram = make_dram(hw, maker)
    dram[8192:-4] = rng.choice(np.array([0, 127, 128, 255], np.uint8), DRAM_BYTES - 8196)
    fills = [maker.fill(memory) for memory in LOADED[:4]]
    for insn in fills[1:]:
        insn["dram_base"] = 8192 // hw.elem_bytes(MemoryType(insn["memory_type"][0]))
    nests = []
    for opcode in (Opcode.GEMM, Opcode.ALU, Opcode.ALU, Opcode.ALU, Opcode.ALU, Opcode.ALU, Opcode.GEMM):
        insn = maker.nest(opcode)
        insn["reset"], insn["uop_bgn"], insn["uop_end"], insn["iter_out"], insn["iter_in"] = 0, 0, 32, 2, 2
        for name in [n for n in insn.dtype.names if n.endswith(("_out", "_in")) and "factor" in n]:
            insn[name] = 0
        insn["alu_opcode"] = len(nests) % 5 if opcode == Opcode.ALU else 0
        nests.append(insn)
    stream = encode(np.concatenate([*fills, *nests]), hw)
    assert run_both(hw, stream, dram, checks=True) is None


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_arbitrary_bits_never_crash(seed):
    rng = np.random.default_rng(seed)
    hw = make_config(0, 4, 5, (5, 4, 4, 4))
    device = SimDevice(hw, memory_bytes=DRAM_BYTES)
    base = device.allocate(DRAM_BYTES - 4096)
    device.write(base, rng.integers(0, 256, DRAM_BYTES - 4096, dtype=np.uint8))
    stream = rng.integers(0, 256, (50, 16), dtype=np.uint8)
    stream[:, 0] &= 7 if seed % 2 else 0x87
    for first in range(50):
        options = RunOptions(first=first, last=first + 1, checks=bool(seed % 3), keep_state=True, limit_seconds=0.05)
        failure(lambda o=options: device.run(stream, o))


def test_counters_add_up():
    assert Counters(inp_bytes=1, macs=2) + Counters(inp_bytes=3, out_bytes=4) == Counters(inp_bytes=4, out_bytes=4, macs=2)
