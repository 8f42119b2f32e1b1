"""What the simulator records of a first sample and does again for others: what a run of each gives, in every memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.devices.test_sim import HW, alu, load, put, store, stream
from tests.isa_streams import DRAM_BYTES, LOADED, ProgramMaker, epilogue, make_config, make_dram
from tests.testing.test_isa_reference import available_kernels
from vta.config.targets import MemoryType
from vta.devices.device import RunOptions
from vta.devices.sim import SimDevice
from vta.errors import DeviceError
from vta.isa import AluOp, Opcode, encode

PAGE = 4096
IMAGE = DRAM_BYTES - PAGE
ROWS = 128
"""Of accumulators, in the first half of which results lie."""


class SampleMaker(ProgramMaker):
    """Programs as compilers make them: loops over many rows, and operations one after the other on the same ones."""

    def loops(self, opcode):
        """A nest inside of all memories, more often with one micro-op than with several."""
        insn = self.nest(opcode)
        insn["alu_opcode"] = insn["reset"] = 0
        insn["uop_bgn"] = self.below(16)
        insn["uop_end"] = insn["uop_bgn"] + (1 if self.below(3) else 1 + self.below(4))
        insn["iter_out"], insn["iter_in"] = self.rng.choice([(1, 16), (2, 8), (1, 19), (24, 1), (3, 3), (1, 1), (2, 16)])
        for name in [name for name in insn.dtype.names if "_factor_" in name]:
            insn[name] = self.below(2)
        insn["dst_factor_in"] = self.below(4) > 0
        insn["dst_factor_out"] = self.rng.choice([0, 1, *[int(insn["iter_in"][0])] * 3])
        insn["src_factor_in"] = self.below(3)
        return insn

    def products(self):
        insn = self.loops(Opcode.GEMM)
        insn["reset"] = self.below(4) == 0
        return [insn]

    def operations(self):
        """Some operations, most of which have the same rows; their operands often lie in the other half."""
        first = self.loops(Opcode.ALU)
        made = []
        for _ in range(1 + self.below(6)):
            insn = self.changed(first) if self.below(4) == 0 else first.copy()
            if insn["opcode"] == Opcode.ALU:
                insn["alu_opcode"], insn["use_imm"] = self.below(AluOp.MUL + 1), self.below(2)
                insn["imm"] = self.rng.choice([self.below(65536) - 32768, self.below(80) - 40])
                insn["src_factor_out"], insn["src_factor_in"] = self.below(2), self.below(2)
            made.append(insn)
        return made

    def changed(self, insn):
        """Another operation, on other rows or products for the same ones."""
        made = insn.copy()
        kind = self.below(4)
        if kind == 0:
            made["opcode"], made["src_factor_out"], made["src_factor_in"] = Opcode.GEMM, 1, 1
        elif kind == 1:
            made["iter_in"] = 1 + self.below(int(insn["iter_in"][0]))
        elif kind == 2:
            made["iter_out"] = 1 + self.below(int(insn["iter_out"][0]))
        else:
            name = "dst_factor_in" if self.below(2) else "dst_factor_out"
            made[name] = 0 if insn[name][0] else 1
        return made

    def transfers(self):
        memory = MemoryType(self.rng.choice(LOADED))
        insn = self.transfer(Opcode.STORE, MemoryType.OUT) if self.below(2) else self.transfer(Opcode.LOAD, memory)
        if insn["memory_type"][0] == MemoryType.UOP:
            return [self.fill(MemoryType.UOP)]
        insn["sram_base"] = self.below(8)
        return [insn]

    def program(self, parts):
        fills = [self.fill(memory) for memory in LOADED[:4]]
        zeros = self.loops(Opcode.ALU)
        zeros["uop_end"], zeros["uop_bgn"], zeros["iter_out"], zeros["iter_in"] = 17, 16, ROWS, 1
        zeros["dst_factor_out"], zeros["use_imm"], zeros["imm"] = 1, 1, 5
        made = [*fills, zeros]
        for _ in range(parts):
            made += self.rng.choice([self.products, self.operations, self.operations, self.transfers])()
        return encode(np.concatenate(made), self.hw)

    def uop_image(self):
        """Results in the first half of the accumulators; the micro-op at 16 has the first row of all."""
        rng, count = self.rng, self.hw.depth(MemoryType.UOP)
        log = self.hw.log_depth
        dst, src = rng.integers(0, ROWS // 4, count), rng.integers(0, ROWS // 8, count) + rng.choice([0, ROWS // 2], count)
        dst[16] = 0
        width = max(log[MemoryType.ACC], log[MemoryType.INP])
        word = dst | src << log[MemoryType.ACC] | rng.integers(0, 8, count) << (log[MemoryType.ACC] + width)
        return word.astype("<u4").view(np.uint8)


def loaded(hw, kernel, dram):
    device = SimDevice(hw, memory_bytes=DRAM_BYTES, kernel=kernel)
    assert device.allocate(IMAGE) == PAGE
    device.write(PAGE, dram[PAGE:])
    return device


def memories(device):
    """What is left on chip, by a program that stores it; it is told apart from what lies in device memory by that, too."""
    device.run(epilogue(device.hw), RunOptions(checks=False, keep_state=True))
    return device.read(PAGE, IMAGE)


@st.composite
def configs(draw):
    batch, block = draw(st.sampled_from([(0, 4), (0, 4), (0, 2), (0, 3), (0, 5), (1, 4), (2, 3)]))
    acc_width = draw(st.integers(4, 5))
    return make_config(batch, block, acc_width, (5, 6, 7, 7))


@given(configs(), st.integers(0, 2**32 - 1), st.integers(1, 12))
@settings(deadline=None, max_examples=150)
def test_further_samples_give_what_a_run_of_each_gives(hw, seed, parts):
    maker = SampleMaker(hw, np.random.default_rng(seed))
    dram = make_dram(hw, maker)
    program = maker.program(parts)
    first, size, samples = 3 * PAGE, 8 * PAGE, 4
    values = maker.rng.integers(0, 256, (samples, size), dtype=np.uint8)
    for kernel in available_kernels(hw):
        one, many = loaded(hw, kernel, dram), loaded(hw, kernel, dram)
        expected = []
        for sample in values:
            one.write(first, sample)
            result = one.run(program)
            expected.append(one.read(PAGE, IMAGE))
        half = samples // 2
        parted = [many.run_samples(program, half, [(first, part)], [(PAGE, IMAGE)])[0] for part in (values[:half], values[half:])]
        np.testing.assert_array_equal(np.concatenate(parted), expected)
        assert (many._counters(-1), many._tokens()) == (result.counters, result.tokens)
        np.testing.assert_array_equal(memories(many), memories(one))


@pytest.fixture
def device():
    return SimDevice(HW, memory_bytes=1 << 20)


def test_micro_ops_that_a_sample_brings_are_looked_at_each_time(device):
    """The row that is added to is that of the micro-op, which is an input."""
    uop, source, target = device.allocate(8), put(device, np.zeros(64, np.uint32)), device.allocate(64)
    added = alu(AluOp.ADD, 5)
    added["push_next"] = 1
    program = stream(
        load(MemoryType.UOP, uop), load(MemoryType.ACC, source, x_size=4), added, store(target, x_size=1, pop_prev=1)
    )
    rows = np.arange(3, dtype=np.uint32).reshape(3, 1)
    with pytest.raises(DeviceError, match="STORE reads OUT row 0, which no GEMM or ALU has written"):
        device.run_samples(program, 3, [(uop, rows.view(np.uint8))], [(target, 16)])
    (got,) = device.run_samples(program, 3, [(uop, 0 * rows.view(np.uint8))], [(target, 16)])
    assert (got == 5).all()


def test_micro_ops_and_streams_that_are_others_in_the_next_call_are_seen(device):
    uop, source, target = put(device, np.zeros(1, np.uint32)), put(device, np.zeros(64, np.uint32)), device.allocate(64)
    added = alu(AluOp.ADD, 5)
    added["push_next"] = 1
    parts = [load(MemoryType.UOP, uop), load(MemoryType.ACC, source, x_size=4), added, store(target, x_size=1, pop_prev=1)]
    program = stream(*parts)
    for imm in (5, 6):
        added["imm"] = imm
        program = stream(*parts)
        (got,) = device.run_samples(program, 3, [], [(target, 16)])
        assert (got == imm).all()
    device.write(uop, np.ones(1, np.uint32).view(np.uint8))
    with pytest.raises(DeviceError, match="STORE reads OUT row 0"):
        device.run_samples(program, 3, [], [(target, 16)])


def test_a_program_that_stores_its_micro_ops_is_run_as_it_is(device):
    """The first sample overwrites the micro-op with one for another row, which the second sample uses."""
    uop, source = put(device, np.zeros(4, np.uint32)), put(device, np.zeros(64, np.uint32))
    added = alu(AluOp.ADD, 1)
    added["push_next"] = 1
    program = stream(load(MemoryType.UOP, uop), load(MemoryType.ACC, source, x_size=4), added, store(uop, x_size=1, pop_prev=1))
    with pytest.raises(DeviceError, match=r"acc|ACC|OUT"):
        device.run_samples(program, 3, [], [(uop, 16)])


@pytest.mark.parametrize(("field", "other"), [("dst_factor_out", 4), ("dst_factor_in", 2), ("iter_out", 1), ("iter_in", 1)])
def test_operations_on_other_rows_are_none_of_a_chain(device, field, other):
    """Two operations whose loops differ in one number alone."""
    uop, source = put(device, np.zeros(1, np.uint32)), put(device, np.zeros(16 * 64, np.uint32))
    target = device.allocate(64 * 16)
    first = alu(AluOp.ADD, 5)
    first["iter_out"], first["iter_in"], first["dst_factor_out"], first["dst_factor_in"] = 2, 2, 2, 1
    second = first.copy()
    second["imm"], second[field] = 32, other
    second["push_next"] = 1
    whole = alu(AluOp.ADD, 0)
    whole["iter_out"], whole["dst_factor_out"] = 16, 1
    program = stream(
        load(MemoryType.UOP, uop),
        load(MemoryType.ACC, source, x_size=16),
        whole,
        first,
        second,
        store(target, x_size=16, pop_prev=1),
    )
    expected = np.zeros((16, 16), np.uint8)
    for insn in (first, second):
        for outer in range(int(insn["iter_out"][0])):
            for inner in range(int(insn["iter_in"][0])):
                expected[outer * int(insn["dst_factor_out"][0]) + inner * int(insn["dst_factor_in"][0])] += int(insn["imm"][0])
    (got,) = device.run_samples(program, 3, [], [(target, expected.nbytes)])
    np.testing.assert_array_equal(got.reshape(3, 16, 16), [expected] * 3)
