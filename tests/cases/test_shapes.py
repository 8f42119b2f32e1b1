"""Shapes, strides, dilations, groups, batches and pooling."""

import numpy as np
import pytest

from tests.cases._nets import (
    PLACES,
    SHIPPED,
    Convolution,
    assert_all_on_vta,
    assert_checksums,
    config,
    int8_data,
    run_verified,
)
from tests.engines import open_engine
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, call, graph_input

COUNTING = ("cycle", "rtl")
ONES, TWOS = (1, 1, 1, 1), (2, 2, 2, 2)
CASES = [
    Convolution(
        "1x7", (1, 16, 12, 19), (32, 16, 1, 7), (1, 32, 12, 19), 0x0235C94A, 10, 0x15ACD9D7, 0x6AB227F3, padding=(0, 3, 0, 3)
    ),
    Convolution(
        "7x1", (1, 16, 19, 12), (32, 16, 7, 1), (1, 32, 19, 12), 0xFA6AF054, 10, 0x669735D8, 0xAED14A0D, padding=(3, 0, 3, 0)
    ),
    Convolution(
        "3x5-strides-2-1",
        (1, 32, 15, 11),
        (16, 32, 3, 5),
        (1, 16, 8, 11),
        0x29123472,
        11,
        0x21E478BA,
        0x70AE2D78,
        strides=(2, 1),
        padding=(1, 2, 1, 2),
    ),
    Convolution(
        "3x3-strides-1-3",
        (1, 16, 10, 13),
        (16, 16, 3, 3),
        (1, 16, 10, 5),
        0x6A0BFE06,
        10,
        0xFE740A6B,
        0xEB52A491,
        strides=(1, 3),
        padding=ONES,
    ),
    Convolution(
        "1x1-stride-2-odd", (1, 48, 7, 7), (64, 48, 1, 1), (1, 64, 4, 4), 0xE1916BFD, 9, 0x21144D82, 0x03DB9FE7, strides=(2, 2)
    ),
    Convolution(
        "1x1-stride-3", (1, 16, 11, 8), (16, 16, 1, 1), (1, 16, 4, 3), 0x6F8FBA33, 8, 0x749D804A, 0x4E53FF65, strides=(3, 3)
    ),
    Convolution(
        "dilation-2",
        (1, 16, 13, 13),
        (16, 16, 3, 3),
        (1, 16, 13, 13),
        0xE5CBD7CE,
        10,
        0x057278C4,
        0x9D6C9B0D,
        padding=TWOS,
        dilation=(2, 2),
    ),
    Convolution("kernel-is-input", (1, 64, 5, 6), (16, 64, 5, 6), (1, 16, 1, 1), 0x61ACD91C, 11, 0x528F3CC8, 0xCEE15B6B),
    Convolution("5x5-on-3x3", (1, 16, 3, 3), (16, 16, 5, 5), (1, 16, 3, 3), 0x2D0B16E4, 10, 0xE3A7DF51, 0xA7BEB97D, padding=TWOS),
    Convolution(
        "depthwise",
        (1, 24, 14, 14),
        (24, 1, 3, 3),
        (1, 24, 14, 14),
        0x44AAB6E7,
        8,
        0xC756C38D,
        0xE0D02666,
        padding=ONES,
        groups=24,
    ),
    Convolution(
        "depthwise-stride-2",
        (1, 2, 4, 4),
        (2, 1, 3, 3),
        (1, 2, 2, 2),
        0xE1F226A0,
        6,
        0x29B97887,
        0x8B48D7D7,
        strides=(2, 2),
        padding=ONES,
        groups=2,
    ),
    Convolution(
        "depthwise-times-2",
        (1, 12, 9, 9),
        (24, 1, 3, 3),
        (1, 24, 9, 9),
        0x7FC5C19E,
        8,
        0x5DD4DF6D,
        0x06A0DA88,
        padding=ONES,
        groups=12,
    ),
    Convolution(
        "4-groups", (1, 32, 8, 8), (48, 8, 3, 3), (1, 48, 8, 8), 0xB050C1B3, 10, 0xFECDA218, 0xB0AAE233, padding=ONES, groups=4
    ),
]
BATCH = Convolution("batch-5", (5, 16, 6, 6), (16, 16, 3, 3), (5, 16, 6, 6), 0xECAE3903, 10, 0x2F304664, 0x3B99CBD7, padding=ONES)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("case", [*CASES, BATCH], ids=str)
def test_every_shape_runs_on_vta(case, name):
    assert_checksums(case, config(name))


@pytest.mark.parametrize("engine", COUNTING)
@pytest.mark.parametrize("case", [*CASES, BATCH], ids=str)
def test_every_shape_is_exact_where_cycles_are_counted(case, engine):
    assert_checksums(case, config("sim"), engine)


@pytest.mark.parametrize("log_batch", [0, 1, 2])
def test_batch_5_with_any_hardware_batch(log_batch):
    assert_checksums(BATCH, HardwareConfig("sim", "0.0.2", 3, 3, 5, log_batch, 3, 15, 14, 16, 16))


def pooled(x, kernel, strides):
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return windows[:, :, :: strides[0], :: strides[1]].max(axis=(4, 5))


def summed(x, kernel, strides):
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int32), kernel, axis=(2, 3))
    return windows[:, :, :: strides[0], :: strides[1]].sum(axis=(4, 5))


@pytest.mark.parametrize(("engine", "name"), PLACES)
@pytest.mark.parametrize("kind", ["max", "sum"])
@pytest.mark.parametrize(("kernel", "strides"), [((1, 1), (2, 2)), ((2, 3), (1, 1)), ((2, 3), (2, 3))])
def test_pooling(engine, name, kind, kernel, strides):
    """Windows that overlap, that leave elements out and that are one element."""
    x = int8_data((1, 16, 9, 10), seed=1)
    data = graph_input("x", x.shape, "int8")
    value = call(f"nn.{kind}_pool2d", [data], "pool", pool_size=kernel, strides=strides)
    compiled = compile_graph(Graph((data,), (value,)), config(name))
    wanted = pooled(x, kernel, strides) if kind == "max" else summed(x, kernel, strides)
    for report in run_verified(compiled, {"x": x}, device=open_engine(engine, compiled.hw)):
        np.testing.assert_array_equal(report.outputs[0], wanted)
    assert_all_on_vta(compiled)


@pytest.mark.parametrize("log_batch", [0, 1, 2])
@pytest.mark.parametrize(("kernel", "strides"), [((1, 1), (2, 2)), ((2, 3), (2, 3))])
def test_pooling_of_batch_5_with_any_hardware_batch(kernel, strides, log_batch):
    x = int8_data((5, 16, 9, 10), seed=1)
    data = graph_input("x", x.shape, "int8")
    graph = Graph((data,), (call("nn.max_pool2d", [data], "pool", pool_size=kernel, strides=strides),))
    compiled = compile_graph(graph, HardwareConfig("sim", "0.0.2", 3, 3, 5, log_batch, 3, 15, 14, 16, 16))
    for report in run_verified(compiled, {"x": x}):
        np.testing.assert_array_equal(report.outputs[0], pooled(x, kernel, strides))
    assert_all_on_vta(compiled)
