"""Programs on the whole core: bits against the ISA reference, cycles and counters against the timing reference."""

from dataclasses import asdict

import numpy as np
import pytest

from tests.hardware.bench import Bench
from tests.hardware.programs import LOADED, STREAM_ADDRESS, Programs, in_order, loosely, small_config
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.fabric import Fabric, fabrics_for
from vta.hardware.identification import check_identification
from vta.hardware.registers import ErrorBit
from vta.isa import AluOp, Opcode, blank_instructions, encode
from vta.isa.assembly import assemble_instructions
from vta.testing.isa_reference import IsaReference
from vta.testing.timing_reference import reference_timing

CASES = {
    "defaults": (small_config(0, 2, 5), TimingParameters()),
    "shallow": (
        small_config(0, 2, 4),
        TimingParameters(
            bus_bits=128,
            burst_beats=4,
            load_fifo=5,
            acc_fifo=4,
            fetch_fifo=4,
            queue_depth=2,
            load_ahead=1,
            store_ahead=1,
            read_latency=1,
        ),
    ),
    "slow memory": (
        small_config(1, 2, 5),
        TimingParameters(
            bus_bits=256,
            burst_beats=2,
            load_fifo=2,
            acc_fifo=3,
            fetch_fifo=3,
            queue_depth=3,
            load_ahead=2,
            store_ahead=2,
            beat_interval=2,
            write_latency=9,
            read_latency=3,
        ),
    ),
    "wide bus": (
        small_config(0, 2, 5, (3, 1, 2, 3)),
        TimingParameters(bus_bits=512, burst_beats=8, load_fifo=9, acc_fifo=8, fetch_fifo=8),
    ),
    "slow responses": (
        small_config(0, 3, 5, (4, 3, 4, 4)),
        TimingParameters(burst_beats=16, load_fifo=16, acc_fifo=16, fetch_fifo=17, write_latency=40, store_ahead=3),
    ),
    "single beats": (
        small_config(2, 2, 4, (3, 2, 3, 3)),
        TimingParameters(bus_bits=128, burst_beats=1, load_fifo=1, acc_fifo=1, fetch_fifo=1, beat_interval=3),
    ),
}
TOTALS = ("inp_bytes", "wgt_bytes", "acc_bytes", "uop_bytes", "out_bytes", "gemm_uops", "reset_uops", "alu_uops")
INSTRUCTIONS = ("load_instructions", "compute_instructions", "store_instructions")


def drawn(hw, seed, length=7):
    """Random instructions behind loads that fill the memories, and the DRAM that they read."""
    programs = Programs(hw, np.random.default_rng(seed))
    dram = programs.dram()
    return np.concatenate([programs.fill(m) for m in LOADED[:4]] + [programs.any() for _ in range(length)]), dram


def assert_same_bits(run, program, dram, hw):
    stream = encode(program, hw)
    reference = IsaReference(hw, dram.copy(), checks=False)
    reference.dram[STREAM_ADDRESS : STREAM_ADDRESS + stream.size] = stream.reshape(-1)
    reference.run(stream)
    np.testing.assert_array_equal(run.dram, reference.dram)
    expected = asdict(reference.counters)
    assert {name: run.registers[name] for name in TOTALS + INSTRUCTIONS} == {
        name: expected[name] for name in TOTALS + INSTRUCTIONS
    }


def assert_same_cycles(run, program, hw, timing):
    expected = reference_timing(program, hw, timing, STREAM_ADDRESS)
    assert run.registers["cycles"] == expected.cycles
    assert run.units == {name: asdict(unit) for name, unit in expected.units.items() if name in run.units}
    assert run.registers["read_beats"] == expected.read_beats
    assert run.registers["write_beats"] == expected.write_beats


def test_worked_example():
    hw = HardwareConfig("rtl", "0.0.2", 3, 3, 5, 0, 4, 6, 8, 11, 10)
    text = """
        load inp sram=0 dram=128 y=1 x=4 stride=4 push=next
        gemm uop=0:1 loop=1,4 dst=0,1 src=0,1 wgt=0,0 pop=prev
        finish
    """
    program = assemble_instructions(text, hw)
    run = Bench(hw, TimingParameters()).run(program, np.zeros(4096, np.uint8), 0)
    assert run.registers["cycles"] == 58
    assert run.registers["gemm_uops"] == 4
    assert run.registers["inp_bytes"] == 64
    assert run.registers["read_beats"] == 14
    assert run.units["load"] == {"busy": 8, "memory": 17, "token": 0, "idle": 33}


@pytest.mark.parametrize("case", CASES)
def test_random_programs(case):
    hw, timing = CASES[case]
    bench = Bench(hw, timing)
    body, dram = drawn(hw, seed=len(case))
    ordered = in_order(body)
    run = bench.run(ordered, dram, STREAM_ADDRESS)
    assert_same_bits(run, ordered, dram, hw)
    assert_same_cycles(run, ordered, hw, timing)
    free = loosely(body, np.random.default_rng(1))
    assert_same_cycles(bench.run(free, dram, STREAM_ADDRESS), free, hw, timing)


@pytest.mark.parametrize("banks", [2, 4])
def test_a_core_for_xilinx(banks):
    hw, timing = CASES["slow responses"]
    assert Fabric(dsp48=True, accumulator_banks=banks) in fabrics_for("zynq-7000", hw, timing)
    body, dram = drawn(hw, seed=banks, length=5)
    ordered = in_order(body)
    run = Bench(hw, timing, Fabric(dsp48=True, accumulator_banks=banks)).run(ordered, dram, STREAM_ADDRESS)
    assert_same_bits(run, ordered, dram, hw)
    assert_same_cycles(run, ordered, hw, timing)


@pytest.mark.parametrize("case", ["defaults", "slow memory", "single beats"])
def test_memory_that_stalls_and_answers_out_of_order(case):
    hw, timing = CASES[case]
    body, dram = drawn(hw, seed=7, length=6)
    program = in_order(body)
    run = Bench(hw, timing).run(program, dram, STREAM_ADDRESS, stalls=np.random.default_rng(3))
    assert_same_bits(run, program, dram, hw)


def test_padded_loads_of_every_type():
    hw, timing = CASES["defaults"]
    body, dram = drawn(hw, seed=11, length=0)
    maker = Programs(hw, np.random.default_rng(5))
    padded = []
    for memory in LOADED[1:]:
        load = maker.transfer(Opcode.LOAD, memory)
        for name, value in {"sram_base": 0, "x_size": 2, "y_size": 2, "x_stride": 3}.items():
            load[name] = value
        for pads in ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 1, 1, 1)):
            for name, pad in zip(("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"), pads, strict=True):
                load[name] = pad
            padded.append(load.copy())
    show = assemble_instructions(
        """
        gemm uop=0:1 loop=1,16 dst=0,1 src=0,1 wgt=0,1
        alu shr uop=0:1 loop=1,32 dst=0,1 src=0,1 imm=0
        store out sram=0 dram=3000 y=1 x=32 stride=32
        """,
        hw,
    )
    dram[:64] = 0
    program = in_order(np.concatenate([body, *(part for load in padded for part in (load, show))]))
    run = Bench(hw, timing).run(program, dram, STREAM_ADDRESS)
    assert_same_bits(run, program, dram, hw)
    assert_same_cycles(run, program, hw, timing)


def test_a_second_run_counts_from_zero_and_keeps_tokens():
    hw, timing = CASES["defaults"]
    bench = Bench(hw, timing)
    program = assemble_instructions("load uop x=0 push=next\nfinish", hw)
    once, twice = (bench.run(program, np.zeros(4096, np.uint8), 0, runs=runs) for runs in (1, 2))
    assert twice.registers["tokens_compute_to_store"] == 2
    for name in ("cycles", "compute_instructions", "compute_busy", "read_beats"):
        assert once.registers[name] == twice.registers[name]


def test_tokens_can_be_set():
    hw, timing = CASES["defaults"]
    program = assemble_instructions("load inp x=0 pop=next\nfinish", hw)
    run = Bench(hw, timing).run(program, np.zeros(4096, np.uint8), 0, setup={"tokens_compute_to_load": 3})
    assert run.registers["tokens_compute_to_load"] == 2


def test_errors_are_reported_and_do_nothing():
    hw, _ = CASES["defaults"]
    timing = TimingParameters(token_limit=1)
    program = blank_instructions(6)
    program["opcode"][[2, 5]] = Opcode.ALU, Opcode.FINISH
    program["memory_type"][:2] = MemoryType.OUT, MemoryType.UOP
    program["x_size"][0] = program["y_size"][0] = 1
    program["push_next"][[1, 3]] = 1
    for name in ("uop_end", "iter_out", "iter_in"):
        program[name][2] = 1
    program["alu_opcode"][2] = max(AluOp) + 1
    run = Bench(hw, timing).run(program, np.zeros(4096, np.uint8), 0, setup={"interrupt_enable": 0})
    assert run.registers["errors"] == 0b110100
    assert run.registers["interrupt_status"] == 0b11
    assert run.registers["alu_uops"] == 0
    assert run.registers["tokens_compute_to_store"] == 1


@pytest.mark.parametrize("length", [0, 2])
def test_a_stream_without_finish_ends_with_an_error(length):
    hw, timing = CASES["defaults"]
    program = assemble_instructions("load uop x=0\nload uop sram=0 dram=8 y=1 x=2 stride=2", hw)[:length]
    run = Bench(hw, timing).run(program, np.zeros(4096, np.uint8), 0)
    assert run.registers["errors"] == 1 << ErrorBit.MISSING_FINISH
    assert run.registers["uop_bytes"] == 4 * length


@pytest.mark.parametrize("case", ["shallow", "single beats"])
def test_the_core_says_what_it_was_built_for(case):
    hw, timing = CASES[case]
    run = Bench(hw, timing).run(assemble_instructions("finish", hw), np.zeros(4096, np.uint8), 0)
    check_identification(run.registers.__getitem__, hw, timing.bus_bits)
