"""The rtl device on a small core: one build, a few seconds."""

import numpy as np
import pytest

from vta.config.timing import TimingParameters
from vta.devices.cycle import CycleDevice
from vta.devices.device import Device, DeviceState, RunOptions, Tokens
from vta.devices.rtl import RtlDevice, core_library
from vta.errors import DeviceError
from vta.hardware.verilator.toolchain import compiler, find_verilator, require_amaranth, require_fst_headers
from vta.isa import Opcode, blank_instructions, encode
from vta.testing.fuzz.campaign import case_of
from vta.testing.fuzz.points import default_points

POINT = default_points()[6]
MEMORY_BYTES = 1 << 20


@pytest.fixture(autouse=True, scope="module")
def tools():
    try:
        find_verilator()
        compiler()
        require_amaranth()
    except DeviceError as error:
        pytest.skip(str(error))


def open_rtl(**values):
    return RtlDevice(POINT.hw, POINT.timing, MEMORY_BYTES, **values)


def placed(device, seed=3):
    program = case_of(POINT, seed)[0]
    base = device.allocate(program.image_bytes)
    device.write(base, program.image)
    return program, base


def stream(*rows):
    instructions = blank_instructions(len(rows))
    for index, row in enumerate(rows):
        for name, value in row.items():
            instructions[name][index] = value
    return encode(instructions, POINT.hw)


FINISH = {"opcode": Opcode.FINISH}
NOTHING = {"opcode": Opcode.LOAD}  # an empty load of micro-ops, which belongs to the compute unit


def test_is_a_device():
    device = open_rtl()
    assert isinstance(device, Device)
    assert (device.name, device.hw, device.memory_bytes) == ("rtl", POINT.hw, MEMORY_BYTES)
    first = device.allocate(100)
    device.write(first, np.arange(100, dtype=np.uint8))
    np.testing.assert_array_equal(device.read(first, 100), np.arange(100, dtype=np.uint8))
    device.free(first)
    assert device.allocate(1) == first


def test_equals_the_cycle_device():
    results = []
    for device in (open_rtl(), CycleDevice(POINT.hw, POINT.timing, MEMORY_BYTES)):
        program, base = placed(device)
        operators = np.arange(len(program.instructions), dtype=np.int32) % 2
        run = device.run(program.encoded(base), RunOptions(operator_index=operators, operator_count=2))
        results.append((run, device.read(base, program.image_bytes)))
    (rtl, image), (cycle, expected) = results
    np.testing.assert_array_equal(image, expected)
    for name in ("counters", "operators", "tokens", "cycles", "units", "read_beats", "write_beats", "preset"):
        assert getattr(rtl, name) == getattr(cycle, name), name


def test_runs_follow_each_other():
    device = open_rtl()
    program, base = placed(device)
    first = device.run(program.encoded(base))
    after = device.read(base, program.image_bytes)
    device.write(base, program.image)
    again = device.run(program.encoded(base))
    assert (again.cycles, again.units) == (first.cycles, first.units)
    np.testing.assert_array_equal(device.read(base, program.image_bytes), after)


def test_segments_keep_state_and_tokens():
    device = open_rtl()
    code = stream({**NOTHING, "push_next": 1}, {**NOTHING, "push_prev": 1}, FINISH)
    first = device.run(code, RunOptions(last=1))
    assert first.tokens == Tokens(compute_to_store=1)
    assert first.counters.compute_instructions == 1
    second = device.run(code, RunOptions(first=1, keep_state=True))
    assert second.tokens == Tokens(compute_to_store=1, compute_to_load=1)
    assert device.run(code, RunOptions(first=2)).tokens == Tokens()
    given = Tokens(store_to_compute=7)
    assert device.run(stream({**NOTHING, "pop_next": 1}, FINISH), RunOptions(tokens=given)).tokens.store_to_compute == 6


def test_a_deadlock_is_an_error():
    device = open_rtl()
    with pytest.raises(DeviceError, match=r"deadlock: .* load 0, compute 1, store 0"):
        device.run(stream(NOTHING, {**NOTHING, "pop_prev": 1}, FINISH))
    assert device.run(stream(FINISH)).counters.compute_instructions == 1


def test_lost_tokens_are_an_error():
    rows = [{**NOTHING, "push_next": 1} for _ in range(POINT.timing.token_limit + 1)]
    with pytest.raises(DeviceError, match="compute_to_store_overflow"):
        open_rtl().run(stream(*rows, FINISH))


def test_addresses_outside_the_memory_are_an_error():
    load = {"opcode": Opcode.LOAD, "memory_type": 2, "x_size": 1, "y_size": 1, "dram_base": (1 << 31) >> 2}
    with pytest.raises(DeviceError, match=r"read burst of .* is outside the memory of 1048576 bytes"):
        open_rtl().run(stream(load, FINISH))


def test_arguments_are_checked(tmp_path):
    with pytest.raises(DeviceError, match=r"traces end in \.vcd or \.fst"):
        open_rtl(trace=tmp_path / "trace.txt")
    with pytest.raises(DeviceError, match="more than 32-bit addresses reach"):
        RtlDevice(POINT.hw, POINT.timing, (1 << 32) + 1)
    with pytest.raises(DeviceError, match="has shape"):
        open_rtl().run(np.zeros((3, 8), np.uint8))
    with pytest.raises(DeviceError, match="is not inside the stream of 1 instructions"):
        open_rtl().run(stream(FINISH), RunOptions(first=2))


def test_the_memory_is_no_part_of_the_library():
    slow = TimingParameters(**{**POINT.timing.to_json(), "read_latency": 77, "beat_interval": 2, "write_latency": 9})
    assert core_library(POINT.hw, slow) == core_library(POINT.hw, POINT.timing)


@pytest.mark.slow
def test_traces(tmp_path):
    trace = tmp_path / "trace.vcd"
    device = open_rtl(trace=trace)
    device.run(stream(NOTHING, FINISH))
    del device
    text = trace.read_text()
    assert "m_axi_araddr" in text
    assert text.count("\n#") > 20


@pytest.mark.slow
def test_compressed_traces(tmp_path):
    trace = tmp_path / "trace.fst"
    try:
        require_fst_headers()
    except DeviceError as error:
        with pytest.raises(DeviceError, match="FST traces need the headers of zlib and lz4"):
            open_rtl(trace=trace)
        pytest.skip(str(error))
    device = open_rtl(trace=trace)
    device.run(stream(NOTHING, FINISH))
    device.close()
    header = trace.read_bytes()[:330]
    assert header[0] == 0
    assert int.from_bytes(header[1:9], "big") == 329


def test_a_closed_device_only_tells_its_status():
    device = open_rtl()
    device.close()
    device.close()
    assert device.status().state is DeviceState.CLOSED
    with pytest.raises(DeviceError, match="the rtl device is closed"):
        device.run(stream())
