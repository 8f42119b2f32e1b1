from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timed_programs import CONFIGS, programs, timings
from vta.config.timing import TimingParameters
from vta.devices.device import DEFAULT_OPTIONS, TIMELINE_KINDS, TIMELINE_UNITS, RunOptions, Tokens
from vta.devices.engine.cycle_engine import CycleEngine, Preset
from vta.errors import DeviceError, TimeLimitError
from vta.isa import encode
from vta.isa.assembly import assemble_instructions
from vta.testing.timing_reference import reference_timing

HW = CONFIGS[0]
EXAMPLE = """
    load inp sram=0 dram=256 y=1 x=4 stride=4 push=next
    gemm uop=0:4 loop=1,1 pop=prev
    finish
"""


def run(text, timing=None, preset=Preset.RTL, options=DEFAULT_OPTIONS, tokens=None):
    return CycleEngine(HW, timing, preset).run(encode(assemble_instructions(text, HW), HW), options, tokens)


def times_by_index(column):
    return {index: int(cycle) for index, cycle in enumerate(column) if cycle >= 0}


def reference_or_error(program, hw, timing):
    try:
        return reference_timing(program, hw, timing, limit_cycles=100_000), ""
    except DeviceError as error:
        return None, str(error)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_it_equals_the_stepped_reference(data):
    hw, timing = data.draw(st.sampled_from(CONFIGS)), data.draw(timings())
    program = data.draw(programs(hw))
    expected, error = reference_or_error(program, hw, timing)
    engine = CycleEngine(hw, timing)
    if expected is None:
        with pytest.raises(DeviceError, match=r"tokens in the|deadlock"):
            engine.run(encode(program, hw))
        assert "tokens in queue" in error or "FINISH was not reached" in error
        return
    result = engine.run(encode(program, hw), RunOptions(timeline=True))
    assert result.cycles == expected.cycles
    assert result.units == expected.units
    assert (result.read_beats, result.write_beats) == (expected.read_beats, expected.write_beats)
    assert times_by_index(result.times.accepted) == expected.accepted
    assert times_by_index(result.times.completed) == expected.completed
    check_timeline(result)


def check_timeline(result):
    for index, name in enumerate(TIMELINE_UNITS):
        rows = result.timeline[result.timeline["unit"] == index]
        rows = rows[np.argsort(rows["start"])]
        assert (rows["start"][1:] >= rows["end"][:-1]).all()
        lengths = rows["end"] - rows["start"]
        for kind, what in enumerate(TIMELINE_KINDS):
            assert lengths[rows["kind"] == kind].sum() == getattr(result.units[name], what)


def test_the_worked_example_of_the_contract():
    result = run(EXAMPLE)
    assert result.cycles == 58
    assert result.preset == "rtl"
    assert result.times.dispatched.tolist() == [19, 21, 23]
    assert result.times.accepted.tolist() == [20, 46, 50]
    assert result.times.completed.tolist() == [45, 56, 57]
    assert result.times.busy.tolist() == [8, 4, 1]
    assert result.times.memory.tolist() == [17, 0, 0]
    assert result.times.token.tolist() == [0, 24, 0]
    assert all(unit.total == 58 for unit in result.units.values())
    assert result.timeline is None


def test_an_engine_forgets_the_run_before():
    engine = CycleEngine(HW)
    stream = encode(assemble_instructions(EXAMPLE, HW), HW)
    first, again = engine.run(stream), engine.run(stream)
    assert (first.cycles, first.units) == (again.cycles, again.units)


def test_counters_are_those_of_the_instructions():
    text = EXAMPLE.replace(
        "finish", "gemm reset uop=0:2 loop=3,1\nload acc_8bit sram=0 dram=64 y=2 x=3 stride=3 pad=0,0,1,1\nfinish"
    )
    owners = RunOptions(operator_index=np.array([0, 1, -1, 1, 0], np.int32), operator_count=2)
    result = run(text, options=owners)
    assert (result.counters.inp_bytes, result.counters.acc_bytes) == (64, 6 * 64)
    assert (result.counters.gemm_uops, result.counters.reset_uops, result.counters.macs) == (4, 6, 4 * 256)
    assert (result.counters.load_instructions, result.counters.compute_instructions) == (1, 4)
    assert [counters.inp_bytes for counters in result.operators] == [64, 0]
    assert [counters.acc_bytes for counters in result.operators] == [0, 6 * 64]


def test_a_segment_without_finish_ends_with_its_last_instruction():
    result = run(EXAMPLE, options=RunOptions(last=2))
    assert result.cycles == result.times.completed.max() + 1
    assert result.tokens == Tokens()


@pytest.mark.parametrize("preset", Preset)
def test_a_run_may_start_and_end_with_tokens(preset):
    given_tokens = Tokens(store_to_compute=2)
    result = run("load uop x=0 pop=next\nload uop x=0 push=prev\nfinish", preset=preset, tokens=given_tokens)
    assert result.tokens == Tokens(store_to_compute=1, compute_to_load=1)


@pytest.mark.parametrize("preset", Preset)
def test_a_deadlock_names_who_waits_for_what(preset):
    with pytest.raises(DeviceError) as caught:
        run("load uop x=0 pop=prev\nfinish", preset=preset)
    assert "load unit: no instruction left; compute unit: instruction 0 waits for a load-to-compute token" in str(caught.value)


def test_a_full_queue_in_front_of_the_awaited_push_is_a_deadlock():
    text = "load uop x=0 pop=prev\n" * 4 + "load inp x=0 push=next\n" * 4 + "finish"
    assert run(text).cycles
    with pytest.raises(DeviceError, match="instruction 4 is held up in the fetch unit by a full queue"):
        run(text, TimingParameters(queue_depth=2))


def test_a_queue_that_overflows_is_named():
    with pytest.raises(DeviceError, match="more than 3 tokens in the load-to-compute queue"):
        run("load inp x=0 push=next\n" * 4 + "finish", TimingParameters(token_limit=3))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"memory_type": 4}, r"instruction 0 \(compute unit\): LOAD has memory_type 4; allowed: 0, 1, 2, 3 and 5"),
        ({"y_size": 60000}, r"instruction 0 \(load unit\): reaches SRAM row"),
        ({"push_prev": 1}, "push_prev is set"),
    ],
)
def test_an_instruction_that_cannot_run_is_named(change, words):
    program = assemble_instructions(EXAMPLE, HW)
    for name, value in change.items():
        program[name][0] = value
    with pytest.raises(DeviceError, match=words):
        CycleEngine(HW).run(encode(program, HW))


def cost_of(line, preset=Preset.CHISEL, bus_bits=64):
    """Cycles from the acceptance of an instruction until its unit takes the next."""
    timing = TimingParameters(bus_bits=bus_bits, burst_beats=8)
    times = run(line, timing, preset).times
    return int(times.completed[0] - times.accepted[0]) + 1


@pytest.mark.parametrize(
    ("line", "bus_bits", "cycles"),
    [
        ("gemm uop=0:4 loop=3,2", 64, 24 + 7),
        ("gemm reset uop=0:1 loop=16,1", 64, 16 + 7),
        ("alu add uop=0:2 loop=1,5 imm=3", 64, 10 + 7),
        ("alu add uop=0:2 loop=1,5", 64, 20 + 7),
        ("load uop x=0", 64, 2),
        ("load inp sram=0 dram=256 y=3 x=3 stride=50", 64, 23 + 18),
        ("load wgt sram=0 dram=256 y=1 x=9 stride=9", 64, 23 + 288),
        ("load inp sram=0 dram=256 y=2 x=3 stride=50", 128, 22 + 6),
        ("load inp sram=0 dram=256 y=1 x=1 stride=1 pad=2,0,0,0", 64, 25 + 2),
        ("load inp sram=0 dram=256 y=5 x=1 stride=1 pad=0,0,15,15", 64, 2 + 10 + 150),
        ("store out sram=0 dram=256 y=1 x=4 stride=4", 64, 1 + 3 * 4 + 3),
        ("store out sram=0 dram=256 y=2 x=5 stride=8", 64, 1 + 2 * (3 * 5 + 2 * 3)),
    ],
)
def test_costs_of_the_chisel_design(line, bus_bits, cycles):
    assert cost_of(line, bus_bits=bus_bits) == cycles


def test_the_hls_design_fills_its_pipeline_in_every_inner_loop():
    flat, nested = (cost_of(f"gemm uop=0:{uops} loop={loops},1", Preset.HLS) for uops, loops in ((12, 1), (1, 12)))
    assert nested - flat == 11 * 8
    assert cost_of("alu add uop=0:12 loop=1,1 imm=1", Preset.HLS) - flat == 12


@pytest.mark.parametrize("preset", [Preset.CHISEL, Preset.HLS])
def test_approximations_say_so(preset):
    assert not preset.exact
    result = run(EXAMPLE, preset=preset)
    assert result.preset == preset.value
    assert all(unit.total == result.cycles for unit in result.units.values())


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_approximations_account_for_every_cycle(data):
    hw, timing = data.draw(st.sampled_from(CONFIGS)), data.draw(timings())
    program = data.draw(programs(hw))
    # Whether a program deadlocks is a matter of its tokens, where queues hold all of it.
    timing = replace(timing, token_limit=255, queue_depth=max(timing.queue_depth, len(program)))
    code, preset = encode(program, hw), data.draw(st.sampled_from((Preset.CHISEL, Preset.HLS)))
    try:
        CycleEngine(hw, timing).run(code)
    except DeviceError:
        with pytest.raises(DeviceError, match="deadlock"):
            CycleEngine(hw, timing, preset).run(code)
        return
    result = CycleEngine(hw, timing, preset).run(code, RunOptions(timeline=True))
    assert all(unit.idle < 1 << 40 and unit.total == result.cycles for unit in result.units.values())
    check_timeline(result)


def test_a_run_over_its_time_limit_is_an_error():
    rows = "\n".join(["load inp sram=0 dram=0 y=2000 x=1 stride=1"] * 100)
    with pytest.raises(TimeLimitError, match="time limit: not done after 1e-06 s"):
        run(rows, options=RunOptions(limit_seconds=1e-6))
