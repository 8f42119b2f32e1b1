"""The C++ engine against the NumPy one: random programs on random configs, with every kind of inner loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.isa_streams import DRAM_BYTES, LOADED, ProgramMaker, epilogue, failure, make_config, make_dram, where
from vta.config.targets import MemoryType
from vta.devices.device import Counters, RunOptions
from vta.devices.sim import Kernel, SimDevice
from vta.errors import DeviceError
from vta.isa import Opcode, encode
from vta.testing.isa_reference import IsaReference


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
