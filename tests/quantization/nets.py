"""Small float nets with seeded random weights."""

from __future__ import annotations

import numpy as np

from vta.ir.graph import Graph, Node, call, constant, graph_input


class NetBuilder:
    """Builds float layers with seeded random weights."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def conv(self, data: Node, channels: int, name: str, size: int = 3, relu: bool = True, **attributes) -> Node:
        fan_in = data.shape[1] // attributes.get("groups", 1) * size * size
        weight = self.rng.normal(0, 1.4 / fan_in**0.5, (channels, data.shape[1] // attributes.get("groups", 1), size, size))
        weight *= self.rng.uniform(0.1, 2, (channels, 1, 1, 1))
        half = size // 2
        attributes.setdefault("padding", (half, half, half, half))
        value = call("nn.conv2d", [data, constant(weight.astype(np.float32))], name, **attributes)
        value = self.bias(value, name)
        return call("nn.relu", [value], f"{name}_relu") if relu else value

    def bias(self, data: Node, name: str) -> Node:
        bias = self.rng.normal(0, 0.3, data.shape[1]).astype(np.float32)
        return call("nn.bias_add", [data, constant(bias)], name)

    def dense(self, data: Node, units: int, name: str) -> Node:
        weight = self.rng.normal(0, data.shape[1] ** -0.5, (units, data.shape[1])).astype(np.float32)
        return self.bias(call("nn.dense", [data, constant(weight)], name), name)

    def batch_norm(self, data: Node, name: str) -> Node:
        shape = (1, data.shape[1], 1, 1)
        factor = self.rng.uniform(0.3, 1.5, shape) * self.rng.choice([1, 1, 1, -1], shape)
        scaled = call("multiply", [data, constant(factor.astype(np.float32))], name)
        return call("add", [scaled, constant(self.rng.normal(0, 0.3, shape).astype(np.float32))], name)

    def samples(self, graph: Graph, count: int) -> dict[str, np.ndarray]:
        return {n.name: self.rng.normal(0, 1, (count, *n.shape[1:])).astype(np.float32) for n in graph.inputs}


def residual_net(net: NetBuilder) -> Graph:
    """First convolution, a residual block, a down-sampling block, average pooling, a dense layer and a softmax."""
    data = graph_input("data", (2, 3, 8, 8))
    stem = net.conv(data, 8, "stem")
    left = net.conv(net.conv(stem, 8, "a1"), 8, "a2", relu=False)
    block = call("nn.relu", [call("add", [left, stem], "a_add")], "a_relu")
    down = net.conv(net.conv(block, 12, "b1", strides=(2, 2)), 12, "b2", relu=False)
    shortcut = net.conv(block, 12, "b_shortcut", size=1, relu=False, strides=(2, 2))
    block = call("nn.relu", [call("add", [shortcut, down], "b_add")], "b_relu")
    pooled = call("nn.global_avg_pool2d", [block], "pool")
    scores = net.dense(call("nn.batch_flatten", [pooled], "flat"), 5, "fc")
    return Graph((data,), (call("nn.softmax", [scores], "softmax"),))


def preactivation_net(net: NetBuilder) -> Graph:
    """Batch norms on a residual stream, between additions and convolutions."""
    data = graph_input("data", (2, 3, 8, 8))
    stream = net.conv(data, 8, "stem", relu=False)
    for name in ("a", "b"):
        active = call("nn.relu", [net.batch_norm(stream, f"{name}_bn")], f"{name}_relu")
        branch = net.conv(net.conv(active, 8, f"{name}1"), 8, f"{name}2", relu=False)
        stream = call("add", [branch, stream], f"{name}_add")
    active = call("nn.relu", [net.batch_norm(stream, "last_bn")], "last_relu")
    pooled = call("nn.avg_pool2d", [active], "pool", pool_size=(8, 8))
    return Graph((data,), (net.dense(call("nn.batch_flatten", [pooled], "flat"), 5, "fc"),))


def branching_net(net: NetBuilder) -> Graph:
    """Max-pooling, concatenation, upsampling, padding, an average with borders, grouped convolutions and two outputs."""
    data = graph_input("data", (1, 4, 12, 12))
    stem = call("nn.max_pool2d", [net.conv(data, 8, "stem")], "max", pool_size=(2, 2), strides=(2, 2))
    left = net.conv(stem, 6, "left")
    right = call("clip", [net.conv(stem, 8, "right", groups=8, relu=False)], "relu6", a_min=0.0, a_max=6.0)
    joined = call("concatenate", [left, right, stem], "concat", axis=1)
    mean = call("nn.avg_pool2d", [joined], "mean", pool_size=(3, 3), padding=(1, 1, 1, 1))
    up = call("nn.upsampling", [net.conv(mean, 8, "mid", strides=(2, 2))], "up", scale_h=2, scale_w=2)
    total = call("add", [up, net.conv(stem, 8, "side", size=1)], "total")
    half = call("nn.avg_pool2d", [total], "half", pool_size=(3, 2), strides=(3, 2))
    other = call("sigmoid", [net.conv(half, 4, "head1", relu=False)], "sigmoid")
    return Graph((data,), (net.conv(total, 4, "head2"), other))
