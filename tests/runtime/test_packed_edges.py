"""What crosses between kernels and regions lies as on the device where both have the same blocks."""

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, conv, int8_clip
from vta.compiler.compile import compile_graph
from vta.devices.sim import SimDevice
from vta.host.llvm.target import host_target
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.runtime.host_graph import reference_of
from vta.runtime.host_options import HostOptions
from vta.runtime.module import Module
from vta.runtime.plan import RegionStep

OPTIONS = HostOptions(compiled=True)
same_blocks = pytest.mark.skipif(host_target().lanes(4) != BASELINE.block, reason="needs registers of as many values as a block")


def network(channels, keeps=False):
    """Floats to bytes, a layer of VTA's, and back."""
    data = graph_input("data", (1, channels, 10, 12), "float32")
    pooled = call(ops.MAX_POOL2D, [data], pool_size=(2, 2), strides=(2, 2))
    levels = call(ops.QNN_QUANTIZE, [pooled], "levels", scale=0.03, zero_point=5)
    weights = np.random.default_rng(0).integers(-128, 128, (channels, channels, 3, 3))
    shifted = call(ops.RIGHT_SHIFT, [conv(levels, weights, "conv", padding=(1, 1, 1, 1)), constant(np.int32(9))], "conv")
    result = call(ops.QNN_DEQUANTIZE, [int8_clip(shifted, "conv")], "real", scale=0.1)
    return Graph((data,), (result, levels) if keeps else (result,))


def packed_of(module):
    (packed,) = [step.packed for step in module._host_plan().steps if isinstance(step, RegionStep)]
    return sorted(node.name for node in packed)


@same_blocks
@pytest.mark.parametrize("channels", [16, 21, 64])
def test_results_are_the_same(channels):
    compiled = compile_graph(network(channels), BASELINE)
    data = np.random.default_rng(1).standard_normal((1, channels, 10, 12)).astype(np.float32)
    with Module(compiled, SimDevice(BASELINE)) as plain:
        want = plain.run(data).outputs[0]
    with Module(compiled, SimDevice(BASELINE), host=OPTIONS) as module:
        assert packed_of(module) == ["conv", "levels"]
        np.testing.assert_array_equal(module.run(data).outputs[0], want)
        assert module.check(data).bit_exact
    np.testing.assert_array_equal(reference_of(compiled, OPTIONS).run({"data": data})[0], want)


@same_blocks
def test_what_others_read_comes_row_by_row():
    compiled = compile_graph(network(32, keeps=True), BASELINE)
    data = np.random.default_rng(1).standard_normal((1, 32, 10, 12)).astype(np.float32)
    with Module(compiled, SimDevice(BASELINE)) as plain, Module(compiled, SimDevice(BASELINE), host=OPTIONS) as module:
        assert packed_of(module) == ["conv"]
        for got, want in zip(module.run(data).outputs, plain.run(data).outputs, strict=True):
            np.testing.assert_array_equal(got, want)
