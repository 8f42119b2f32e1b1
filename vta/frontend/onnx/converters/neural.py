"""ONNX's layers with weights: convolution, matrix products, batch normalisation; and softmax."""

from __future__ import annotations

from math import prod

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import dense, like, softmax_flattened
from vta.frontend.onnx.converters.pooling import Window, as_before, as_image
from vta.frontend.onnx.operation import MICROSOFT, Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS", "kernel_of"]


def kernel_of(node: Operation, weight: Node) -> tuple[int, int]:
    """Return height and width of the kernel of a convolution; that of a 1-D one has one row."""
    rank = len(weight.shape)
    if rank not in (3, 4):
        raise UnsupportedNodeError(f"{rank - 2}-D kernel (only 1-D and 2-D convolutions can be imported)")
    if rank != len(node.input(0).shape):
        raise ImportModelError(f"a kernel of shape {weight.shape} does not fit data of shape {node.input(0).shape}")
    return weight.shape[2] if rank == 4 else 1, weight.shape[-1]


def _biased(node: Operation, result: Node) -> Node:
    bias = node.optional(2)
    return result if bias is None else node.apply(ops.BIAS_ADD, result, bias)


def _conv(node: Operation) -> Node:
    window = Window.of(node, kernel_of(node, node.input(1)))
    data = as_image(node, node.input(0))
    result = node.apply(
        ops.CONV2D,
        data,
        as_image(node, node.input(1)),
        strides=window.strides,
        padding=window.padding(data.shape),
        dilation=window.dilation,
        groups=node.integer("group", 1),
    )
    return as_before(node, _biased(node, result))


def _conv_transpose(node: Operation) -> Node:
    window = Window.of(node, kernel_of(node, node.input(1)))
    data = as_image(node, node.input(0))
    extra = _of_image(node, "output_padding", 0) or (0, 0)
    result = node.apply(
        ops.CONV2D_TRANSPOSE,
        data,
        as_image(node, node.input(1)),
        strides=window.strides,
        padding=_transposed_padding(node, window, data.shape, extra),
        output_padding=extra,
        dilation=window.dilation,
        groups=node.integer("group", 1),
    )
    return as_before(node, _biased(node, result))


def _col2im(node: Operation) -> Node:
    """Put windows, (N, C * window, positions), back to where they are in an image, and add up those that overlap."""
    data, sizes, window = node.input(), node.numbers(1, "image_shape") or (), node.numbers(2, "block_shape") or ()
    rank = len(sizes)
    if rank not in (1, 2):
        raise UnsupportedNodeError(f"{rank}-D images (only 1-D and 2-D ones can be imported)")
    strides, dilation = (node.integers(name) or (1,) * rank for name in ("strides", "dilations"))
    pads = node.integers("pads") or (0,) * (2 * rank)
    if not len(window) == len(strides) == len(dilation) == rank or len(pads) != 2 * rank or min(*strides, *dilation, *window) < 1:
        raise ImportModelError(f"block_shape {window}, strides {strides}, dilations {dilation} or pads {pads} do not fit {sizes}")
    reach = [sizes[a] + pads[a] + pads[a + rank] - dilation[a] * (window[a] - 1) - 1 for a in range(rank)]
    places = [left // step + 1 for left, step in zip(reach, strides, strict=True)]
    if len(data.shape) != 3 or data.shape[1] % prod(window) or data.shape[2] != prod(places) or min(reach) < 0:
        raise ImportModelError(f"data of shape {data.shape} does not fit windows of {window} at {places} places")
    channels = data.shape[1] // prod(window)
    # Each element of a window is a channel, which has a single weight: at its place in the window.
    weight = np.tile(np.eye(prod(window), dtype=data.dtype), (channels, 1))
    rows = (1,) * (2 - rank)
    image = node.apply(
        ops.CONV2D_TRANSPOSE,
        node.apply(ops.RESHAPE, data, newshape=(*data.shape[:2], *rows, *places)),
        node.constant(weight.reshape(-1, 1, *rows, *window)),
        strides=(*rows, *strides),
        padding=pads if rank == 2 else (0, pads[0], 0, pads[1]),
        output_padding=(*(0,) * (2 - rank), *(left % step for left, step in zip(reach, strides, strict=True))),
        dilation=(*rows, *dilation),
        groups=channels,
    )
    return node.apply(ops.RESHAPE, image, newshape=(data.shape[0], channels, *sizes))


def _of_image(node: Operation, name: str, row: int) -> tuple[int, int] | None:
    """An attribute with a number for each dimension of an image, its last ones, and `row` for that of a 1-D convolution."""
    values, rank = node.integers(name), len(node.input(0).shape)
    if values is None:
        return None
    if len(values) not in (rank - 2, rank):
        raise ImportModelError(f"{name} {values} does not have {rank - 2} or {rank} numbers")
    high, wide = (row, values[-1]) if rank == 3 else values[-2:]
    return high, wide


def _transposed_padding(
    node: Operation, window: Window, shape: tuple[int, ...], extra: tuple[int, ...]
) -> tuple[int, int, int, int]:
    """What is cut from each side: given, or such that the output gets the shape asked for."""
    wanted = _of_image(node, "output_shape", 1)
    if wanted is None and window.auto_pad in ("NOTSET", "VALID"):
        return window.padding(shape)
    if wanted is None:
        wanted = shape[2] * window.strides[0], shape[3] * window.strides[1]
    before, after = [0, 0], [0, 0]
    for axis, size in enumerate(wanted):
        full = (shape[2 + axis] - 1) * window.strides[axis] + extra[axis] + window.span(axis)
        if full < size:
            raise UnsupportedNodeError(f"an output of {size} along axis {axis + 2}, more than the {full} that the kernel reaches")
        small = (full - size) // 2
        before[axis], after[axis] = (
            (small, full - size - small) if window.auto_pad == "SAME_UPPER" else (full - size - small, small)
        )
    return before[0], before[1], after[0], after[1]


def _batch_normalization(node: Operation) -> Node:
    if node.integer("training_mode", 0) or not node.integer("spatial", 1):
        raise UnsupportedNodeError("training_mode=1 or spatial=0")
    return node.apply(ops.BATCH_NORM, *node.inputs()[:5], epsilon=node.number("epsilon", 1e-5))


def _transposed(node: Operation, matrix: Node) -> Node:
    if len(matrix.shape) != 2:
        raise ImportModelError(f"a matrix is needed, got shape {matrix.shape}")
    return node.apply(ops.TRANSPOSE, matrix, axes=(1, 0))


def _scaled(node: Operation, value: Node, factor: float) -> Node:
    return value if factor == 1.0 else node.apply(ops.MULTIPLY, value, like(factor, value))


def _gemm(node: Operation) -> Node:
    left = node.input(0) if not node.integer("transA", 0) else _transposed(node, node.input(0))
    weight = node.input(1) if node.integer("transB", 0) else _transposed(node, node.input(1))
    product = node.apply(ops.DENSE, left, _scaled(node, weight, node.number("alpha", 1.0)))
    bias = node.optional(2)
    if bias is None:
        return product
    bias = _scaled(node, bias, node.number("beta", 1.0))
    columns = product.shape[1]
    if bias.value is not None and bias.shape in ((columns,), (1, columns)):
        return node.apply(ops.BIAS_ADD, product, node.constant(bias.value.reshape(columns)))
    return node.apply(ops.ADD, product, bias)


def _matmul(node: Operation) -> Node:
    return _product(node, node.input(0), node.input(1))


def _fused_matmul(node: Operation) -> Node:
    sides = []
    for index, side in enumerate("AB"):
        if node.integer(f"transBatch{side}", 0):
            raise UnsupportedNodeError(f"transBatch{side}=1")
        value = node.input(index)
        rank = len(value.shape)
        if node.integer(f"trans{side}", 0) and rank > 1:
            value = node.apply(ops.TRANSPOSE, value, axes=(*range(rank - 2), rank - 1, rank - 2))
        sides.append(value)
    return _scaled(node, _product(node, *sides), node.number("alpha", 1.0))


def _fused_conv(node: Operation) -> Node:
    """A convolution, the sum with a tensor, and an activation."""
    value, addend = _conv(node), node.optional(3)
    if addend is not None:
        value = node.apply(ops.ADD, value, addend)
    return _activated(node, value, *(*node.floats("activation_params"), 0.0, 0.0)[:2])


def _fused_gemm(node: Operation) -> Node:
    return _activated(node, _gemm(node), node.number("activation_alpha", 0.0), node.number("activation_beta", 0.0))


def _activated(node: Operation, value: Node, alpha: float, beta: float) -> Node:
    kind = node.text("activation", "")
    if kind == "Clip":
        return node.apply(ops.CLIP, value, a_min=alpha, a_max=beta)
    if kind == "LeakyRelu":
        return node.apply(ops.LEAKY_RELU, value, alpha=alpha)
    if kind == "HardSigmoid":
        return node.apply(ops.HARD_SIGMOID, value, alpha=alpha, beta=beta)
    if kind not in _PLAIN:
        raise UnsupportedNodeError(f"activation {kind!r}; known: Clip, HardSigmoid, LeakyRelu, {', '.join(_PLAIN)}")
    return node.apply(_PLAIN[kind], value)


def _product(node: Operation, left: Node, right: Node) -> Node:
    if right.value is not None and len(right.shape) == 2 and len(left.shape) >= 2:
        return dense(node.apply, left, node.constant(np.ascontiguousarray(right.value.T)))
    # A vector is a matrix of one row on the left, of one column on the right.
    first = left if len(left.shape) > 1 else node.apply(ops.EXPAND_DIMS, left, axis=0)
    second = right if len(right.shape) > 1 else node.apply(ops.EXPAND_DIMS, right, axis=1)
    product = node.apply(ops.MATMUL, first, second)
    gone = [axis for axis, value in ((-2, left), (-1, right)) if len(value.shape) == 1]
    return node.apply(ops.SQUEEZE, product, axis=tuple(gone)) if gone else product


def _lrn(node: Operation) -> Node:
    return node.apply(
        ops.LRN,
        node.input(),
        size=node.integer("size"),
        alpha=node.number("alpha", 1e-4),
        beta=node.number("beta", 0.75),
        bias=node.number("bias", 1.0),
    )


def _softmax(op: str) -> Converter:
    """Before version 13 a softmax runs over all axes from its axis on."""

    def convert(node: Operation) -> Node:
        data = node.input()
        if node.opset < 13:
            return softmax_flattened(node.apply, op, data, node.integer("axis", 1))
        return node.apply(op, data, axis=node.integer("axis", -1))

    return convert


_PLAIN = {"Relu": ops.RELU, "Sigmoid": ops.SIGMOID, "Tanh": ops.TANH}

CONVERTERS: dict[str, Converter] = {
    f"FusedConv{MICROSOFT}": _fused_conv,
    f"FusedGemm{MICROSOFT}": _fused_gemm,
    f"FusedMatMul{MICROSOFT}": _fused_matmul,
    "BatchNormalization": _batch_normalization,
    "Col2Im": _col2im,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "LRN": _lrn,
    "LogSoftmax": _softmax(ops.LOG_SOFTMAX),
    "MatMul": _matmul,
    "Softmax": _softmax(ops.SOFTMAX),
}
