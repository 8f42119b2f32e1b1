from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.device import Counters, Device, RunOptions, Tokens
from vta.devices.sim import Kernel, SimDevice
from vta.errors import DeviceError, TimeLimitError
from vta.isa import AluOp, Opcode, blank_instructions, encode

PAGE = 4096
HW = HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 4, 15, 15, 18, 17)
NARROW = HardwareConfig("sim", "0.0.2", 3, 3, 4, 0, 4, 15, 15, 18, 16)


def insn(opcode, **fields):
    result = blank_instructions(1)
    result["opcode"] = opcode
    for name, value in fields.items():
        result[name] = value
    return result


def load(memory, address, hw=HW, **fields):
    values = {"x_size": 1, "y_size": 1, "x_stride": 1, **fields}
    return insn(Opcode.LOAD, memory_type=memory, dram_base=address // hw.elem_bytes(memory), **values)


def store(address, **fields):
    values = {"x_size": 1, "y_size": 1, "x_stride": 1, **fields}
    return insn(Opcode.STORE, memory_type=MemoryType.OUT, dram_base=address // HW.elem_bytes(MemoryType.OUT), **values)


def gemm(**fields):
    return insn(Opcode.GEMM, **{"uop_end": 1, "iter_out": 1, "iter_in": 1, **fields})


def alu(op, imm=None, **fields):
    values = {"uop_end": 1, "iter_out": 1, "iter_in": 1, "alu_opcode": op, **fields}
    return insn(Opcode.ALU, use_imm=imm is not None, imm=imm or 0, **values)


def stream(*insns, hw=HW):
    return encode(np.concatenate(insns), hw)


@pytest.fixture
def device():
    return SimDevice(HW, memory_bytes=1 << 20)


def put(device, array):
    data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    address = device.allocate(data.size)
    device.write(address, data)
    return address


def run_alu(device, values, *ops):
    """OUT, as int8, after loading `values` (int32) and running ALU instructions on them."""
    uop = put(device, np.zeros(1, np.uint32))
    source, target = put(device, np.asarray(values, np.int32)), device.allocate(16)
    program = [load(MemoryType.UOP, uop), load(MemoryType.ACC, source), *ops]
    program[-1]["push_next"] = 1
    device.run(stream(*program, store(target, pop_prev=1)))
    return device.read(target, 16).view(np.int8)


def test_it_is_a_device(device):
    assert isinstance(device, Device)
    assert device.name == "sim"
    assert device.memory_bytes == 1 << 20


def test_memory_round_trip(device):
    address = device.allocate(10_000)
    data = np.arange(10_000, dtype=np.uint32).astype(np.uint8)
    device.write(address, data)
    device.write(address + 100, data[:50])
    data[100:150] = data[:50]
    np.testing.assert_array_equal(device.read(address, 10_000), data)


def test_memory_outside_allocations_is_refused(device):
    address = device.allocate(PAGE)
    with pytest.raises(DeviceError, match="not inside an allocation"):
        device.read(address + 1, PAGE)
    with pytest.raises(DeviceError, match="not inside an allocation"):
        device.write(0, np.zeros(4, np.uint8))


def test_out_of_memory_is_reported(device):
    with pytest.raises(DeviceError, match=r"2097152 bytes needed, 1044480 available"):
        device.allocate(1 << 21)


def test_a_kernel_that_does_not_exist_is_refused():
    with pytest.raises(DeviceError, match="kernel level 9 is unknown"):
        SimDevice(HW, memory_bytes=PAGE, kernel=9)


def test_kernel_names():
    assert SimDevice(HW, memory_bytes=PAGE, kernel=Kernel.PORTABLE).kernel == "portable"


@pytest.mark.parametrize(
    ("ops", "value", "stored"),
    [
        ([alu(AluOp.SHR, 0)], 300, 44),
        ([alu(AluOp.SHR, 0)], -129, 127),
        ([alu(AluOp.SHR, 8)], -1, -1),
        ([alu(AluOp.SHR, -2)], 0x40000000, 0),
        ([alu(AluOp.SHR, -2), alu(AluOp.SHR, 2)], 0x20000001, 1),
        ([alu(AluOp.SHR, 31)], -(2**31), -1),
        ([alu(AluOp.SHR, 40)], -5, -1),
        ([alu(AluOp.SHR, -32)], 7, 0),
        ([alu(AluOp.ADD, 1), alu(AluOp.SHR, 24)], 2**31 - 1, -128),
        ([alu(AluOp.MUL, -3)], 7, -21),
        ([alu(AluOp.MIN, 127)], 1000, 127),
        ([alu(AluOp.MAX, -128)], -1000, -128),
        ([alu(AluOp.ADD)], 21, 42),
    ],
)
def test_alu_numerics(device, ops, value, stored):
    assert run_alu(device, [value] * 16, *ops)[0] == stored


def test_register_shift_amounts_follow_their_sign(device):
    """acc[1] holds the amounts; acc[0] is shifted by them."""
    amounts = [0, 1, 4, 31, 32, 1000, -1, -4, -31, -32, -(2**31), 2**31 - 1, 7, 8, -8, 2]
    uop = put(device, np.array([1 << 11], np.uint32))
    source, target = put(device, np.array([[-96] * 16, amounts], np.int32)), device.allocate(16)
    device.run(
        stream(
            load(MemoryType.UOP, uop),
            load(MemoryType.ACC, source, x_size=2),
            alu(AluOp.SHR, push_next=1),
            store(target, pop_prev=1),
        )
    )
    shifted = [-96 >> min(a, 63) if a >= 0 else -96 << min(-a, 63) for a in amounts]
    expected = np.array(shifted, dtype=object).__and__(255).astype(np.uint8).view(np.int8)
    np.testing.assert_array_equal(device.read(target, 16).view(np.int8), expected)


@pytest.mark.parametrize("kernel", [Kernel.PORTABLE, Kernel.BEST])
def test_gemm_extremes_wrap(kernel):
    """16 * (-128 * -128) = 2^18 per micro-op: 8192 of them reach 2^31 and wrap to the most negative value."""
    device = SimDevice(HW, memory_bytes=1 << 20, kernel=kernel)
    low = np.full(256, -128, np.int8)
    uop, inp, wgt = put(device, np.zeros(1, np.uint32)), put(device, low[:16]), put(device, low)
    target = device.allocate(16)
    result = device.run(
        stream(
            load(MemoryType.INP, inp),
            load(MemoryType.WGT, wgt, push_next=1),
            load(MemoryType.UOP, uop, pop_prev=1),
            gemm(reset=1),
            gemm(iter_out=8192),
            alu(AluOp.SHR, 24, push_next=1),
            store(target, pop_prev=1),
        )
    )
    assert (device.read(target, 16).view(np.int8) == -128).all()
    assert result.counters == Counters(16, 256, 0, 4, 16, 8192, 1, 1, 8192 * 256, 2, 4, 1)


def test_a_16_bit_accumulator_wraps():
    """The dot product of 64 times 127 * 127 is 1032256; 16 bits of it are -16320."""
    device = SimDevice(NARROW, memory_bytes=1 << 20)
    high = np.full(256, 127, np.int8)
    uop, inp, wgt = put(device, np.zeros(1, np.uint32)), put(device, high[:16]), put(device, high)
    target = device.allocate(32)
    device.run(
        stream(
            load(MemoryType.INP, inp),
            load(MemoryType.WGT, wgt, push_next=1),
            load(MemoryType.UOP, uop, pop_prev=1),
            gemm(reset=1),
            gemm(iter_out=4, push_next=1),
            store(target, pop_prev=1, push_prev=1),
            alu(AluOp.SHR, 8, pop_next=1, push_next=1),
            store(target + 16, pop_prev=1),
            hw=NARROW,
        )
    )
    stored = device.read(target, 32)
    assert (stored[:16].view(np.int8).view(np.uint8) == (-16320 & 255)).all()
    assert (stored[16:].view(np.int8) == -16320 >> 8).all()


def test_reset_leaves_out_alone_and_loads_do_not_reach_it(device):
    uop, source = put(device, np.zeros(1, np.uint32)), put(device, np.array([5] * 16 + [9] * 16, np.int32))
    target = device.allocate(16)
    device.run(
        stream(
            load(MemoryType.UOP, uop),
            load(MemoryType.ACC, source),
            alu(AluOp.ADD, 1),
            gemm(reset=1),
            load(MemoryType.ACC, source + 64, push_next=1),
            store(target, pop_prev=1),
        )
    )
    assert (device.read(target, 16) == 6).all()


@pytest.mark.parametrize(
    ("insns", "text"),
    [
        ([gemm()], r"instruction 0 \(compute unit\): reads UOP row 0, which nothing has written"),
        ([store(PAGE)], r"instruction 0 \(store unit\): STORE reads OUT row 0, which no GEMM or ALU has written"),
        (
            [load(MemoryType.INP, PAGE, sram_base=2047, x_size=2)],
            r"instruction 0 \(load unit\): LOAD INP reaches SRAM row 2048 .* 2047",
        ),
        ([load(MemoryType.WGT, 1 << 20)], r"LOAD WGT reaches DRAM byte 1048831 .* has 1048576 bytes"),
        (
            [load(MemoryType.UOP, PAGE), gemm(iter_out=2, dst_factor_out=2047, iter_in=2, dst_factor_in=1)],
            "dst reaches ACC row 2048",
        ),
        (
            [load(MemoryType.UOP, PAGE), gemm(iter_out=2, src_factor_out=2047, iter_in=2, src_factor_in=1)],
            "src reaches INP row 2048",
        ),
        (
            [load(MemoryType.UOP, PAGE), gemm(iter_out=2, wgt_factor_out=1023, iter_in=2, wgt_factor_in=1)],
            "wgt reaches WGT row 1024",
        ),
        ([load(MemoryType.UOP, PAGE), gemm()], "instruction 1 .* reads ACC row 0, which nothing has written"),
        ([load(MemoryType.UOP, PAGE), gemm(reset=1), gemm()], "instruction 2 .* reads INP row 0"),
        ([load(MemoryType.UOP, PAGE), gemm(reset=1), alu(AluOp.ADD, src_factor_out=3, iter_out=2)], "reads ACC row 3"),
        ([gemm(uop_bgn=8191, uop_end=8193)], "uop_end is 8193; UOP has 8192 rows"),
        ([alu(5, 0)], "alu_opcode 5; allowed: 0 to 4"),
        ([load(MemoryType.OUT, PAGE)], "memory_type 4"),
        ([insn(Opcode.STORE, x_size=1, y_size=1, memory_type=MemoryType.ACC)], "STORE has memory_type 3"),
        ([store(PAGE, x_pad_1=2)], "STORE has padding .*x_pad_1 2"),
        (
            [load(MemoryType.INP, PAGE, pop_prev=1)],
            r"instruction 0 \(load unit\): pop_prev is set, but no unit comes before load",
        ),
        ([store(PAGE, push_next=1)], r"instruction 0 \(store unit\): push_next is set, but no unit comes after store"),
    ],
)
def test_errors_name_instruction_unit_value_and_limit(device, insns, text):
    device.write(device.allocate(PAGE), np.zeros(PAGE, np.uint8))
    with pytest.raises(DeviceError, match=text):
        device.run(stream(*insns))


def test_an_unknown_opcode_is_refused(device):
    code = np.zeros((2, 16), np.uint8)
    code[1, 0] = 6
    with pytest.raises(DeviceError, match=r"instruction 1 .*opcode 6 is unknown"):
        device.run(code)


def test_without_checks_unwritten_rows_are_zero_and_bounds_still_hold(device):
    address = device.allocate(PAGE)
    device.write(address, np.full(PAGE, 7, np.uint8))
    unchecked = RunOptions(checks=False)
    device.run(stream(store(address)), unchecked)
    assert (device.read(address, 16) == 0).all()
    with pytest.raises(DeviceError, match="SRAM row"):
        device.run(stream(store(address, x_size=2048, sram_base=1)), unchecked)


def test_dram_checks_find_loads_of_what_nothing_wrote(device):
    uop, source = put(device, np.zeros(1, np.uint32)), put(device, np.full(16, 3, np.int32))
    target = device.allocate(64)
    dram_checks = RunOptions(dram_checks=True)
    program = [load(MemoryType.UOP, uop), load(MemoryType.ACC, source), alu(AluOp.ADD, 1, push_next=1)]
    program += [store(target, pop_prev=1, push_prev=1), load(MemoryType.ACC_8BIT, target, pop_next=1)]
    device.run(stream(*program), dram_checks)
    beyond = load(MemoryType.ACC_8BIT, target, x_size=2)
    with pytest.raises(DeviceError, match=f"instruction 5 .*LOAD ACC_8BIT reads DRAM byte {target + 16}, which nothing"):
        device.run(stream(*program, beyond), dram_checks)
    device.run(stream(*program, beyond))
    device.free(target)
    assert device.allocate(64) == target
    with pytest.raises(DeviceError, match=f"reads DRAM byte {target}"):
        device.run(stream(beyond), dram_checks)


def test_waiting_for_a_token_that_nothing_pushes_is_a_deadlock(device):
    at = device.allocate(PAGE)
    program = stream(
        load(MemoryType.INP, at), load(MemoryType.WGT, at), gemm(pop_prev=1), store(at, pop_prev=1), insn(Opcode.FINISH)
    )
    with pytest.raises(DeviceError, match="deadlock") as caught:
        device.run(program)
    assert "load unit: no instruction left" in str(caught.value)
    assert "compute unit: instruction 2 waits for a load-to-compute token" in str(caught.value)
    assert "store unit: instruction 3 waits for a compute-to-store token" in str(caught.value)


def test_units_that_wait_for_each_other_are_a_deadlock(device):
    at = device.allocate(PAGE)
    program = stream(
        load(MemoryType.INP, at, pop_next=1, push_next=1), gemm(pop_prev=1, push_prev=1, pop_next=1), insn(Opcode.FINISH)
    )
    for seed in (None, 1, 2):
        with pytest.raises(DeviceError, match="load unit: instruction 0 waits for a compute-to-load token") as caught:
            device.run(program, RunOptions(seed=seed))
        waits = "instruction 1 waits for a load-to-compute token and a store-to-compute token"
        assert waits in str(caught.value)


def test_left_over_tokens_are_reported_and_can_be_given(device):
    at = device.allocate(PAGE)
    left = device.run(stream(load(MemoryType.INP, at, push_next=1), insn(Opcode.FINISH)))
    assert left.tokens == Tokens(load_to_compute=1)
    assert left.tokens.total == 1
    waiting = stream(insn(Opcode.FINISH, pop_prev=1, pop_next=1))
    assert device.run(waiting, RunOptions(tokens=Tokens(load_to_compute=2, store_to_compute=1))).tokens == Tokens(1)
    assert device.run(waiting, RunOptions(tokens=Tokens(1, 0, 0, 1), keep_state=True)).tokens.total == 0
    with pytest.raises(DeviceError, match="negative"):
        device.run(waiting, RunOptions(tokens=Tokens(-1)))


def test_a_run_starts_clean_after_an_error(device):
    at = device.allocate(PAGE)
    with pytest.raises(DeviceError):
        device.run(stream(load(MemoryType.INP, at, push_next=1), insn(Opcode.FINISH, pop_next=1)))
    assert device.run(stream(insn(Opcode.FINISH))).tokens.total == 0


def test_segments_keep_state_and_count_apart(device):
    uop, source = put(device, np.zeros(1, np.uint32)), put(device, np.full(16, 3, np.int32))
    target = device.allocate(16)
    program = stream(
        load(MemoryType.UOP, uop),
        load(MemoryType.ACC, source),
        alu(AluOp.MUL, 5, push_next=1),
        store(target, pop_prev=1),
        insn(Opcode.FINISH),
    )
    index = np.array([0, 0, 1, 1, -1], np.int32)
    whole = device.run(program, RunOptions(operator_index=index, operator_count=2))
    assert whole.operators == (
        Counters(uop_bytes=4, acc_bytes=64, compute_instructions=2),
        Counters(alu_uops=1, out_bytes=16, compute_instructions=1, store_instructions=1),
    )
    device.write(target, np.zeros(16, np.uint8))
    parts = [device.run(program, RunOptions(first=i, last=i + 1, keep_state=i > 0)) for i in range(5)]
    assert sum((part.counters for part in parts), Counters()) == whole.counters
    assert parts[2].tokens == Tokens(compute_to_store=1)
    assert (device.read(target, 16) == 15).all()


@pytest.mark.parametrize(
    "options",
    [
        RunOptions(first=1, last=0),
        RunOptions(last=2),
        RunOptions(first=-1),
        RunOptions(operator_index=np.zeros(2, np.int32), operator_count=1),
        RunOptions(operator_index=np.ones(1, np.int32), operator_count=1),
    ],
)
def test_options_that_do_not_fit_the_stream_are_refused(device, options):
    with pytest.raises(DeviceError):
        device.run(stream(insn(Opcode.FINISH)), options)


def test_a_stream_of_another_shape_is_refused(device):
    with pytest.raises(DeviceError, match="shape"):
        device.run(np.zeros(32, np.uint8))


def endless(device):
    """One instruction of 2^40 micro-ops."""
    uop = put(device, np.zeros(4096, np.uint32))
    return stream(load(MemoryType.UOP, uop, x_size=4096), gemm(uop_end=4096, iter_out=16383, iter_in=16383), insn(Opcode.FINISH))


def test_the_time_limit_ends_a_long_instruction(device):
    with pytest.raises(TimeLimitError, match=r"time limit: not done after 0.01 s; 1 instructions executed"):
        device.run(endless(device), RunOptions(checks=False, limit_seconds=0.01))


def test_a_run_can_be_interrupted(device):
    timer = threading.Timer(0.1, _thread.interrupt_main)

    def run_interrupted():
        timer.start()
        device.run(endless(device), RunOptions(checks=False, limit_seconds=60))

    with pytest.raises(KeyboardInterrupt):
        run_interrupted()
    timer.join()
    assert device.run(stream(insn(Opcode.FINISH))).counters.instructions == 1


def test_two_devices_do_not_share_memory():
    first, second = SimDevice(HW, 1 << 16), SimDevice(HW, 1 << 16)
    at = first.allocate(16)
    assert second.allocate(16) == at
    first.write(at, np.full(16, 1, np.uint8))
    assert (second.read(at, 16) == 0).all()
