"""uint8 values, constants and computed ones: whatever happens to them, they are dequantised as what they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.integer_graphs import BASELINE
from tests.onnx_models import Quantized, check, model
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate
from vta.runtime import Module

DTYPES = (np.uint8, np.int8)

STEPS = {
    # From the net and a value of shape (2, 3, 4, 4): a value of any shape.
    "Concat": lambda net, v: net.node("Concat", v, net.constant(net.bytes(2, 1, 4, 4)), axis=1),
    "Expand": lambda net, v: net.node("Expand", v, net.constant(np.int64([1, 2, 3, 4, 4]))),
    "Flatten": lambda net, v: net.node("Flatten", v),
    "Gather": lambda net, v: net.node("Gather", v, net.constant(np.int64([[1, 0], [2, 2]])), axis=1),
    "Gather at run time": lambda net, v: net.node("Gather", v, "i", axis=1),
    "Identity": lambda net, v: net.node("Identity", v),
    "Max": lambda net, v: net.node("Max", v, net.constant(net.bytes(4))),
    "MaxPool": lambda net, v: net.node("MaxPool", v, kernel_shape=[2, 2], pads=[1, 0, 0, 1]),
    "Min": lambda net, v: net.node("Min", net.constant(net.bytes()), v),
    "Pad": lambda net, v: net.node("Pad", v, net.constant(np.int64([0, 0, 1, 0, 0, 0, 0, 2])), net.constant(net.bytes())),
    "Pad with zero": lambda net, v: net.node("Pad", v, net.constant(np.int64([0, 0, 1, 0, 0, 0, 0, 2]))),
    "ReduceMax": lambda net, v: net.node("ReduceMax", v, axes=[1]),
    "Reshape": lambda net, v: net.node("Reshape", v, net.constant(np.int64([3, 32]))),
    "Resize": lambda net, v: net.node("Resize", v, "", net.constant(np.float32([1, 1, 2, 1.5])), mode="nearest"),
    "Slice": lambda net, v: net.node("Slice", v, net.constant(np.int64([3])), net.constant(np.int64([0])),
                                     net.constant(np.int64([2])), net.constant(np.int64([-2]))),
    "Split": lambda net, v: net.node("Split", v, outputs=["s0", "s1"], axis=2),
    "SpaceToDepth": lambda net, v: net.node("SpaceToDepth", v, blocksize=2),
    "Tile": lambda net, v: net.node("Tile", v, net.constant(np.int64([1, 2, 1, 3]))),
    "Transpose": lambda net, v: net.node("Transpose", v, perm=[0, 2, 3, 1]),
    "Unsqueeze": lambda net, v: net.node("Unsqueeze", v, net.constant(np.int64([0, 5]))),
    "Where": lambda net, v: net.node("Where", "c", v, net.constant(net.bytes(1, 3, 1, 1))),
    "Where of constants": lambda net, v: net.node("Where", "c", net.constant(net.bytes()), net.constant(net.bytes(2, 3, 4, 4))),
}  # fmt: skip

ENDS = ("dequantised", "without a zero point", "bytes", "real", "compared", "wider", "narrower")


class Bytes(Quantized):
    """A model on bytes of one type."""

    def __init__(self, dtype, seed=0):
        super().__init__(seed)
        self.dtype = dtype

    def bytes(self, *shape):
        info = np.iinfo(self.dtype)
        return self.random.integers(info.min, info.max + 1, shape).astype(self.dtype)

    def end(self, value, kind):
        """The value, or what it stands for, with its type."""
        if kind == "bytes":
            return value, self.dtype
        if kind == "compared":
            return self.node("Greater", self.node("Cast", value, to=TensorProto.INT32), self.constant(np.int32(99))), bool
        if kind in ("real", "wider", "narrower"):
            to = {"real": np.float32, "wider": np.int64, "narrower": np.int8}[kind]
            return self.node("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(to))), to
        names = [self.constant(np.float32(0.02)), *([self.constant(self.dtype(120))] if kind == "dequantised" else [])]
        return self.node("DequantizeLinear", value, *names), np.float32


FEED_SHAPE = (2, 3, 4, 4)


def feeds(net):
    feed = {"x": net.bytes(*FEED_SHAPE), "i": net.random.integers(0, 2, (2, 2))}
    return feed | {"c": net.random.integers(0, 2, FEED_SHAPE).astype(bool)}


def run(net, value, end):
    output, kind = net.end(value, end)
    feed = feeds(net)
    read = {name for node in net.nodes for name in node.input}
    feed = {name: array for name, array in feed.items() if name in read}
    check(model(net.nodes, feed, net.constants, {output: kind}), feed)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_happens_to_bytes(step, constant, dtype):
    for end in ENDS:
        net = Bytes(dtype)
        first = net.constant(net.bytes(*FEED_SHAPE)) if constant else "x"
        run(net, STEPS[step](net, first), end)


KEEP_SHAPE = ["Identity", "Max", "Min", "Where", "Where of constants"]


@settings(max_examples=60)
@given(
    dtype=st.sampled_from(DTYPES),
    constant=st.booleans(),
    steps=st.lists(st.sampled_from(KEEP_SHAPE), max_size=4),
    last=st.sampled_from(list(STEPS)),
    end=st.sampled_from(ENDS),
    seed=st.integers(0, 999),
)
def test_bytes_go_through_many_operators(dtype, constant, steps, last, end, seed):
    net = Bytes(dtype, seed)
    value = net.constant(net.bytes(*FEED_SHAPE)) if constant else "x"
    for step in [*steps, last]:
        value = STEPS[step](net, value)
    run(net, value, end)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "ReduceSum", "Equal", "Less", "Not of Equal"])
def test_arithmetic_on_bytes_is_that_of_their_type(op):
    """Held to ONNX's own evaluator: ONNX Runtime has no arithmetic of bytes."""
    net = Bytes(np.uint8)
    if op == "ReduceSum":
        value = net.node("ReduceSum", net.node("Max", "x", net.constant(net.bytes())))
    else:
        value = net.node(op.split()[-1], net.node("Identity", "x"), net.constant(net.bytes(4)))
    value = net.node("Not", value) if op.startswith("Not") else value
    kind = bool if "Equal" in op or op == "Less" else np.uint8
    feed = {"x": net.bytes(*FEED_SHAPE)}
    network = model(net.nodes, feed, net.constants, {value: kind})
    got, want = evaluate(import_onnx(network), feed)[0], ReferenceEvaluator(network).run(None, feed)[0]
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("between", ["", "Reshape", "MatMul"])
def test_rows_of_a_table_that_are_picked_at_run_time(dtype, between):
    net = Bytes(dtype)
    rows = net.node("Gather", net.constant(net.bytes(50, 32)), "i")
    if between == "Reshape":
        rows = net.node("Reshape", rows, net.constant(np.int64([14, 32])))
    value, _ = net.end(rows, "dequantised")
    if between == "MatMul":
        value = net.node("MatMul", value, net.constant(net.random.standard_normal((32, 8)).astype(np.float32)))
    feed = {"i": net.random.integers(0, 50, (2, 7))}
    check(net.model(feed, value), feed)


def test_a_float_network_on_images_of_bytes_is_a_float_network():
    """It is quantised as others are, and its products run on the accelerator."""
    net = Bytes(np.uint8)
    value = net.node("Mul", net.node("Cast", "x", to=TensorProto.FLOAT), net.constant(np.float32(1 / 255)))
    for _ in range(2):
        weight = net.constant((net.random.standard_normal((16, 16, 3, 3)) / 9).astype(np.float32))
        value = net.node("Relu", net.node("Conv", value, weight, pads=[1, 1, 1, 1]))
    feed = {"x": net.bytes(1, 16, 8, 8)}
    graph = check(net.model(feed, value), feed)
    assert not [node.op for node in graph.calls() if node.op.startswith("qnn.")]
    with Module(compile_model(graph, BASELINE, calibration=feed), SimDevice(BASELINE)) as module:
        report = module.check(feed)
    assert report.bit_exact
    assert report.run.macs > 0
