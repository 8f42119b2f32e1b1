"""Many samples in one call of the simulator: what each run by itself gives, and the same errors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.devices.test_sim import HW, alu, endless, load, put, store, stream
from vta.config.targets import MemoryType
from vta.devices.cycle import CycleDevice
from vta.devices.device import DeviceState, RunOptions, SampleDevice
from vta.devices.sim import SimDevice
from vta.errors import DeviceError, TimeLimitError
from vta.isa import AluOp
from vta.native import lib


@pytest.fixture
def device():
    return SimDevice(HW, memory_bytes=1 << 20)


def adder(device):
    """A program that adds 5 to 16 values, and the addresses of its input and output."""
    uop, source, target = put(device, np.zeros(1, np.uint32)), device.allocate(64), device.allocate(16)
    added = alu(AluOp.ADD, 5)
    added["push_next"] = 1
    program = stream(load(MemoryType.UOP, uop), load(MemoryType.ACC, source), added, store(target, pop_prev=1))
    return program, source, target


@pytest.mark.parametrize("samples", [1, 7])
@pytest.mark.parametrize("seed", [None, 3])
def test_each_sample_gives_what_a_run_gives(device, samples, seed):
    program, source, target = adder(device)
    values = np.random.default_rng(samples).integers(-90, 90, (samples, 16), np.int32)
    options = RunOptions(seed=seed, dram_checks=True)
    (got,) = device.run_samples(program, samples, [(source, values.view(np.uint8))], [(target, 16)], options)
    assert device.status().runs == samples
    for sample, stored in zip(values, got.view(np.int8), strict=True):
        device.write(source, sample.view(np.uint8))
        device.run(program, options)
        np.testing.assert_array_equal(stored, device.read(target, 16).view(np.int8))
        np.testing.assert_array_equal(stored, sample + 5)


def test_the_same_addresses_hold_for_a_twin(device):
    twin = device.twin()
    assert (twin.hw, twin.kernel, twin.memory_bytes) == (device.hw, device.kernel, device.memory_bytes)
    program, source, target = adder(device)
    assert adder(twin)[1:] == (source, target)
    values = np.zeros((2, 64), np.uint8)
    (got,) = twin.run_samples(program, 2, [(source, values)], [(target, 16)])
    assert (got == 5).all()
    assert not device.read(target, 16).any()


def test_values_outside_of_allocations_are_refused(device):
    program, source, target = adder(device)
    values = np.zeros((2, 64), np.uint8)
    with pytest.raises(DeviceError, match="not inside an allocation"):
        device.run_samples(program, 2, [(source + 4090, values)], [(target, 16)])
    with pytest.raises(DeviceError, match="not inside an allocation"):
        device.run_samples(program, 2, [(source, values)], [(target, 8192)])


def test_a_failing_run_is_told_and_the_next_starts_clean(device):
    program, source, target = adder(device)
    values = np.zeros((3, 64), np.uint8)
    with pytest.raises(DeviceError, match="deadlock"):
        device.run_samples(stream(store(target, pop_prev=1)), 3, [(source, values)], [(target, 16)])
    assert device.status().state is DeviceState.FAILED
    assert (device.run_samples(program, 3, [(source, values)], [(target, 16)])[0] == 5).all()


def test_what_a_run_that_begins_again_finds_counts_as_zero(device):
    """Where reads are checked nothing is zeroed before the next sample, which could not tell; a run without checks could."""
    program, source, target = adder(device)
    device.run_samples(program, 2, [(source, np.full((2, 64), 7, np.uint8))], [(target, 16)])
    assert device.read(target, 16).any()
    assert lib.vta_functional_begin_again(device._engine) == lib.VTA_MORE
    unchecked = RunOptions(checks=False, keep_state=True)
    device.run(stream(store(target)), unchecked)
    assert not device.read(target, 16).any()
    added = alu(AluOp.ADD, 1)
    added["push_next"] = 1
    device.run(stream(added, store(target, pop_prev=1)), unchecked)
    assert (device.read(target, 16) == 1).all()


def test_the_time_limit_is_that_of_each_run(device):
    with pytest.raises(TimeLimitError, match=r"time limit: not done after 0.01 s; 1 instructions executed"):
        device.run_samples(endless(device), 2, [], [], RunOptions(checks=False, limit_seconds=0.01))


def test_a_closed_device_runs_no_samples(device):
    program, source, target = adder(device)
    device.close()
    with pytest.raises(DeviceError, match="is closed"):
        device.run_samples(program, 1, [(source, np.zeros((1, 64), np.uint8))], [(target, 16)])


def test_what_is_made_of_a_simulator_runs_by_itself(device):
    assert isinstance(device, SampleDevice)
    assert device.runs_samples
    assert not CycleDevice(HW, memory_bytes=1 << 20).runs_samples
