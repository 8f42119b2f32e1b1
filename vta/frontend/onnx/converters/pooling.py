"""ONNX's sliding windows: padding rules shared with convolutions, and pooling."""

from __future__ import annotations

from dataclasses import dataclass

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir.graph import Node

__all__ = ["CONVERTERS", "Window"]

_AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True)
class Window:
    """A window of two dimensions as the attributes of a node describe it."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]
    """Explicit padding: top, left, bottom, right."""
    auto_pad: str

    @classmethod
    def of(cls, node: Operation, kernel: tuple[int, ...]) -> Window:
        """Read the attributes of `node`; raises if they are not for two dimensions."""
        if len(kernel) != 2:
            raise UnsupportedNodeError(f"{len(kernel)}-D (only 2-D windows can be imported)")
        strides, dilation = node.integers("strides") or (1, 1), node.integers("dilations") or (1, 1)
        pads = node.integers("pads") or (0, 0, 0, 0)
        if len(strides) != 2 or len(dilation) != 2 or len(pads) != 4 or min(strides) < 1 or min(dilation) < 1:
            raise ImportModelError(f"strides {strides}, dilations {dilation} or pads {pads} do not fit a 2-D window")
        auto_pad = node.text("auto_pad", "NOTSET") or "NOTSET"
        if auto_pad not in _AUTO_PADS:
            raise ImportModelError(f"auto_pad {auto_pad!r} is not one of {', '.join(_AUTO_PADS)}")
        high, wide = kernel
        top, left, bottom, right = pads
        return cls((high, wide), (strides[0], strides[1]), (dilation[0], dilation[1]), (top, left, bottom, right), auto_pad)

    def span(self, axis: int) -> int:
        """Rows or columns from the first to the last element of the window."""
        return (self.kernel[axis] - 1) * self.dilation[axis] + 1

    def padding(self, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Padding at top, left, bottom and right for data of `shape` (N, C, H, W)."""
        if self.auto_pad == "NOTSET":
            return self.pads
        if self.auto_pad == "VALID":
            return 0, 0, 0, 0
        if len(shape) != 4:
            raise ImportModelError(f"data must have 4 dimensions, got shape {shape}")
        before, after = [0, 0], [0, 0]
        for axis in (0, 1):
            size, stride = shape[2 + axis], self.strides[axis]
            total = max(0, (-(-size // stride) - 1) * stride + self.span(axis) - size)
            small = total // 2
            before[axis], after[axis] = (small, total - small) if self.auto_pad == "SAME_UPPER" else (total - small, small)
        return before[0], before[1], after[0], after[1]


def _pool(op: str) -> Converter:
    def convert(node: Operation) -> Node:
        data = node.input()
        window = Window.of(node, node.integers("kernel_shape") or ())
        if window.dilation != (1, 1):
            raise UnsupportedNodeError(f"dilations {window.dilation}")
        counting = {"count_include_pad": node.integer("count_include_pad", 0) != 0} if op == "nn.avg_pool2d" else {}
        return node.apply(
            op,
            data,
            pool_size=window.kernel,
            strides=window.strides,
            padding=window.padding(data.shape),
            ceil_mode=node.integer("ceil_mode", 0) != 0,
            **counting,
        )

    return convert


def _global_pool(op: str) -> Converter:
    def convert(node: Operation) -> Node:
        if len(node.input().shape) != 4:
            raise UnsupportedNodeError(f"{len(node.input().shape) - 2}-D (only 2-D windows can be imported)")
        return node.apply(op, node.input())

    return convert


CONVERTERS: dict[str, Converter] = {
    "AveragePool": _pool("nn.avg_pool2d"),
    "GlobalAveragePool": _global_pool("nn.global_avg_pool2d"),
    "GlobalMaxPool": _global_pool("nn.global_max_pool2d"),
    "MaxPool": _pool("nn.max_pool2d"),
}
