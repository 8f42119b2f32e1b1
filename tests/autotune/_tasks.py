"""Small tasks."""

from functools import cache

import numpy as np

from tests.integer_graphs import BASELINE, conv, int8_clip, per_channel, widened
from vta.autotune.task import task_of_graph
from vta.ir.graph import Graph, call, constant, graph_input


def layer(channels=32, outputs=32, size=6, kernel=3, pad=1, stride=1, batch=1, groups=1):
    """A convolution with bias, shift and clip."""
    rng = np.random.default_rng(0)
    data = graph_input("x", (batch, channels, size, size), "int8")
    weights = rng.integers(-9, 9, (outputs, channels // groups, kernel, kernel))
    value = conv(data, weights, "layer", padding=(pad,) * 4, strides=(stride, stride), groups=groups)
    value = call("add", [value, per_channel(rng.integers(-99, 99, outputs))], "layer")
    value = call("right_shift", [value, constant(np.int32(4))], "layer")
    return Graph((data,), (int8_clip(value, "layer"),), "layer")


@cache
def small_task(hw=BASELINE):
    """A convolution whose space is quick to search."""
    return task_of_graph(layer(), hw)


def two_layers(size=6, middle=32, residual=True, name=""):
    """Two convolutions, one after the other; the input is added to what comes out unless `residual` says no."""
    rng = np.random.default_rng(1)
    data = graph_input("x", (1, 32, size, size), "int8")
    value = data
    for label, channels in ((f"{name}first", middle), (f"{name}second", 32)):
        weights = rng.integers(-9, 9, (channels, value.shape[1], 3, 3))
        value = conv(value, weights, label, padding=(1,) * 4)
        value = call("right_shift", [value, constant(np.int32(4))], label)
        if residual and label.endswith("second"):
            value = call("add", [value, widened(data)], label)
        value = int8_clip(value, label)
    return Graph((data,), (value,), "net")
