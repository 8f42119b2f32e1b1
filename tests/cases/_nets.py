"""Convolutions with known checksums: how their data is made, and networks around them."""

import zlib
from dataclasses import dataclass
from functools import cache

import numpy as np

from tests.engines import open_engine
from vta.compiler.compile import compile_graph
from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.isa.verify import verify
from vta.runtime import Module

SHIPPED = tuple(shipped_configs())

PLACES = [*(("sim", name) for name in SHIPPED), ("cycle", "sim"), ("rtl", "sim"), ("opencl", "intelfocl")]
"""Engine and config: the simulator for every config, the engines that count cycles for the baseline, OpenCL for its own."""

NARROW = {"LOG_ACC_WIDTH": 4, "LOG_ACC_BUFF_SIZE": 16}
"""Changes of the config `sim` that make its accumulators 16 bits wide, as many as before."""

INPUT_SEED, WEIGHT_SEED, BIAS_SEED = 1, 2, 3


def _hashes(count, seed):
    """A fixed 32-bit hash of the indices 0 to count - 1."""
    h = (np.arange(count, dtype=np.uint64) + np.uint64(seed * 0x9E3779B9)) & np.uint64(0xFFFFFFFF)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h ^= h >> np.uint64(shift)
        h = (h * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    return h ^ (h >> np.uint64(16))


def int8_data(shape, seed):
    """Values from -127 to 127."""
    return ((_hashes(int(np.prod(shape)), seed) % 255).astype(np.int64) - 127).astype(np.int8).reshape(shape)


def bias_data(count):
    """Values from -2000 to 2000."""
    return ((_hashes(count, BIAS_SEED) % 4001).astype(np.int64) - 2000).astype(np.int32)


def crc(array):
    """CRC32 of the little-endian bytes of an int8 or int32 array."""
    return zlib.crc32(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())


@dataclass(frozen=True)
class Convolution:
    """One convolution with bias, and the checksums of what it must give."""

    id: str
    x: tuple
    w: tuple
    out: tuple
    acc: int
    """CRC32 of convolution plus bias, int32."""
    shift: int
    floor: int
    """CRC32 of clip(acc >> shift, -128, 127)."""
    half_up: int
    """As `floor`, with half of the divisor added first."""
    strides: tuple = (1, 1)
    padding: tuple = (0, 0, 0, 0)
    dilation: tuple = (1, 1)
    groups: int = 1

    def __str__(self):
        return self.id

    def arrays(self):
        return _arrays(self.x, self.w)

    def accumulator(self, data, name):
        """The int32 node: convolution plus bias."""
        _, weights, bias = self.arrays()
        attrs = {"strides": self.strides, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}
        product = call("nn.conv2d", [data, constant(weights)], name, **attrs)
        return call("nn.bias_add", [product, constant(bias)], name)


@cache
def _arrays(x, w):
    return int8_data(x, INPUT_SEED), int8_data(w, WEIGHT_SEED), bias_data(w[0])


def narrowed(node, shift, name, half_up=False, low=-128, high=127):
    """Shift an int32 node to the right, clip it and cast it to int8."""
    if half_up:
        node = call("add", [node, constant(np.int32(1 << (shift - 1)))], name)
    if shift:
        node = call("right_shift", [node, constant(np.int32(shift))], name)
    return call("cast", [call("clip", [node], name, a_min=low, a_max=high)], name, dtype="int8")


def three_results(case):
    """A network that gives the accumulator and both int8 results, each by a convolution of its own."""
    data = graph_input("x", case.x, "int8")
    outputs = [case.accumulator(data, "acc")]
    for name, half_up in (("floor", False), ("half_up", True)):
        outputs.append(narrowed(case.accumulator(data, name), case.shift, name, half_up))
    return Graph((data,), tuple(outputs))


def reference_convolution(x, weights, padding, strides=(1, 1)):
    """The exact convolution as int64, by sliding windows."""
    top, left, bottom, right = padding
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[2:], axis=(2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1]]
    # Sums stay far below 2^53, so that float64 holds them exactly.
    return np.tensordot(windows, weights.astype(np.float64), ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2).astype(np.int64)


@cache
def assert_interpreted(case):
    """The interpreter gives the checksums of `case`."""
    data = graph_input("x", case.x, "int8")
    acc = case.accumulator(data, "acc")
    narrow = [narrowed(acc, case.shift, name, half_up) for name, half_up in (("floor", False), ("half_up", True))]
    outputs = evaluate(Graph((data,), (acc, *narrow)), {"x": case.arrays()[0]})
    assert [crc(output) for output in outputs] == [case.acc, case.floor, case.half_up]


def run_verified(compiled, inputs, seeds=(None, 1), device=None):
    """Run in program order and at random, with programs that the verifier finds nothing wrong with; returns all reports.

    `device` is the simulator unless given. Others run once: they have an order of their own.
    """
    for region in compiled.regions:
        assert verify(region.program) == []
    device = device or SimDevice(compiled.hw)
    with Module(compiled, device) as module:
        return [module.run(inputs, seed=seed) for seed in (seeds if device.name in ("sim", "opencl") else (None,))]


def assert_checksums(case, hw, engine="sim"):
    """Interpret `case`, and compile it for `hw` and run it on `engine`: every result must have the right shape and checksum.

    All of it must run on VTA.
    """
    assert_interpreted(case)
    compiled = compile_graph(three_results(case), hw)
    assert_all_on_vta(compiled)
    for report in run_verified(compiled, {"x": case.arrays()[0]}, device=open_engine(engine, hw)):
        assert [output.shape for output in report.outputs] == [case.out] * 3
        wanted = (case.acc, case.floor, case.half_up)
        assert [f"{crc(output):08x}" for output in report.outputs] == [f"{value:08x}" for value in wanted]


def assert_all_on_vta(compiled):
    """Nothing is left to the host but to lay out windows of an input that fills its blocks badly."""
    left = [
        (entry.layer, entry.op, entry.reason)
        for entry in compiled.placements
        if entry.where != "vta" and entry.op != "nn.windows"
    ]
    assert left == []


def config(name, **changes):
    """The shipped config called `name`, with other values for some keys."""
    return HardwareConfig.from_json({**HardwareConfig.named(name).to_json(), **changes})
