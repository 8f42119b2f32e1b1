"""Small tasks."""

from functools import cache

import numpy as np

from tests.integer_graphs import BASELINE, conv, int8_clip, per_channel
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
