"""Networks built in by name that are no residual networks: SqueezeNet 1.1, a U-Net and a tiny YOLO, with seeded weights.

Structures are the published ones: SqueezeNet 1.1 (Iandola et al., 2016), U-Net with padded convolutions, nearest upsampling and
a quarter of the channels (Ronneberger et al., 2015), YOLOv3-tiny with batch norms folded (Redmon and Farhadi, 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.support.dataclass import dataclass

__all__ = ["PLAIN_NETS", "Shape"]

Shape = tuple[int, ...]

_LEAK = 0.1
_ANCHORS = 3
_BOX = 85
"""Values for each anchor: four of a box, one of an object, 80 of classes."""


@dataclass
class _Builder:
    """Makes layers, each with a name of its own and weights that depend on seed and position only."""

    seed: int
    counts: dict[str, int] = field(default_factory=dict)

    def name(self, kind: str) -> str:
        """The next name of a kind."""
        self.counts[kind] = self.counts.get(kind, -1) + 1
        return f"{kind}{self.counts[kind]}"

    def conv(self, data: Node, channels: int, kernel: int, stride: int = 1, pad: int | None = None, act: str = "relu") -> Node:
        """A convolution with bias, of padding that keeps the size unless `pad` is given, and an activation."""
        name = self.name("conv")
        generator = np.random.default_rng([self.seed, self.counts["conv"]])
        fan_in = data.shape[1] * kernel * kernel
        weight = generator.standard_normal((channels, data.shape[1], kernel, kernel), np.float32) * np.float32(
            math.sqrt(2 / fan_in)
        )
        bias = generator.uniform(-0.05, 0.05, channels).astype(np.float32)
        padding = (kernel // 2 if pad is None else pad,) * 4
        value = call(ops.CONV2D, [data, constant(weight, name)], name, strides=(stride, stride), padding=padding)
        value = call(ops.BIAS_ADD, [value, constant(bias, name)], name)
        if act == "relu":
            return call(ops.RELU, [value], self.name("relu"))
        return call(ops.LEAKY_RELU, [value], self.name("leaky"), alpha=_LEAK) if act == "leaky" else value

    def pool(self, data: Node, size: int = 2, stride: int = 2, padding: Shape = (0, 0, 0, 0), ceil: bool = False) -> Node:
        """Maximum pooling."""
        attributes = {"pool_size": (size, size), "strides": (stride, stride), "padding": padding, "ceil_mode": ceil}
        return call(ops.MAX_POOL2D, [data], self.name("pool"), **attributes)

    def up(self, data: Node) -> Node:
        """Every row and column twice."""
        return call(ops.UPSAMPLING, [data], self.name("up"), scale_h=2, scale_w=2)

    def join(self, *parts: Node) -> Node:
        """Channels after each other."""
        return call(ops.CONCATENATE, parts, self.name("concat"), axis=1)


def _squeezenet(shape: Shape, seed: int) -> Graph:
    net, data = _Builder(seed), graph_input("data", shape)
    value = net.pool(net.conv(data, 64, 3, 2, pad=0), 3, 2, ceil=True)
    for index, squeezed in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        value = net.conv(value, squeezed, 1)
        value = net.join(net.conv(value, squeezed * 4, 1), net.conv(value, squeezed * 4, 3))
        if index in (1, 3):
            value = net.pool(value, 3, 2, ceil=True)
    value = call(ops.GLOBAL_AVG_POOL2D, [net.conv(value, 1000, 1)], net.name("pool"))
    return Graph((data,), (call(ops.BATCH_FLATTEN, [value], "flatten"),), "squeezenet1.1")


def _u_net(shape: Shape, seed: int) -> Graph:
    net, data = _Builder(seed), graph_input("data", shape)

    def block(value: Node, channels: int) -> Node:
        return net.conv(net.conv(value, channels, 3), channels, 3)

    value, skips = data, []
    for channels in (16, 32, 64, 128):
        skips.append(block(value, channels))
        value = net.pool(skips[-1])
    value = block(value, 256)
    for channels in (128, 64, 32, 16):
        value = block(net.join(net.conv(net.up(value), channels, 3), skips.pop()), channels)
    return Graph((data,), (net.conv(value, 2, 1, act=""),), "u_net")


def _tiny_yolo(shape: Shape, seed: int) -> Graph:
    net, data = _Builder(seed), graph_input("data", shape)
    value = net.conv(data, 16, 3, act="leaky")
    for channels in (32, 64, 128, 256):
        value = net.conv(net.pool(value), channels, 3, act="leaky")
    fine = value
    value = net.pool(net.conv(net.pool(value), 512, 3, act="leaky"), 2, 1, padding=(0, 0, 1, 1))
    coarse = net.conv(net.conv(value, 1024, 3, act="leaky"), 256, 1, act="leaky")
    first = net.conv(net.conv(coarse, 512, 3, act="leaky"), _ANCHORS * _BOX, 1, act="")
    joined = net.join(net.up(net.conv(coarse, 128, 1, act="leaky")), fine)
    second = net.conv(net.conv(joined, 256, 3, act="leaky"), _ANCHORS * _BOX, 1, act="")
    heads = [
        call(ops.RESHAPE, [head], f"anchors{index}", newshape=(head.shape[0], _ANCHORS, _BOX, *head.shape[2:]))
        for index, head in enumerate((first, second))
    ]
    return Graph((data,), tuple(heads), "tiny_yolo")


PLAIN_NETS: dict[str, tuple[Callable[[Shape, int], Graph], Shape]] = {
    "squeezenet1.1": (_squeezenet, (1, 3, 224, 224)),
    "u_net": (_u_net, (1, 3, 128, 128)),
    "tiny_yolo": (_tiny_yolo, (1, 3, 416, 416)),
}
"""For each name, what builds the network from the shape of its input and a seed, and the usual shape."""
