"""Large and odd transfers."""

import numpy as np
import pytest

from tests.cases._nets import (
    SHIPPED,
    Convolution,
    assert_all_on_vta,
    assert_checksums,
    config,
    crc,
    int8_data,
    narrowed,
    run_verified,
)
from vta.compiler import compile_graph
from vta.ir.graph import Graph, call, constant, graph_input

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


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("case", [WIDE_ROW, MANY_UOPS, LARGE_KERNEL], ids=str)
def test_convolutions(case, name):
    compiled, _ = assert_checksums(case, config(name))
    assert_all_on_vta(compiled)


@pytest.mark.parametrize("name", SHIPPED)
def test_matrix_product(name):
    a, b = int8_data((64, 64), seed=1), int8_data((64, 64), seed=2)
    data = graph_input("a", a.shape, "int8")
    compiled = compile_graph(Graph((data,), (call("nn.dense", [data, constant(b)], "product"),)), config(name))
    assert_all_on_vta(compiled)
    for report in run_verified(compiled, {"a": a}):
        assert report.outputs[0].shape == (64, 64)
        assert crc(report.outputs[0]) == 0x83A29959
        assert report.counters.macs == 64**3


@pytest.mark.parametrize("name", SHIPPED)
def test_long_addition(name):
    arrays = {"a": int8_data((1, 16, 1, 20000), seed=4), "b": int8_data((1, 16, 1, 20000), seed=5)}
    a, b = (graph_input(key, value.shape, "int8") for key, value in arrays.items())
    total = call("add", [call("cast", [node], "sum", dtype="int32") for node in (a, b)], "sum")
    compiled = compile_graph(Graph((a, b), (narrowed(total, 0, "sum"),)), config(name))
    assert_all_on_vta(compiled)
    for report in run_verified(compiled, arrays):
        assert int(report.outputs[0].sum(dtype=np.int64)) == -112091
        assert crc(report.outputs[0]) == 0xB2939181
