"""The cycle device: the simulator's bytes and counters, with time."""

import numpy as np
import pytest

from vta.config.timing import TimingParameters
from vta.devices.cycle import CycleDevice
from vta.devices.device import Device, RunOptions, Tokens
from vta.devices.sim import SimDevice
from vta.errors import DeviceError
from vta.runtime.module import Module


@pytest.fixture
def hw(hardware):
    return hardware()


def test_it_is_a_device(hw):
    device = CycleDevice(hw)
    assert isinstance(device, Device)
    assert device.name == "cycle"
    assert device.preset.value == "rtl"
    assert device.timing == TimingParameters()


@pytest.mark.parametrize("preset", ["rtl", "chisel", "hls"])
def test_outputs_and_counters_are_those_of_the_simulator(hw, module_builder, sampler, preset):
    inputs, expected = sampler()
    with Module(module_builder(hw), SimDevice(hw)) as module:
        simulated = module.run(inputs)
    with Module(module_builder(hw), CycleDevice(hw, preset=preset)) as module:
        check = module.check(inputs)
    assert check.bit_exact
    np.testing.assert_array_equal(check.run.outputs[0], expected)
    assert check.run.counters == simulated.counters
    assert check.run.operators == simulated.operators
    ((region, result),) = check.run.results
    assert region.name == "region0"
    assert result.cycles == check.run.cycles > 0
    assert result.preset == preset
    assert result.tokens == Tokens()


def test_timing_alone_counts_the_same_and_computes_nothing(hw, module_builder, sampler):
    inputs, _ = sampler()
    with Module(module_builder(hw), CycleDevice(hw)) as module:
        full = module.run(inputs)
    with Module(module_builder(hw), CycleDevice(hw, timing_only=True)) as module:
        alone = module.run(inputs)
    assert (alone.cycles, alone.counters, alone.operators) == (full.cycles, full.counters, full.operators)
    assert alone.results[0][1].units == full.results[0][1].units
    assert (alone.outputs[0] == alone.outputs[0].flat[0]).all()


def test_parameters_change_the_time_but_not_the_result(hw, module_builder, sampler):
    inputs, expected = sampler()
    cycles = []
    for timing in (TimingParameters(), TimingParameters(read_latency=200), TimingParameters(bus_bits=512)):
        with Module(module_builder(hw), CycleDevice(hw, timing)) as module:
            report = module.run(inputs)
        np.testing.assert_array_equal(report.outputs[0], expected)
        cycles.append(report.cycles)
    assert cycles[1] > cycles[0] > cycles[2]


def test_tokens_live_on_with_the_state(hw, module_builder):
    stream = module_builder(hw).regions[0].program.encoded(0)
    for device in (CycleDevice(hw, memory_bytes=1 << 20, timing_only=True), CycleDevice(hw, memory_bytes=1 << 20)):
        first = device.run(stream, RunOptions(last=6))
        assert first.tokens == Tokens(compute_to_store=1)
        assert device.run(stream, RunOptions(first=6, last=7, keep_state=True)).tokens == Tokens(store_to_compute=1)
        with pytest.raises(DeviceError, match="deadlock"):
            device.run(stream, RunOptions(first=6, last=7))


def test_an_error_of_the_data_is_an_error_of_the_run(hw, module_builder):
    stream = module_builder(hw).regions[0].program.encoded(1 << 24)
    with pytest.raises(DeviceError, match="reaches DRAM byte"):
        CycleDevice(hw, memory_bytes=1 << 20).run(stream)
