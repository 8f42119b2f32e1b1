"""The devices that tests run on, and what those that count cycles must agree on."""

from __future__ import annotations

from functools import cache

import pytest

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.cycle import CycleDevice
from vta.devices.device import Device, RunResult
from vta.devices.opencl import OpenclDevice
from vta.devices.sim import SimDevice
from vta.errors import DeviceError
from vta.hardware.opencl.program import find_place, kernel_source
from vta.hardware.verilator.library import Stalls
from vta.hardware.verilator.toolchain import compiler, find_verilator, require_amaranth

ENGINES = ("sim", "cycle", "rtl", "opencl")
MEMORY_BYTES = 1 << 25


def missing_for_rtl() -> str | None:
    """What keeps the core from being built here and how to install it, or None."""
    try:
        require_amaranth()
        find_verilator()
        compiler()
    except DeviceError as error:
        return str(error)
    return None


def require_rtl() -> None:
    """Skip the test where the core cannot be built; the reason says what is missing."""
    missing = missing_for_rtl()
    if missing:
        pytest.skip(missing)


@cache
def missing_for_opencl() -> str | None:
    """What keeps the kernel from running here and how to install it, or None."""
    try:
        find_place(kernel_source())
    except DeviceError as error:
        return str(error)
    return None


def open_engine(
    name: str,
    hw: HardwareConfig,
    memory_bytes: int = MEMORY_BYTES,
    timing: TimingParameters | None = None,
    stalls: Stalls | None = None,
) -> Device:
    """The device called `name`, for any target: engines differ in time, not in what they can do."""
    if name == "sim":
        return SimDevice(hw, memory_bytes)
    if name == "cycle":
        return CycleDevice(hw, timing, memory_bytes)
    if name == "opencl":
        missing = missing_for_opencl()
        if missing:
            pytest.skip(missing)
        return OpenclDevice(hw, memory_bytes)
    require_rtl()
    from vta.devices.rtl import RtlDevice

    return RtlDevice(hw, timing, memory_bytes, stalls=stalls)


def assert_same_time(cycle: RunResult, rtl: RunResult) -> None:
    """Cycles, each unit's counters, beats, bytes, micro-ops, instructions and tokens are equal, and add up."""
    assert rtl.cycles == cycle.cycles
    assert dict(rtl.units) == dict(cycle.units)
    assert {unit.total for unit in cycle.units.values()} == {cycle.cycles}
    assert (rtl.read_beats, rtl.write_beats) == (cycle.read_beats, cycle.write_beats)
    assert rtl.counters == cycle.counters
    assert rtl.operators == cycle.operators
    assert rtl.tokens == cycle.tokens
