"""The accelerator as an OpenCL kernel, on whatever platform there is."""

import re
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from tests.engines import missing_for_opencl
from tests.isa_streams import DRAM_BYTES, LOADED, ProgramMaker, epilogue, failure, make_config, make_dram, where
from tests.recorded_programs import COUNTERS, HW, LARGEST, NETWORKS, PAGE, UNITS, recorded
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices import opencl as opencl_module
from vta.devices.device import Device, DeviceState, RunOptions, Tokens
from vta.devices.opencl import OpenclDevice
from vta.devices.sim import SimDevice
from vta.errors import DeviceError, TimeLimitError
from vta.hardware.opencl.program import kernel_source, prepare
from vta.isa import Opcode, blank_instructions, encode
from vta.testing.fuzz.campaign import case_of
from vta.testing.fuzz.points import default_points
from vta.testing.isa_reference import IsaReference

POINTS = default_points()
SMALL = POINTS[6]
MEMORY_BYTES = 1 << 20


@pytest.fixture(autouse=True, scope="module")
def platform():
    missing = missing_for_opencl()
    if missing:
        pytest.skip(missing)


def open_opencl(hw=SMALL.hw, memory_bytes=MEMORY_BYTES, **values):
    return OpenclDevice(hw, memory_bytes, **values)


def stream(*rows, hw=SMALL.hw):
    instructions = blank_instructions(len(rows))
    for index, row in enumerate(rows):
        for name, value in row.items():
            instructions[name][index] = value
    return encode(instructions, hw)


FINISH = {"opcode": Opcode.FINISH}
ONCE = {"x_size": 1, "y_size": 1, "x_stride": 1}
LOOP = {"uop_end": 1, "iter_out": 1, "iter_in": 1}


def placed(device, point=SMALL, seed=3):
    program = case_of(point, seed)[0]
    base = device.allocate(program.image_bytes)
    fill(device, program, base)
    return program, base


def fill(device, program, base):
    image = np.zeros(program.image_bytes, dtype=np.uint8)
    image[: len(program.image)] = program.image
    device.write(base, image)


def image_of(device, program, base):
    return device.read(base, program.image_bytes)


def test_is_a_device():
    device = open_opencl()
    assert isinstance(device, Device)
    assert (device.name, device.hw, device.memory_bytes, device.timing) == ("opencl", SMALL.hw, MEMORY_BYTES, None)
    assert device.platform
    first = device.allocate(100)
    device.write(first, np.arange(100, dtype=np.uint8))
    np.testing.assert_array_equal(device.read(first, 100), np.arange(100, dtype=np.uint8))
    np.testing.assert_array_equal(device.read(first + 7, 5), np.arange(7, 12, dtype=np.uint8))
    assert device.read(first, 0).size == 0
    device.free(first)
    with pytest.raises(DeviceError, match="not inside an allocation"):
        device.read(first, 100)


# Every combination of what the macros decide: rows, blocks, accumulator widths, and which memory is deepest.
GEOMETRIES = [
    make_config(0, 2, 4, (1, 1, 5, 2)),
    make_config(0, 4, 5, (5, 4, 4, 4)),
    make_config(2, 3, 5, (4, 5, 2, 5)),
    make_config(1, 5, 4, (3, 1, 3, 3)),
    make_config(0, 6, 5, (2, 2, 1, 1)),
    make_config(6, 4, 5, (5, 3, 5, 1)),
]


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("hw", GEOMETRIES, ids=lambda hw: hw.bitstream)
def test_random_programs_do_what_the_reference_does(hw, local):
    """All of SRAM and DRAM afterwards, the counters, and the instruction that is refused."""
    device = open_opencl(hw, DRAM_BYTES + (1 << 16), local=local)
    base = device.allocate(DRAM_BYTES - 4096)
    finished = 0
    for seed in range(24):
        maker = ProgramMaker(hw, np.random.default_rng(seed))
        dram = make_dram(hw, maker)
        filled = [maker.fill(memory) for memory in LOADED[:4] if maker.below(8)]
        program = np.concatenate([*filled, *(maker.any() for _ in range(1 + seed % 12))])
        program["uop_end"] = np.minimum(program["uop_end"], 2 * hw.depth(MemoryType.UOP) - 1)
        code = encode(program, hw)
        # The reference has as much memory as the device, so that both refuse the same addresses.
        reference = IsaReference(hw, np.concatenate([dram, np.zeros(1 << 16, np.uint8)]), checks=False)
        expected = failure(lambda r=reference, c=code: r.run(c))
        counters = reference.counters
        device.write(base, dram[4096:])
        results = []
        error = failure(lambda r=results, c=code: r.append(device.run(c)))
        assert where(error) == where(expected), (seed, error, expected)
        if error is None:
            finished += 1
            assert results[0].counters == counters
        reference.run(epilogue(hw))
        device.run(epilogue(hw), RunOptions(keep_state=True))
        np.testing.assert_array_equal(device.read(base, DRAM_BYTES - 4096), reference.dram[4096:DRAM_BYTES])
    assert 0 < finished < 24


@pytest.mark.parametrize("name", [*UNITS, *NETWORKS, LARGEST])
def test_programs_of_the_published_compiler(shared, name):
    program = recorded(shared, name)
    device = open_opencl(HW, program.memory_bytes + program.stream.size + 2 * PAGE)
    assert device.allocate(program.memory_bytes - PAGE) == PAGE
    for seed in (None, 1):
        for address, page in zip(program.addresses, program.before, strict=True):
            device.write(address, page)
        result = device.run(program.stream, RunOptions(tokens=program.tokens_before, seed=seed))
        for address, page in zip(program.addresses, program.after, strict=True):
            np.testing.assert_array_equal(device.read(address, PAGE), page)
        assert {key: getattr(result.counters, key) for key in COUNTERS} == {k: program.counters[v] for k, v in COUNTERS.items()}
        assert result.tokens == program.tokens_after


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_any_order_that_the_tokens_allow_and_any_pause_give_the_same(point):
    """With the kernel launched once, or again after every few micro-ops."""
    steps = open_opencl(point.hw, launch_work=1)
    device = open_opencl(point.hw)
    sim = SimDevice(point.hw, MEMORY_BYTES)
    for number in (3, 5, 8):
        program, base = placed(sim, point, number)
        assert placed(device, point, number)[1] == placed(steps, point, number)[1] == base
        code = program.encoded(base)
        expected = sim.run(code)
        wanted = image_of(sim, program, base)
        runs = ((device, None), (steps, None), *((device, seed) for seed in (0, 1, 2**70)), (steps, 5))
        for place, seed in runs:
            place.write(base, program.image)
            place.write(base + len(program.image), np.zeros(program.image_bytes - len(program.image), np.uint8))
            result = place.run(code, RunOptions(seed=seed))
            np.testing.assert_array_equal(image_of(place, program, base), wanted)
            assert (result.counters, result.tokens) == (expected.counters, expected.tokens)
        for place in (sim, device, steps):
            place.free(base)


def test_runs_start_from_a_reset_unless_they_go_on():
    device = open_opencl()
    push = stream({"opcode": Opcode.LOAD, "push_prev": 1})
    assert device.run(push).tokens == Tokens(compute_to_load=1)
    assert device.run(push).tokens == Tokens(compute_to_load=1)
    assert device.run(push, RunOptions(keep_state=True)).tokens == Tokens(compute_to_load=2)
    assert device.run(push, RunOptions(keep_state=True, tokens=Tokens(store_to_compute=3))).tokens == Tokens(1 - 1, 1, 0, 3)
    device.reset()
    assert device.run(push, RunOptions(keep_state=True)).tokens == Tokens(compute_to_load=1)


def test_parts_of_a_stream_and_counters_of_operators():
    device, sim = open_opencl(), SimDevice(SMALL.hw, MEMORY_BYTES)
    program, base = placed(device)
    assert placed(sim)[1] == base
    code = program.encoded(base)
    index = np.arange(len(code), dtype=np.int32) % 3 - 1
    options = RunOptions(operator_index=index, operator_count=2)
    assert device.run(code, options).operators == sim.run(code, options).operators
    empty = blank_instructions(6)
    whole = encode(empty, SMALL.hw)
    assert device.run(whole, RunOptions(first=2, last=5)).counters.instructions == 3
    with pytest.raises(DeviceError, match=r"segment \[2, 9\) is not inside the stream of 6 instructions"):
        device.run(whole, RunOptions(first=2, last=9))
    with pytest.raises(DeviceError, match=r"shape \(n, 16\)"):
        device.run(whole.reshape(-1))


DEEP = {memory: SMALL.hw.depth(memory) for memory in MemoryType}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"opcode": Opcode.LOAD, "memory_type": 4, **ONCE}, "its memory_type is not one that it can have"),
        ({"opcode": Opcode.LOAD, "memory_type": 7, **ONCE}, "its memory_type is not one that it can have"),
        ({"opcode": Opcode.STORE, "memory_type": 3, **ONCE}, "its memory_type is not one that it can have"),
        ({"opcode": Opcode.STORE, "memory_type": 4, **ONCE, "y_pad_1": 1}, "a STORE has no padding"),
        ({"opcode": Opcode.LOAD, "memory_type": 2, **ONCE, "sram_base": DEEP[2]}, "it leaves the on-chip memory"),
        ({"opcode": Opcode.LOAD, "memory_type": 2, **ONCE, "sram_base": DEEP[2] - 1, "x_pad_1": 1}, "it leaves the on-chip"),
        ({"opcode": Opcode.LOAD, "memory_type": 2, **ONCE, "dram_base": (1 << 32) - 1}, "it leaves the device memory"),
        ({"opcode": Opcode.LOAD, "memory_type": 0, **ONCE, "dram_base": MEMORY_BYTES // 4}, "it leaves the device memory"),
        ({"opcode": Opcode.STORE, "memory_type": 4, **ONCE, "dram_base": (1 << 32) - 1}, "it leaves the device memory"),
        ({"opcode": Opcode.LOAD, "memory_type": 2, **ONCE, "pop_prev": 1}, "a dependency flag names a unit that does not exist"),
        ({"opcode": Opcode.STORE, "memory_type": 4, "push_next": 1}, "a dependency flag names a unit that does not exist"),
        ({"opcode": Opcode.ALU, **LOOP, "alu_opcode": 5}, "its alu_opcode is unknown"),
        ({"opcode": Opcode.GEMM, **LOOP, "uop_end": DEEP[0] + 1}, "uop_end lies behind the micro-op memory"),
        ({"opcode": Opcode.GEMM, **LOOP, "iter_out": 1000, "dst_factor_out": 1, "reset": 1}, "a dst row lies behind"),
        ({"opcode": Opcode.GEMM, **LOOP, "iter_in": 1000, "src_factor_in": 1}, "a src row lies behind its memory"),
        ({"opcode": Opcode.ALU, **LOOP, "iter_in": 1000, "src_factor_in": 1}, "a src row lies behind its memory"),
        ({"opcode": Opcode.GEMM, **LOOP, "iter_in": 1000, "wgt_factor_in": 1}, "a wgt row lies behind the weight memory"),
    ],
)
def test_what_cannot_be_is_named(row, message):
    device = open_opencl()
    with pytest.raises(DeviceError, match=re.escape(f"instruction 1: {message}")):
        device.run(stream({"opcode": Opcode.GEMM}, row, FINISH))
    assert device.status().state is DeviceState.FAILED
    assert device.run(stream(FINISH)).counters.compute_instructions == 1
    assert device.status().state is DeviceState.READY


def test_an_unknown_opcode():
    code = stream(FINISH, FINISH)
    code[1, 0] |= 7
    with pytest.raises(DeviceError, match="instruction 1: its opcode is unknown"):
        open_opencl().run(code)
    # One that nobody comes to changes nothing but the words.
    wait = stream({"opcode": Opcode.LOAD, "pop_prev": 1}, FINISH)
    wait[1, 0] |= 7
    with pytest.raises(DeviceError, match="deadlock: instruction 1: opcode 7 is unknown"):
        open_opencl().run(wait)


def test_a_deadlock_names_who_waits_for_what():
    device = open_opencl()
    wait = {"opcode": Opcode.STORE, "memory_type": MemoryType.OUT, "pop_prev": 1}
    text = "store unit: instruction 2 waits for a compute-to-store token"
    for seed in (None, 1):
        with pytest.raises(DeviceError, match=f"deadlock: .*{text}"):
            device.run(stream(FINISH, FINISH, wait), RunOptions(seed=seed))
    with pytest.raises(DeviceError, match="token counts must not be negative"):
        device.run(stream(FINISH), RunOptions(tokens=Tokens(-1)))


LONG = {"opcode": Opcode.GEMM, "reset": 1, "uop_end": 1, "iter_out": 16383, "iter_in": 16383}


def test_one_instruction_is_not_longer_than_the_limit():
    """A reset of 268 million rows: a launch ends inside it."""
    device = open_opencl(launch_work=1 << 16)
    with pytest.raises(TimeLimitError, match=r"time limit: not done after 0\.05 s; 1 instructions executed"):
        device.run(stream({"opcode": Opcode.GEMM}, LONG), RunOptions(limit_seconds=0.05))
    assert device.run(stream(FINISH)).tokens == Tokens()


def test_a_closed_device_only_tells_its_status():
    device = open_opencl()
    device.close()
    device.close()
    assert device.status().state is DeviceState.CLOSED
    for use in (lambda: device.run(stream(FINISH)), device.reset, lambda: device.allocate(1)):
        with pytest.raises(DeviceError, match="the opencl device is closed"):
            use()


def test_a_binary_is_for_one_config(tmp_path):
    _, program = prepare(kernel_source(), SMALL.hw)
    binary = tmp_path / "vta.bin"
    binary.write_bytes(program.binaries[0])
    name = open_opencl().platform
    device = open_opencl(kernel=binary, platform=name.upper())
    program, base = placed(device)
    device.run(program.encoded(base))
    other = POINTS[7].hw
    with pytest.raises(DeviceError, match=r"vta\.bin: was compiled for another config: LOG_BLOCK = 2, not 3, LOG_UOP_BUFF_SIZE"):
        open_opencl(other, kernel=binary, platform=name)
    with pytest.raises(DeviceError, match="no OpenCL platform for FPGAs; there are: "):
        open_opencl(kernel=binary)
    binary.write_bytes(b"no binary")
    with pytest.raises(DeviceError, match=r"vta\.bin: cannot be built for "):
        open_opencl(kernel=binary, platform=name)


def test_platforms_that_are_not_there():
    with pytest.raises(DeviceError, match="no OpenCL platform called 'abacus'; there are: "):
        open_opencl(platform="abacus")


def test_a_kernel_that_does_not_compile_says_what_the_compiler_said(tmp_path):
    kernel = tmp_path / "broken.cl"
    kernel.write_text("__kernel void vta_run(__global char *a) { unknown_thing(a); }")
    with pytest.raises(DeviceError, match=r"broken\.cl: cannot be built for [\s\S]*unknown_thing"):
        open_opencl(kernel=kernel)
    with pytest.raises(DeviceError, match=r"missing\.cl: No such file or directory"):
        open_opencl(kernel=tmp_path / "missing.cl")
    kernel.write_text("__kernel void other(__global char *a) { a[0] = 0; }")
    with pytest.raises(DeviceError, match=r"broken\.cl: "):
        open_opencl(kernel=kernel)


def test_parts_of_a_kernel_come_from_beside_it_or_from_the_package(tmp_path):
    directory = tmp_path / "with a space"
    directory.mkdir()
    kernel = directory / "mine.cl"
    kernel.write_text(kernel_source().read_text())
    device = open_opencl(kernel=kernel)
    code = stream({"opcode": Opcode.ALU, **LOOP, "alu_opcode": 4})
    device.run(code)
    # A header that changes makes another kernel, whatever compilers remember.
    changed = kernel_source().with_name("compute.h").read_text().replace("n.alu_opcode > MUL", "n.alu_opcode > SHR")
    (directory / "compute.h").write_text(changed)
    with pytest.raises(DeviceError, match="its alu_opcode is unknown"):
        open_opencl(kernel=kernel).run(code)
    (directory / "compute.h").write_text("nothing;\n")
    with pytest.raises(DeviceError, match=r"compute\.h:1"):
        open_opencl(kernel=kernel)
    kernel.write_text('#include "absent.h"\n')
    with pytest.raises(DeviceError, match=r"absent\.h: No such file"):
        open_opencl(kernel=kernel)


def test_local_memory_that_is_too_small():
    with pytest.raises(DeviceError, match=r"the on-chip memories take \d+ bytes; the local memory of .* has"):
        open_opencl(make_config(0, 6, 5, (1, 16, 1, 1)), local=True)


def test_a_kernel_that_does_not_come_back(monkeypatch):
    """The device is given up: OpenCL has no way to end a kernel."""
    device = open_opencl()
    ends = time.monotonic() + 30
    running = SimpleNamespace(get_info=lambda what: device._cl.command_execution_status.RUNNING)
    monkeypatch.setattr(opencl_module, "_SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(device._cl, "enqueue_nd_range_kernel", lambda *arguments: running)
    with pytest.raises(TimeLimitError, match="time limit: the kernel has not come back for"):
        device.run(stream(FINISH))
    assert time.monotonic() < ends
    monkeypatch.undo()
    for use in (lambda: device.run(stream(FINISH)), device.reset):
        with pytest.raises(DeviceError, match="a kernel hangs on the device: close it, and open it again"):
            use()
    device.close()


def test_a_kernel_that_fails(monkeypatch):
    device = open_opencl()
    monkeypatch.setattr(device._cl, "enqueue_nd_range_kernel", lambda *arguments: SimpleNamespace(get_info=lambda what: -9999))
    with pytest.raises(DeviceError, match="the kernel failed with OpenCL error -9999"):
        device.run(stream(FINISH))


def test_without_pyopencl_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    with pytest.raises(DeviceError, match=r"OpenCL needs the package pyopencl .*: pip install 'vta\[opencl\]'"):
        open_opencl(HardwareConfig.named("sim_1x8"))
