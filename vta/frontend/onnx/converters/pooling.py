"""ONNX's sliding windows: padding rules shared with convolutions, and pooling. A 1-D window runs over images of one row."""

from __future__ import annotations

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["CONVERTERS", "Window", "as_before", "as_image", "average_pool"]

_AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def as_image(node: Operation, value: Node) -> Node:
    """Return a value (N, C, L) as an image of one row, (N, C, 1, L); others as they are."""
    if len(value.shape) != 3:
        return value
    return node.apply(ops.RESHAPE, value, newshape=(*value.shape[:2], 1, value.shape[2]))


def as_before(node: Operation, value: Node) -> Node:
    """Return a layer's result with the rank of its data: undoes `as_image`."""
    if len(node.input().shape) != 3:
        return value
    return node.apply(ops.RESHAPE, value, newshape=(*value.shape[:2], value.shape[3]))


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
        flat = len(node.input().shape) == 3
        if len(node.input().shape) not in (3, 4):
            raise UnsupportedNodeError(f"{len(node.input().shape) - 2}-D (only 1-D and 2-D windows can be imported)")
        strides, dilation, pads = (node.integers(name) or () for name in ("strides", "dilations", "pads"))
        if flat:
            kernel, strides, dilation = ((1, *values)[-2:] for values in (kernel, strides or (1,), dilation or (1,)))
            pads = (0, pads[0], 0, pads[1]) if len(pads) == 2 else pads
        strides, dilation, pads = strides or (1, 1), dilation or (1, 1), pads or (0, 0, 0, 0)
        if len(kernel) != 2:
            raise ImportModelError(f"a kernel of {kernel} does not fit data of shape {node.input().shape}")
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


def _pool(node: Operation, op: str, data: Node, **counting: bool) -> Node:
    window = Window.of(node, node.integers("kernel_shape") or ())
    if window.dilation != (1, 1):
        raise UnsupportedNodeError(f"dilations {window.dilation} (only windows without gaps can be imported)")
    data = as_image(node, data)
    padding, ceil_mode = window.padding(data.shape), node.integer("ceil_mode", 0) != 0
    pooled = node.apply(
        op, data, pool_size=window.kernel, strides=window.strides, padding=padding, ceil_mode=ceil_mode, **counting
    )
    return as_before(node, pooled)


def _max_pool(node: Operation) -> Node:
    return _pool(node, ops.MAX_POOL2D, node.input())


def average_pool(node: Operation, data: Node) -> Node:
    """Return the averages of windows over `data` that the attributes of `node` describe."""
    return _pool(node, ops.AVG_POOL2D, data, count_include_pad=node.integer("count_include_pad", 0) != 0)


def _global_pool(image: str, other: str) -> Converter:
    """Over an image, also one of one row, by operator `image`, else by the reduction `other`."""

    def convert(node: Operation) -> Node:
        data = node.input()
        if len(data.shape) in (3, 4):
            return as_before(node, node.apply(image, as_image(node, data)))
        return node.apply(other, data, axis=tuple(range(2, len(data.shape))), keepdims=True)

    return convert


CONVERTERS: dict[str, Converter] = {
    "AveragePool": lambda node: average_pool(node, node.input()),
    "GlobalAveragePool": _global_pool(ops.GLOBAL_AVG_POOL2D, ops.MEAN),
    "GlobalMaxPool": _global_pool(ops.GLOBAL_MAX_POOL2D, ops.MAX),
    "MaxPool": _max_pool,
}
