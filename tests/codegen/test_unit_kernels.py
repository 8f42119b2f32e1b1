"""What each kind of instruction does, in small programs of their own: transfers, padding, products and element-wise work."""

import numpy as np
import pytest

from tests.codegen._kernels import Kernel
from vta.codegen.stream import Loop, single_uop
from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.sim import SimDevice
from vta.errors import VerificationError
from vta.isa.instruction import UOP_DTYPE, AluOp

CONFIGS = {name: HardwareConfig.named(name) for name in shipped_configs()}
CONFIGS["acc16"] = HardwareConfig("sim", "0.0.2", 3, 3, 4, 0, 4, 15, 15, 18, 16)
CONFIGS["batch2"] = HardwareConfig("sim", "0.0.2", 3, 3, 5, 1, 4, 15, 15, 18, 17)

pytestmark = pytest.mark.parametrize("hw", CONFIGS.values(), ids=CONFIGS)


@pytest.fixture
def rng():
    return np.random.default_rng(0xDEADB)


def rows_of(count, src=0):
    """The loops over `count` accumulator rows of an ALU instruction; `src` is the distance of the second operand."""
    return {"uops": single_uop(0, src), "inner": Loop(count, 1, 1)}


def element_wise(hw, array, *steps):
    """Run ALU `steps`, each (op, immediate), on `array` of accumulator rows."""
    kernel = Kernel(hw)
    kernel.load(MemoryType.ACC, array)
    for op, imm in steps:
        kernel.stream.alu(op, **rows_of(len(array)), imm=imm)
    kernel.store(len(array))
    return kernel.run()


def test_memory_round_trip(hw, rng):
    array = rng.integers(-128, 128, (100, 100, hw.batch, hw.block), np.int8)
    device = SimDevice(hw, memory_bytes=1 << 24)
    address = device.allocate(array.nbytes)
    device.write(address, array.view(np.uint8).reshape(-1))
    back = device.read(address, array.nbytes).view(np.int8).reshape(array.shape)
    np.testing.assert_array_equal(back, array)


def test_save_and_load(hw, rng):
    array = rng.integers(1, 10, (36, hw.batch, hw.block))
    np.testing.assert_array_equal(element_wise(hw, array, (AluOp.SHR, 0)), array.astype(np.int8))


PADS = {"Y0": (2, 0, 0, 0), "Y1": (0, 0, 2, 0), "X0": (0, 2, 0, 0), "X1": (0, 0, 0, 2), "all": (1, 1, 1, 1)}


def bordered(array, pads):
    top, left, bottom, right = pads
    return np.pad(array, ((top, bottom), (left, right), (0, 0), (0, 0)))


@pytest.mark.parametrize("pads", PADS.values(), ids=PADS)
def test_padded_accumulator_load(hw, rng, pads):
    kernel = Kernel(hw)
    array = rng.integers(0, 10, (3, 5, *kernel.row))
    expected = bordered(array, pads).astype(np.int8).reshape(-1, *kernel.row)
    layout = {"x_size": 5, "y_size": 3, "x_stride": 5, "pads": pads}
    kernel.load(MemoryType.ACC, array, **layout)
    kernel.stream.alu(AluOp.SHR, **rows_of(len(expected)), imm=0)
    kernel.store(len(expected))
    if MemoryType.ACC not in hw.capabilities.padded_types:
        with pytest.raises(VerificationError, match="honours pads only of INP"):
            kernel.run()
        return
    np.testing.assert_array_equal(kernel.run(), expected)


@pytest.mark.parametrize("pads", PADS.values(), ids=PADS)
def test_padded_input_load(hw, rng, pads):
    """Seen through a product with the identity."""
    kernel = Kernel(hw)
    array = rng.integers(-128, 128, (3, 5, *kernel.row), np.int8)
    expected = bordered(array, pads).reshape(-1, *kernel.row)
    kernel.load(MemoryType.WGT, np.eye(hw.block, dtype=np.int8))
    kernel.load(MemoryType.INP, array, x_size=5, y_size=3, x_stride=5, pads=pads)
    loop = Loop(len(expected), 1, 1)
    kernel.stream.gemm(single_uop(0), inner=loop, reset=True)
    kernel.stream.gemm(single_uop(0), inner=loop)
    kernel.store(len(expected))
    np.testing.assert_array_equal(kernel.run(), expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_gemm(hw, rng, threads):
    """4 rows of inputs times 4 columns of weights; each thread has rows and accumulators of its own."""
    kernel = Kernel(hw)
    inputs = rng.integers(-128, 128, (4, *kernel.row), np.int8)
    weights = rng.integers(-128, 128, (4, hw.block, hw.block), np.int8)
    share = 4 // threads
    output = kernel.output(16)
    for thread in range(threads):
        part, first = inputs[thread * share :][:share], thread * share * 4
        kernel.load(MemoryType.INP, part, sram=thread * share)
        kernel.load(MemoryType.WGT, weights, sram=thread * 4)
        outer, inner = Loop(share, 4, 1, 0), Loop(4, 1, 0, 1)
        tile = single_uop(first, thread * share, thread * 4)
        kernel.stream.gemm(tile, Loop(share, 4, 0), Loop(4, 1, 0), reset=True)
        kernel.stream.gemm(tile, outer, inner)
        for op, imm in ((AluOp.SHR, 8), (AluOp.MAX, 0), (AluOp.MIN, 127)):
            kernel.stream.alu(op, single_uop(first, first), inner=Loop(share * 4, 1, 1), imm=imm)
        kernel.stream.store(first, output + first, share * 4, 1, share * 4)
    product = np.einsum("obi,mci->ombc", inputs.astype(np.int64), weights.astype(np.int64)).astype(f"int{hw.acc_bits}")
    expected = np.clip(product.reshape(-1, *kernel.row) >> 8, 0, 127)
    np.testing.assert_array_equal(kernel.run(), expected)


IMMEDIATE = {
    "SHL": (AluOp.SHR, -1, lambda a, imm: a << imm),
    "SHR": (AluOp.SHR, 1, lambda a, imm: a >> imm),
    "ADD": (AluOp.ADD, 1, np.add),
    "MAX": (AluOp.MAX, 1, np.maximum),
    "MIN": (AluOp.MIN, 1, np.minimum),
    "MUL": (AluOp.MUL, 1, np.multiply),
}
TENSOR = {"ADD": np.add, "MAX": np.maximum, "MIN": np.minimum, "MUL": np.multiply}


def expect(kernel, op, expected):
    """Run `kernel`; it must give the low bytes of `expected`, or be refused where the target lacks `op`."""
    if op is AluOp.MUL and not kernel.hw.capabilities.multiply:
        with pytest.raises(VerificationError, match=r"capability: .*MUL"):
            kernel.run()
        return
    np.testing.assert_array_equal(kernel.run(), expected.astype(np.int8))


@pytest.mark.parametrize("name", IMMEDIATE)
def test_alu_with_an_immediate(hw, rng, name):
    op, sign, reference = IMMEDIATE[name]
    kernel = Kernel(hw)
    array, imm = rng.integers(-16, 16, (64, *kernel.row)), int(rng.integers(1, 5))
    kernel.load(MemoryType.ACC, array)
    kernel.stream.alu(op, **rows_of(64), imm=sign * imm)
    kernel.store(64)
    expect(kernel, op, reference(array, imm))


@pytest.mark.parametrize("name", TENSOR)
def test_alu_with_a_tensor(hw, rng, name):
    kernel = Kernel(hw)
    a, b = rng.integers(-16, 16, (2, 64, *kernel.row))
    for sram, array in ((0, a), (64, b)):
        kernel.load(MemoryType.ACC, array, sram=sram)
    kernel.stream.alu(AluOp[name], **rows_of(64, src=64))
    kernel.store(64)
    expect(kernel, AluOp[name], TENSOR[name](a, b))


def test_alu_over_both_loops_and_several_micro_ops(hw, rng):
    """Every other row of a 4 x 6 block, two micro-ops at a time."""
    kernel = Kernel(hw)
    array = rng.integers(-64, 64, (24, *kernel.row))
    uops = np.array([(0, 0, 0), (4, 4, 0), (2, 2, 0)], UOP_DTYPE)
    kernel.load(MemoryType.ACC, array)
    kernel.stream.alu(AluOp.SHR, **rows_of(24), imm=0)
    kernel.stream.alu(AluOp.ADD, uops, Loop(2, 12, 12), Loop(2, 6, 6), imm=-7)
    kernel.store(24)
    array[::2] -= 7
    np.testing.assert_array_equal(kernel.run(), array)


def test_relu(hw, rng):
    array = rng.integers(-256, 256, (80, hw.batch, hw.block))
    result = element_wise(hw, array, (AluOp.MAX, 0), (AluOp.MIN, 127))
    np.testing.assert_array_equal(result, np.clip(array, 0, 127))


def test_shift_and_scale(hw, rng):
    array = rng.integers(-10, 10, (16, hw.batch, hw.block))
    offset, amount = int(rng.integers(0, 8)), int(rng.integers(1, 5))
    result = element_wise(hw, array, (AluOp.ADD, offset), (AluOp.SHR, amount))
    np.testing.assert_array_equal(result, (array + offset) >> amount)
