"""Large and odd transfers."""

import numpy as np
import pytest

from tests.cases._nets import (
    PLACES,
    Convolution,
    assert_all_on_vta,
    assert_checksums,
    config,
    crc,
    int8_data,
    narrowed,
    run_verified,
)
from tests.codegen._kernels import Kernel
from tests.engines import open_engine
from vta.codegen.stream import Loop, single_uop
from vta.compiler.compile import compile_graph
from vta.config.targets import MemoryType
from vta.errors import VerificationError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa.instruction import AluOp

ONES = (1, 1, 1, 1)
WIDE_ROW = Convolution(
    "row-of-300", (1, 16, 3, 300), (16, 16, 3, 3), (1, 16, 3, 300), 0x2C43200B, 10, 0x9753CC52, 0x529D56FD, padding=ONES
)
MANY_UOPS = Convolution(
    "256-to-80", (1, 256, 9, 9), (80, 256, 3, 3), (1, 80, 9, 9), 0x25358207, 12, 0x6A56CB04, 0x7A7CC977, padding=ONES
)
LARGE_KERNEL = Convolution(
    "33x33-kernel",
    (1, 16, 40, 40),
    (16, 16, 33, 33),
    (1, 16, 40, 40),
    0xB7BCC62A,
    14,
    0x93DD6BC1,
    0xC570B01F,
    padding=(16, 16, 16, 16),
)


CONVOLUTIONS = [
    pytest.param(
        case, *place, id="-".join([case.id, *place]), marks=[pytest.mark.slow] if case is LARGE_KERNEL and "rtl" in place else []
    )
    for case in (WIDE_ROW, MANY_UOPS, LARGE_KERNEL)
    for place in PLACES
]


@pytest.mark.parametrize(("case", "engine", "name"), CONVOLUTIONS)
def test_convolutions(case, engine, name):
    assert_checksums(case, config(name), engine)


SMALL_BUFFERS = {
    "data": {"LOG_INP_BUFF_SIZE": 10, "LOG_WGT_BUFF_SIZE": 12, "LOG_ACC_BUFF_SIZE": 12},
    "micro-ops": {"LOG_UOP_BUFF_SIZE": 6},
}


@pytest.mark.parametrize("name", ["sim", "tsim", "pynq", "intelfocl"])
@pytest.mark.parametrize("buffers", SMALL_BUFFERS)
@pytest.mark.parametrize("case", [WIDE_ROW, MANY_UOPS], ids=str)
def test_convolutions_in_very_small_buffers(case, buffers, name):
    """64 input, 16 weight and 64 accumulator rows; or 16 micro-ops."""
    assert_checksums(case, config(name, **SMALL_BUFFERS[buffers]))


@pytest.mark.parametrize(("engine", "name"), PLACES)
def test_matrix_product(engine, name):
    a, b = int8_data((64, 64), seed=1), int8_data((64, 64), seed=2)
    data = graph_input("a", a.shape, "int8")
    compiled = compile_graph(Graph((data,), (call("nn.dense", [data, constant(b)], "product"),)), config(name))
    assert_all_on_vta(compiled)
    for report in run_verified(compiled, {"a": a}, device=open_engine(engine, compiled.hw)):
        assert report.outputs[0].shape == (64, 64)
        assert crc(report.outputs[0]) == 0x83A29959
        assert report.counters.macs == 64**3


@pytest.mark.parametrize(("engine", "name"), PLACES)
def test_long_addition(engine, name):
    arrays = {"a": int8_data((1, 16, 1, 20000), seed=4), "b": int8_data((1, 16, 1, 20000), seed=5)}
    a, b = (graph_input(key, value.shape, "int8") for key, value in arrays.items())
    total = call("add", [call("cast", [node], "sum", dtype="int32") for node in (a, b)], "sum")
    compiled = compile_graph(Graph((a, b), (narrowed(total, 0, "sum"),)), config(name))
    assert_all_on_vta(compiled)
    for report in run_verified(compiled, arrays, device=open_engine(engine, compiled.hw)):
        assert int(report.outputs[0].sum(dtype=np.int64)) == -112091
        assert crc(report.outputs[0]) == 0xB2939181


@pytest.mark.parametrize(("engine", "name"), PLACES)
def test_accumulator_load_with_four_different_pads(engine, name):
    kernel = Kernel(config(name))
    array = int8_data((3, 7, *kernel.row), seed=1)
    top, left, bottom, right = 1, 2, 3, 4
    expected = np.pad(array[:, :5], ((top, bottom), (left, right), (0, 0), (0, 0))).reshape(-1, *kernel.row)
    kernel.load(MemoryType.ACC, array, sram=3, x_size=5, y_size=3, x_stride=7, pads=(top, left, bottom, right))
    kernel.stream.alu(AluOp.SHR, single_uop(3, 3), inner=Loop(len(expected), 1, 1), imm=0)
    kernel.store(len(expected), sram=3)
    if MemoryType.ACC not in kernel.hw.capabilities.padded_types:
        with pytest.raises(VerificationError, match=f"target {name} honours pads only of INP"):
            kernel.run(engine)
        return
    np.testing.assert_array_equal(kernel.run(engine), expected)
