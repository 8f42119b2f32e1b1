"""REQUANTIZE, tables and DEPTHWISE on the core: bits against the ISA reference, cycles against the timing reference."""

from dataclasses import replace

import numpy as np
import pytest

from tests.hardware.bench import Bench
from tests.hardware.core.test_core import assert_same_bits, assert_same_cycles
from tests.hardware.programs import LOADED, STREAM_ADDRESS, Programs, in_order, small_config
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.fabric import PLAIN, Fabric
from vta.isa import AluOp, Opcode, blank_instructions
from vta.isa.assembly import assemble_instructions
from vta.isa.instruction import REQUANTIZE_KEEP, REQUANTIZE_TABLE, REQUANTIZE_WIDE

HW = replace(small_config(0, 3, 5, (4, 3, 4, 5)), requantize_unit=1, table_unit=1, depthwise_unit=1)
FIRST_PARAMETER, FIRST_ROW = 8, 16

FINISHED = ("gemm uop=0:3 loop=2,2 dst=6,3 src=1,1 wgt=1,1 flags=1", "depthwise uop=0:2 loop=1,4 dst=0,2 src=1,1 wgt=0,1 flags=1")
"""Products that requantize with the parameters that were kept."""


def requantize(flags, rows, iter_out, iter_in):
    """Twelve rows at most, from `FIRST_ROW` on, with parameters from `FIRST_PARAMETER` on."""
    insn = blank_instructions(1)
    insn["opcode"], insn["alu_opcode"], insn["imm"] = Opcode.ALU, AluOp.REQUANTIZE, flags
    insn["uop_end"], insn["iter_out"], insn["iter_in"] = rows, iter_out, iter_in
    insn["dst_factor_out"], insn["dst_factor_in"] = rows * iter_in, rows
    insn["src_factor_out"], insn["src_factor_in"] = 1, 2
    return insn


def program_of(hw, seed):
    """Requantizations of random rows with random parameters, each followed by what uses the same parts of the core."""
    programs = Programs(hw, np.random.default_rng(seed))
    dram = programs.dram()
    acc = hw.log_depth[LOADED[3]]
    uops = FIRST_ROW + np.arange(hw.uop_depth) % 4 | FIRST_PARAMETER << acc
    dram[: 4 * len(uops)] = uops.astype("<u4").view(np.uint8)
    parts = [programs.fill(memory) for memory in LOADED[:4]]
    following = [
        "alu mul uop=0:4 loop=1,4 dst=0,4 src=0,1",
        "alu shr uop=0:4 loop=1,4 dst=0,4 src=0,1 imm=-3",
        "gemm uop=0:3 loop=1,4 dst=0,3 src=0,0 wgt=0,0",
        "load acc sram=16 dram=200 y=1 x=16 stride=16",
        "depthwise uop=0:3 loop=2,2 dst=6,3 src=2,1 wgt=0,0",
    ]
    for wide, text in zip((0, 1, 1, 0, 1, 0, 0), following * 2, strict=False):
        loops = [int(value) for value in programs.rng.integers(1, (4, 3, 3))]
        parts += [requantize(REQUANTIZE_WIDE if wide else 0, *loops), assemble_instructions(text, hw)]
        parts += [programs.fill(MemoryType.TABLE), requantize(REQUANTIZE_TABLE, 3, 2, 2), requantize(0, 0, 1, 1)]
        # The first rows are written while the last ones are read.
        spread = assemble_instructions("alu requantize uop=0:1 loop=2,2 dst=4,2 src=1,2 flags=1", hw)
        stored = assemble_instructions("store out sram=16 dram=1040 y=1 x=12 stride=12", hw)
        parts += [requantize(REQUANTIZE_WIDE, 3, 2, 2), stored, programs.fill(LOADED[3]), spread, stored] if wide else []
        flags = (REQUANTIZE_KEEP, REQUANTIZE_KEEP | REQUANTIZE_TABLE)[loops[0] % 2]
        parts += [requantize(flags, *loops), *(assemble_instructions(line, hw) for line in (*FINISHED, text))]
        parts += [assemble_instructions("store out sram=16 dram=1024 y=1 x=16 stride=16", hw)]
    return in_order(np.concatenate(parts)), dram


@pytest.mark.parametrize("fabric", [PLAIN, Fabric(dsp48=True, accumulator_banks=2)], ids=["plain", "coded"])
def test_requantize(fabric):
    program, dram = program_of(HW, seed=3)
    timing = TimingParameters()
    run = Bench(HW, timing, fabric).run(program, dram, STREAM_ADDRESS)
    assert_same_bits(run, program, dram, HW)
    assert_same_cycles(run, program, HW, timing)
