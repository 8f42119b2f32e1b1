"""A YOLOv8n with random weights, as an ONNX file: the shapes of the published network of 80 classes at 640 x 640.

    python -m benchmarks.yolov8n -o yolov8n.onnx [--size 640]

Batch norms are folded; the boxes come as distances from a softmax over 16 bins, as in the exported network.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

from benchmarks.onnx_builder import OnnxBuilder

_CLASSES, _BINS = 80, 16
_STRIDES = (8, 16, 32)


class _Builder(OnnxBuilder):
    """Adds the blocks of the network."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def conv(self, x: str, channels_in: int, channels: int, kernel: int = 1, stride: int = 1, silu: bool = True) -> str:
        scale = (2 / (channels_in * kernel**2)) ** 0.5
        weights = self._rng.normal(0, scale, (channels, channels_in, kernel, kernel)).astype(np.float32)
        bias = self._rng.normal(0, 0.1, channels).astype(np.float32)
        pad = [kernel // 2] * 4
        given = [x, self.constant(weights), self.constant(bias)]
        y = self.node("Conv", given, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pad)
        return self.node("Mul", [y, self.node("Sigmoid", [y])]) if silu else y

    def split(self, x: str, sizes: Sequence[int], axis: int = 1) -> list[str]:
        return self.nodes("Split", [x, self.constant(np.array(sizes, np.int64))], len(sizes), axis=axis)

    def concat(self, parts: Sequence[str], axis: int = 1) -> str:
        return self.node("Concat", parts, axis=axis)

    def c2f(self, x: str, channels_in: int, channels: int, count: int, shortcut: bool) -> str:
        half = channels // 2
        parts = self.split(self.conv(x, channels_in, channels), [half, half])
        for _ in range(count):
            y = self.conv(self.conv(parts[-1], half, half, 3), half, half, 3)
            parts.append(self.node("Add", [parts[-1], y]) if shortcut else y)
        return self.conv(self.concat(parts), (2 + count) * half, channels)

    def sppf(self, x: str, channels: int) -> str:
        parts = [self.conv(x, channels, channels // 2)]
        for _ in range(3):
            parts.append(self.node("MaxPool", [parts[-1]], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4))
        return self.conv(self.concat(parts), 2 * channels, channels)

    def doubled(self, x: str) -> str:
        scales = self.constant(np.array([1, 1, 2, 2], np.float32))
        return self.node(
            "Resize", [x, "", scales], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"
        )

    def reshaped(self, x: str, *shape: int) -> str:
        return self.node("Reshape", [x, self.constant(np.array(shape, np.int64))])

    def head(self, x: str, channels: int, places: int) -> str:
        """Distances and classes of one stride, [1, 64 + classes, places]."""
        boxes = self.conv(self.conv(self.conv(x, channels, 64, 3), 64, 64, 3), 64, 4 * _BINS, silu=False)
        classes = self.conv(self.conv(self.conv(x, channels, 80, 3), 80, 80, 3), 80, _CLASSES, silu=False)
        return self.reshaped(self.concat([boxes, classes]), 1, 4 * _BINS + _CLASSES, places)

    def decoded(self, x: str, size: int) -> str:
        boxes, classes = self.split(x, [4 * _BINS, _CLASSES])
        places = sum((size // stride) ** 2 for stride in _STRIDES)
        bins = self.node("Transpose", [self.reshaped(boxes, 1, 4, _BINS, places)], perm=[0, 2, 1, 3])
        bins = self.node("Softmax", [bins], axis=1)
        weights = self.constant(np.arange(_BINS, dtype=np.float32).reshape(1, _BINS, 1, 1))
        distances = self.reshaped(self.node("Conv", [bins, weights], kernel_shape=[1, 1]), 1, 4, places)
        near, far = self.split(distances, [2, 2])
        grids = [np.stack(np.meshgrid(*[np.arange(size // stride) + 0.5] * 2), 0).reshape(2, -1) for stride in _STRIDES]
        centers = self.constant(np.concatenate(grids, 1).astype(np.float32)[None])
        low, high = self.node("Sub", [centers, near]), self.node("Add", [centers, far])
        middle = self.node("Mul", [self.node("Add", [low, high]), self.constant(np.float32(0.5))])
        extent = self.node("Sub", [high, low])
        steps = np.concatenate([np.full((size // stride) ** 2, stride, np.float32) for stride in _STRIDES])
        scaled = self.node("Mul", [self.concat([middle, extent]), self.constant(steps[None, None])])
        return self.concat([scaled, self.node("Sigmoid", [classes])])


def yolov8n(size: int = 640, seed: int = 0) -> onnx.ModelProto:
    """The network for images of `size` x `size`."""
    b = _Builder(seed)
    x = b.conv(b.conv("images", 3, 16, 3, 2), 16, 32, 3, 2)
    x = b.conv(b.c2f(x, 32, 32, 1, True), 32, 64, 3, 2)
    p3 = b.c2f(x, 64, 64, 2, True)
    p4 = b.c2f(b.conv(p3, 64, 128, 3, 2), 128, 128, 2, True)
    p5 = b.sppf(b.c2f(b.conv(p4, 128, 256, 3, 2), 256, 256, 1, True), 256)
    n4 = b.c2f(b.concat([b.doubled(p5), p4]), 384, 128, 1, False)
    n3 = b.c2f(b.concat([b.doubled(n4), p3]), 192, 64, 1, False)
    m4 = b.c2f(b.concat([b.conv(n3, 64, 64, 3, 2), n4]), 192, 128, 1, False)
    m5 = b.c2f(b.concat([b.conv(m4, 128, 128, 3, 2), p5]), 384, 256, 1, False)
    heads = [
        b.head(x, channels, (size // stride) ** 2)
        for x, channels, stride in zip((n3, m4, m5), (64, 128, 256), _STRIDES, strict=True)
    ]
    found = b.decoded(b.concat(heads, axis=2), size)
    places = sum((size // stride) ** 2 for stride in _STRIDES)
    return b.model("yolov8n", ("images", (1, 3, size, size)), (found, (1, 4 + _CLASSES, places)))


def main(argv: Sequence[str] | None = None) -> int:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--size", type=int, default=640)
    options = parser.parse_args(argv)
    onnx.save(yolov8n(options.size), options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
