"""TFLite models that several tests use, and helpers around them."""

from __future__ import annotations

import numpy as np
import tflite

from vta.errors import ImportModelError
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate
from vta.testing.tflite_model import Tflite, conv_options, reference

__all__ = ["Tflite", "conv_options", "is_refused", "random_values", "reference", "run", "small_net"]


def random_values(graph: Graph, seed=0):
    """Random values of the graph's inputs."""
    rng = np.random.default_rng(seed)
    values = {}
    for node in graph.inputs:
        if node.dtype == "float32":
            values[node.name] = rng.standard_normal(node.shape, np.float32) * 3
        elif node.dtype == "bool":
            values[node.name] = rng.random(node.shape) < 0.5
        else:
            info = np.iinfo(node.dtype)
            values[node.name] = rng.integers(info.min, info.max, node.shape, node.dtype, endpoint=True)
    return values


def small_net(rng=None, dtype="int8", scales_per_channel=True) -> bytes:
    """Convolution, depthwise convolution, addition, average pool, flatten, dense, softmax."""
    rng = rng or np.random.default_rng(0)
    zero = -128 if dtype == "int8" else 0
    net = Tflite()
    x = net.tensor((1, 9, 8, 3), dtype, 0.02, zero + 120, name="x")
    count = 20 if scales_per_channel else 1
    low, high, middle = (-127, 128, 0) if dtype == "int8" else (0, 256, 120)
    w = net.constant(rng.integers(low, high, (20, 3, 3, 3)), dtype, rng.uniform(0.004, 0.02, count), middle)
    b = net.constant(rng.integers(-3000, 3000, 20), "int32")
    y = net.tensor((1, 5, 4, 20), dtype, 0.05, zero, name="conv")
    net.operator("CONV_2D", [x, w, b], y, **conv_options(stride=2, activation="RELU6"))
    w = net.constant(rng.integers(low, high, (1, 3, 3, 20)), dtype, rng.uniform(0.004, 0.02, count), middle, axis=3)
    b = net.constant(rng.integers(-3000, 3000, 20), "int32")
    z = net.tensor((1, 5, 4, 20), dtype, 0.04, zero + 128, name="depthwise")
    options = conv_options() | {"options": "DepthwiseConv2DOptions", "DepthMultiplier": 1}
    net.operator("DEPTHWISE_CONV_2D", [y, w, b], z, **options)
    total = net.tensor((1, 5, 4, 20), dtype, 0.07, zero + 100, name="sum")
    net.operator("ADD", [y, z], total, "AddOptions", FusedActivationFunction=0)
    pooled = net.tensor((1, 2, 2, 20), dtype, 0.07, zero + 100, name="pool")
    pool = {"Padding": tflite.Padding.VALID, "StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2}
    net.operator("AVERAGE_POOL_2D", [total], pooled, "Pool2DOptions", FusedActivationFunction=0, **pool)
    flat = net.tensor((1, 80), dtype, 0.07, zero + 100, name="flat")
    net.operator("RESHAPE", [pooled, net.constant([1, 80], "int32")], flat, "ReshapeOptions", NewShape=(1, 80))
    w = net.constant(rng.integers(low, high, (7, 80)), dtype, 0.006, middle)
    b = net.constant(rng.integers(-3000, 3000, 7), "int32")
    scores = net.tensor((1, 7), dtype, 0.1, zero + 130, name="dense")
    net.operator("FULLY_CONNECTED", [flat, w, b], scores, "FullyConnectedOptions", FusedActivationFunction=0)
    out = net.tensor((1, 7), dtype, 1 / 256, zero, name="softmax")
    net.operator("SOFTMAX", [scores], out, "SoftmaxOptions", Beta=1.0)
    return net.build([x], [out])


def is_refused(load, content):
    """Whether `load` either imports `content` or raises nothing but ImportModelError; returns the error's text."""
    try:
        load(content)
    except ImportModelError as error:
        return str(error)
    return ""


def run(graph: Graph, values):
    """The graph's outputs."""
    return evaluate(graph, values)
