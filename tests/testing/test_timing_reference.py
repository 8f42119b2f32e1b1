"""The stepped reference of the timing contract, against what the contract itself says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timed_programs import CONFIGS
from vta.config.timing import TimingParameters
from vta.devices.device import UnitCycles
from vta.errors import DeviceError
from vta.isa.assembly import assemble_instructions
from vta.testing.timing_reference import cut, reference_timing

HW = CONFIGS[0]


def step(text, **timing):
    return reference_timing(assemble_instructions(text, HW), HW, TimingParameters(**timing), limit_cycles=20_000)


def test_the_worked_example_of_the_contract():
    result = step("""
        load inp sram=0 dram=256 y=1 x=4 stride=4 push=next
        gemm uop=0:4 loop=1,1 pop=prev
        finish
    """)
    assert result.cycles == 58
    assert result.accepted == {0: 20, 1: 46, 2: 50}
    assert result.completed == {0: 45, 1: 56, 2: 57}
    assert result.units["fetch"] == UnitCycles(busy=3, token=0, memory=21, idle=34)
    assert result.units["load"] == UnitCycles(busy=8, token=0, memory=17, idle=33)
    assert result.units["compute"] == UnitCycles(busy=5, token=24, memory=0, idle=29)
    assert result.units["store"] == UnitCycles(idle=58)
    assert (result.read_beats, result.write_beats) == (14, 0)


def test_a_store_sends_its_beats_from_the_second_cycle_on():
    result = step("store out sram=0 dram=256 y=1 x=3 stride=3 push=prev\nload uop x=0 pop=next\nfinish", write_latency=5)
    assert result.completed[0] == result.accepted[0] + 1 + 6 + 5
    assert result.accepted[1] == result.completed[0] + 1
    assert result.units["store"].busy == 7
    assert result.write_beats == 6


def test_zeros_are_written_while_data_is_awaited():
    padded = step("load inp sram=0 dram=256 y=1 x=1 stride=1 pad=0,0,3,3 push=next\nload uop x=0 pop=prev\nfinish")
    plain = step("load inp sram=0 dram=256 y=1 x=1 stride=1 push=next\nload uop x=0 pop=prev\nfinish")
    assert padded.cycles == plain.cycles
    assert padded.units["load"].busy == plain.units["load"].busy + 6


def test_fetch_goes_before_accumulator_loads_and_these_before_loads():
    loads = "load inp sram=0 dram=256 y=1 x=256 stride=256\nload acc sram=0 dram=256 y=1 x=64 stride=64\nfinish"
    result = step(loads, burst_beats=1, read_latency=1)
    alone = step("load uop x=0\nload acc sram=0 dram=256 y=1 x=64 stride=64\nfinish", burst_beats=1, read_latency=1)
    assert result.completed[1] - result.accepted[1] == alone.completed[1] - alone.accepted[1]


def test_too_many_tokens_are_an_error():
    with pytest.raises(DeviceError, match="more than 2 tokens in queue load_to_compute"):
        step("load inp x=0 push=next\n" * 3 + "finish", token_limit=2)


def test_a_deadlock_is_an_error():
    with pytest.raises(DeviceError, match="not reached in 20000 cycles"):
        step("load uop x=0 pop=prev\nfinish")


@settings(max_examples=200)
@given(st.integers(0, 2000), st.integers(1, 2000), st.sampled_from((64, 128, 512)), st.integers(0, 6))
def test_bursts_cover_the_row_and_cross_no_boundary(address, nbytes, bus_bits, log_burst):
    timing = TimingParameters(bus_bits=bus_bits, burst_beats=1 << log_burst)
    word = address // timing.bus_bytes
    for beats in cut(address, nbytes, timing):
        assert word // timing.burst_beats == (word + beats - 1) // timing.burst_beats
        word += beats
    assert word == (address + nbytes - 1) // timing.bus_bytes + 1
