"""Every cycle of a run has one cause: the worked example by hand, random programs, and all presets."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timed_programs import CONFIGS, programs, timings
from vta.codegen.region_program import MOVE_SUFFIX
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.devices.device import RunOptions
from vta.devices.engine.cycle_engine import CycleEngine, Preset
from vta.errors import DeviceError
from vta.explanation.attribution import PRODUCTS, attribute
from vta.explanation.causes import Cause
from vta.isa import Opcode, Program, blank_instructions

HW = CONFIGS[0]
TIMED = RunOptions(timeline=True)


def program_of(rows, hw=HW, operators=("layer",), index=None):
    index = np.zeros(len(rows), np.int32) if index is None else np.asarray(index, np.int32)
    return Program(hw, rows, np.zeros(0, np.uint8), 1 << 20, (), operators, index, np.full(len(rows), -1, np.int32))


def explained(program, timing=None, preset=Preset.RTL):
    result = CycleEngine(program.hw, timing, preset).run(program.encoded(), TIMED)
    return attribute(program, result), result.cycles


def instruction(**fields):
    row = blank_instructions(1)
    for name, value in fields.items():
        row[name] = value
    return row


def load(memory, elements, **more):
    sizes = {"x_size": elements, "y_size": 1, "x_stride": elements}
    return instruction(opcode=Opcode.LOAD, memory_type=memory, **sizes, **more)


def micro_ops(opcode, count, **more):
    return instruction(opcode=opcode, uop_end=1, iter_out=1, iter_in=count, **more)


def finish():
    return instruction(opcode=Opcode.FINISH)


def rows_of(*rows):
    return np.concatenate(rows)


def lost(found, operator="layer"):
    return {cause if cause == PRODUCTS else cause.value: cycles for cause, cycles in found.of(operator).items() if cycles}


def test_the_worked_example_of_the_timing_contract():
    rows = rows_of(load(MemoryType.INP, 4, push_next=1), micro_ops(Opcode.GEMM, 4, pop_prev=1), finish())
    found, cycles = explained(program_of(rows))
    # Micro-ops are issued at 47 to 50, and the run ends at 57.
    assert (cycles, lost(found)) == (58, {Cause.FILL.value: 47, PRODUCTS: 4, Cause.DRAIN.value: 7})


def test_a_wait_for_data_is_divided_into_latency_and_beats():
    rows = rows_of(
        micro_ops(Opcode.GEMM, 1), load(MemoryType.INP, 64, push_next=1), micro_ops(Opcode.GEMM, 1, pop_prev=1), finish()
    )
    found, _ = explained(program_of(rows))
    assert lost(found)[Cause.BUS_WIDTH.value] == 128, "64 elements of 16 bytes on a bus of 8"
    slow, _ = explained(program_of(rows), TimingParameters(read_latency=100))
    assert lost(slow)[Cause.BUS_WIDTH.value] == 128
    assert lost(slow)[Cause.MEMORY_LATENCY.value] == lost(found)[Cause.MEMORY_LATENCY.value] + 84


def test_micro_ops_are_told_apart():
    rows = rows_of(
        load(MemoryType.UOP, 4),
        load(MemoryType.ACC, 2),
        micro_ops(Opcode.GEMM, 10, reset=1),
        micro_ops(Opcode.GEMM, 20),
        micro_ops(Opcode.GEMM, 3),
        micro_ops(Opcode.ALU, 5, alu_opcode=3, use_imm=1),
        micro_ops(Opcode.ALU, 6, alu_opcode=1, use_imm=1),
        finish(),
    )
    found, _ = explained(program_of(rows, operators=("layer", "layer" + MOVE_SUFFIX), index=[0, 0, 0, 0, 1, 0, 0, -1]))
    cycles = lost(found)
    assert {name: cycles[name] for name in ("starts", PRODUCTS, "moves", "requantization", "clips")} == {
        "starts": 10,
        PRODUCTS: 20,
        "moves": 3,
        "requantization": 5,
        "clips": 6,
    }
    assert cycles["uop_loads"] > 0
    assert cycles["constant_loads"] > 0


def test_waits_belong_to_the_operator_that_waits():
    rows = rows_of(
        micro_ops(Opcode.GEMM, 1), load(MemoryType.INP, 64, push_next=1), micro_ops(Opcode.GEMM, 1, pop_prev=1), finish()
    )
    found, _ = explained(program_of(rows, operators=("first", "second"), index=[0, 1, 1, -1]))
    assert Cause.BUS_WIDTH.value not in lost(found, "first")
    assert lost(found, "second")[Cause.BUS_WIDTH.value] == 128


@settings(max_examples=40)
@given(st.data())
def test_causes_of_random_programs_add_up(data):
    hw = data.draw(st.sampled_from(CONFIGS))
    rows = data.draw(programs(hw))
    owners = data.draw(st.lists(st.integers(-1, 1), min_size=len(rows), max_size=len(rows)))
    program = program_of(rows, hw, ("first", "second"), owners)
    preset = data.draw(st.sampled_from(list(Preset)))
    timing = data.draw(timings())
    with contextlib.suppress(DeviceError):  # A token queue that overflows.
        found, cycles = explained(program, timing, preset)
        assert found.cycles.min() >= 0
        assert found.cycles.sum() == cycles


@pytest.mark.parametrize("preset", Preset)
def test_a_program_without_work_fills_and_drains(preset):
    found, cycles = explained(program_of(rows_of(finish())), preset=preset)
    assert sum(lost(found).values()) == cycles


def test_a_program_that_does_not_know_its_operators():
    rows = rows_of(micro_ops(Opcode.GEMM, 4), finish())
    none = np.zeros(0, np.int32)
    found, cycles = explained(Program(HW, rows, np.zeros(0, np.uint8), 1 << 20, (), (), none, none))
    assert found.operators == ("",)
    assert found.cycles.sum() == cycles
