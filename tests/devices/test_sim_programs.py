"""Programs of the published compiler: recorded ones with their memory, and the golden streams of the specification."""

from __future__ import annotations

import numpy as np
import pytest

from tests.recorded_programs import COUNTERS, HW, LARGEST, NETWORKS, PAGE, UNITS, recorded
from vta.config.targets import MemoryType
from vta.devices.device import RunOptions, Tokens
from vta.devices.sim import Kernel, SimDevice
from vta.errors import DeviceError
from vta.isa import Opcode, decode
from vta.testing.isa_reference import IsaReference


def prepare(program, kernel=Kernel.BEST):
    try:
        device = SimDevice(HW, memory_bytes=program.memory_bytes, kernel=kernel)
    except DeviceError as error:
        pytest.skip(str(error))
    assert device.allocate(program.memory_bytes - PAGE) == PAGE
    return device


def check_run(device, program, seed=None):
    for address, page in zip(program.addresses, program.before, strict=True):
        device.write(address, page)
    result = device.run(program.stream, RunOptions(tokens=program.tokens_before, seed=seed))
    for address, page in zip(program.addresses, program.after, strict=True):
        np.testing.assert_array_equal(device.read(address, PAGE), page)
    assert {key: getattr(result.counters, key) for key in COUNTERS} == {k: program.counters[v] for k, v in COUNTERS.items()}
    assert result.tokens == program.tokens_after


def test_every_recorded_program_is_tested(shared):
    assert {path.stem for path in (shared / "programs").glob("*.npz")} == {*UNITS, *NETWORKS, LARGEST}


@pytest.mark.parametrize("name", [*UNITS, *NETWORKS, LARGEST])
def test_program_order(shared, name):
    check_run(prepare(recorded(shared, name)), recorded(shared, name))


@pytest.mark.parametrize("kernel", [Kernel.PORTABLE, Kernel.AVX2])
@pytest.mark.parametrize("name", ["unit_gemm_smt", "acc8_load", "conv_C4_tophub"])
def test_other_kernels(shared, name, kernel):
    check_run(prepare(recorded(shared, name), kernel), recorded(shared, name))


@pytest.mark.parametrize("name", [*UNITS, *NETWORKS, pytest.param(LARGEST, marks=pytest.mark.slow)])
def test_random_orders(shared, name):
    device = prepare(recorded(shared, name))
    for seed in range(20):
        check_run(device, recorded(shared, name), seed)


@pytest.mark.parametrize("name", ["unit_gemm_smt", "alu_add_int8", "unit_padded_load_all", "dense_1x256x128_tophub"])
def test_the_reference_agrees_in_any_order(shared, name):
    program = recorded(shared, name)
    for seed in range(3):
        reference = IsaReference(HW, np.zeros(program.memory_bytes, np.uint8))
        for address, page in zip(program.addresses, program.before, strict=True):
            reference.dram[address : address + PAGE] = page
        reference.run(program.stream, np.random.default_rng(seed).choice)
        for address, page in zip(program.addresses, program.after, strict=True):
            np.testing.assert_array_equal(reference.dram[address : address + PAGE], page)
        assert Tokens(**reference.tokens) == program.tokens_after


def parse(text):
    """A stream from instructions written as ``word1_word0`` in hexadecimal; a lone number is word0."""
    words = []
    for item in text.split():
        high, _, low = item.rpartition("_")
        words += [int(low, 16), int(high or "0", 16)]
    return np.array(words, "<u8").view(np.uint8).reshape(-1, 16)


class Golden:
    """A device with the memory of a golden stream, addressed through the stream's own instructions."""

    def __init__(self, text, uops=()):
        self.stream = parse(text)
        self.insns = decode(self.stream, HW)
        self.device = SimDevice(HW, memory_bytes=0x5000000)
        self.device.allocate(0x5000000 - PAGE)
        self.device.write(PAGE, np.array(uops, "<u4").view(np.uint8))

    def address(self, opcode, memory, nth=0):
        rows = self.insns[(self.insns["opcode"] == opcode) & (self.insns["memory_type"] == memory) & (self.insns["x_size"] > 0)]
        return int(rows[nth]["dram_base"]) * HW.elem_bytes(memory)

    def write(self, memory, array, nth=0):
        self.device.write(self.address(Opcode.LOAD, memory, nth), np.ascontiguousarray(array).reshape(-1).view(np.uint8))

    def run(self, **counters):
        for seed in (None, 0, 1, 2):
            result = self.device.run(self.stream, RunOptions(seed=seed))
            wanted = dict.fromkeys(COUNTERS, 0) | counters
            assert {key: getattr(result.counters, key) for key in COUNTERS} == wanted
            assert result.tokens.total == 0
        return result

    def stored(self, shape, nth=0):
        address = self.address(Opcode.STORE, MemoryType.OUT, nth)
        return self.device.read(address, int(np.prod(shape))).view(np.int8).reshape(shape)


TAIL = "140 18 3"


def random_int8(*shape):
    return np.random.default_rng(len(shape) + shape[0]).integers(-128, 128, shape).astype(np.int8)


def test_golden_vector_add():
    golden = Golden(
        """0000004000400001_0000400100000180 0000004000400001_0000400200010180 0000000100010001_0000001000000000
        0000200200000800_0080000800200044 0000004000400001_0001000c00000229 """
        + TAIL,
        [0x00020000],
    )
    a, b = (np.random.default_rng(seed).integers(-(2**31), 2**31, (64, 16), dtype=np.int32) for seed in (1, 2))
    golden.write(MemoryType.ACC, a)
    golden.write(MemoryType.ACC, b, 1)
    golden.run(acc_bytes=8192, uop_bytes=4, out_bytes=1024, alu_uops=64)
    np.testing.assert_array_equal(golden.stored((64, 16)), (a + b).astype(np.int8))


def test_golden_gemm():
    def step(n, last):
        low = 0x4000000 * n
        return (
            f"0000000100010001_{0x0001001000000110 + low:016x} 0000001000010010_{0x00001001400000C0 + low:016x} "
            f"0000100000000001_{last} "
        )

    first = step(0, "0002008000400122").split()
    text = "0000000100010001_0000001000000000 0000000000000001_00020080002000a2 "
    text += f"{first[0]} {first[1]} 0000000100010001_0000001004000408 {first[2]} "
    text += "".join(step(n, "000200800040012a") for n in range(1, 15)) + step(15, "000200800040016a")
    golden = Golden(text + "0000001000100001_0001005400000229 110 " + TAIL, [0, 0])
    assert len(golden.stream) == 56
    inp, wgt = random_int8(16, 16), random_int8(16, 16, 16, 16)
    golden.write(MemoryType.INP, inp)
    golden.write(MemoryType.WGT, wgt)
    result = golden.run(inp_bytes=256, wgt_bytes=65536, uop_bytes=8, out_bytes=256, gemm_uops=256)
    assert result.counters.reset_uops == 16
    assert result.counters.macs == 65536
    expected = np.einsum("onck,nk->oc", wgt.astype(np.int32), inp.astype(np.int32)).astype(np.int8)
    np.testing.assert_array_equal(golden.stored((16, 16)), expected)


def test_golden_padded_load():
    golden = Golden(
        """1111000500050003_0000401600000180 0000000100010001_0000001000000000 0000b00200000800_0046000800200044
        0000002300230001_0001005c00000229 """
        + TAIL,
        [0],
    )
    values = np.random.default_rng(3).integers(0, 10, (3, 5, 16), dtype=np.int32)
    golden.write(MemoryType.ACC, values)
    golden.run(acc_bytes=960, uop_bytes=4, out_bytes=560, alu_uops=35)
    expected = np.pad(values, ((1, 1), (1, 1), (0, 0))).reshape(35, 16)
    np.testing.assert_array_equal(golden.stored((35, 16)), expected.astype(np.int8))


def test_golden_int8_load():
    golden = Golden(
        """0000001000100001_0001006000000280 0000000100010001_0000001000000000 fffeb00200000800_0020000800200044
        0000001000100001_0001006400000229 """
        + TAIL,
        [0],
    )
    values = random_int8(16, 16)
    golden.write(MemoryType.ACC_8BIT, values)
    golden.run(acc_bytes=1024, uop_bytes=4, out_bytes=256, alu_uops=16)
    np.testing.assert_array_equal(golden.stored((16, 16)), (values.astype(np.int32) << 2).astype(np.int8))


def test_golden_two_virtual_threads():
    golden = Golden(
        """0000000100010001_0000001000000000 0000000000000001_00020020002000a2 0000000100010001_0000001004000400
        0000000000000001_00020020004001a2 0000000100010001_0001006800000110 0000000200010004_00001006c00000c0
        0000000100010001_0001006800000510 0000000200010004_00001006e00010c0 0000000100010001_0000001008000808
        0000100000000001_0002002000600222 0000000100010001_000000100c000c08 0000100000000001_0002002000800322
        0000000100010001_0001006804000110 0000000200010004_00001006c40000c0 0000000100010001_0001006804000510
        0000000200010004_00001006e40010c0 0000100000000001_000200200060022a 0000100000000001_000200200080036a
        40 110 0000000400040001_000100ac00000209 0000000400040001_000100ac10001229 110 """
        + TAIL,
        [0, 4, 0, 0x01000804],
    )
    assert len(golden.stream) == 26
    inp, wgt = random_int8(2, 16), random_int8(8, 2, 16, 16)
    golden.write(MemoryType.INP, inp)
    golden.write(MemoryType.WGT, wgt)
    golden.run(inp_bytes=64, wgt_bytes=4096, uop_bytes=16, out_bytes=128, gemm_uops=16)
    expected = np.einsum("onck,nk->oc", wgt.astype(np.int32), inp.astype(np.int32)).astype(np.int8)
    np.testing.assert_array_equal(golden.stored((8, 16)), expected)
