"""The convolutions of ResNet-18 behind its first layer, on full-range data."""

from functools import cache

import numpy as np

from tests.cases._nets import int8_data, narrowed, reference_convolution
from vta.ir.graph import Graph, call, constant, graph_input

LAYERS = {
    "C2": (56, 64, 64, 3, 1, 1, 115.6),
    "C3": (56, 64, 128, 3, 1, 2, 57.8),
    "C4": (56, 64, 128, 1, 0, 2, 6.4),
    "C5": (28, 128, 128, 3, 1, 1, 115.6),
    "C6": (28, 128, 256, 3, 1, 2, 57.8),
    "C7": (28, 128, 256, 1, 0, 2, 6.4),
    "C8": (14, 256, 256, 3, 1, 1, 115.6),
    "C9": (14, 256, 512, 3, 1, 2, 57.8),
    "C10": (14, 256, 512, 1, 0, 2, 6.4),
    "C11": (7, 512, 512, 3, 1, 1, 115.6),
}
"""Height and width, input channels, output channels, kernel, padding, stride; million multiply-accumulates of an image."""


def mega_macs(layer):
    """Millions of multiply-accumulates of an image."""
    return LAYERS[layer][-1]


@cache
def _arrays(layer, batch):
    size, inp, out, kernel, pad, stride, _ = LAYERS[layer]
    x, weights = int8_data((batch, inp, size, size), seed=1), int8_data((out, inp, kernel, kernel), seed=2)
    x.reshape(-1)[::97], weights.reshape(-1)[::89] = -128, -128
    bias = np.random.default_rng(0).integers(-(1 << 14), 1 << 14, (1, out, 1, 1), np.int32)
    acc = reference_convolution(x, weights, (pad,) * 4, (stride, stride))
    return x, weights, bias, np.clip((acc >> 8) + bias, 0, 127).astype(np.int8)


def layer_case(layer, batch):
    """Convolve, shift right by 8, add the bias, clip to 0 to 127: graph, input `x` and what it must give."""
    x, weights, bias, expected = _arrays(layer, batch)
    *_, pad, stride, _ = LAYERS[layer]
    data = graph_input("x", x.shape, "int8")
    acc = call("nn.conv2d", [data, constant(weights)], layer, padding=(pad,) * 4, strides=(stride, stride))
    shifted = call("right_shift", [acc, constant(np.int32(8))], layer)
    result = narrowed(call("add", [shifted, constant(bias)], layer), 0, layer, low=0)
    return Graph((data,), (result,)), x, expected
