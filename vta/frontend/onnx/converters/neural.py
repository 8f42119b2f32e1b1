"""ONNX's layers with weights: convolution, matrix products, batch normalisation; and softmax."""

from __future__ import annotations

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import dense, like, softmax_flattened
from vta.frontend.onnx.converters.pooling import Window, as_before, as_image
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir.graph import Node

__all__ = ["CONVERTERS", "require_2d"]


def require_2d(weight: Node) -> tuple[int, int]:
    """Return height and width of a kernel."""
    if len(weight.shape) != 4:
        raise UnsupportedNodeError(f"{len(weight.shape) - 2}-D kernel (only 1-D and 2-D convolutions can be imported)")
    return weight.shape[2], weight.shape[3]


def _biased(node: Operation, result: Node) -> Node:
    bias = node.optional(2)
    return result if bias is None else node.apply("nn.bias_add", result, bias)


def _conv(node: Operation) -> Node:
    data, weight = as_image(node, node.input(0)), as_image(node, node.input(1))
    window = Window.of(node, require_2d(weight))
    result = node.apply(
        "nn.conv2d",
        data,
        weight,
        strides=window.strides,
        padding=window.padding(data.shape),
        dilation=window.dilation,
        groups=node.integer("group", 1),
    )
    return as_before(node, _biased(node, result))


def _conv_transpose(node: Operation) -> Node:
    data, weight = node.input(0), node.input(1)
    window = Window.of(node, require_2d(weight))
    extra = node.integers("output_padding") or (0, 0)
    result = node.apply(
        "nn.conv2d_transpose",
        data,
        weight,
        strides=window.strides,
        padding=_transposed_padding(node, window, data.shape, extra),
        output_padding=extra,
        dilation=window.dilation,
        groups=node.integer("group", 1),
    )
    return _biased(node, result)


def _transposed_padding(
    node: Operation, window: Window, shape: tuple[int, ...], extra: tuple[int, ...]
) -> tuple[int, int, int, int]:
    """What is cut from each side: given, or such that the output gets the shape asked for."""
    if len(shape) != 4 or len(extra) != 2:
        raise ImportModelError(f"data of shape {shape} with output_padding {extra}; expected 4 dimensions and 2 numbers")
    wanted = node.integers("output_shape")
    if wanted is None and window.auto_pad in ("NOTSET", "VALID"):
        return window.padding(shape)
    if wanted is None:
        wanted = tuple(shape[2 + axis] * window.strides[axis] for axis in (0, 1))
    if len(wanted) not in (2, 4):
        raise ImportModelError(f"output_shape {wanted} does not have 2 or 4 numbers")
    before, after = [0, 0], [0, 0]
    for axis, size in enumerate(wanted[-2:]):
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
    return node.apply("nn.batch_norm", *node.inputs()[:5], epsilon=node.number("epsilon", 1e-5))


def _transposed(node: Operation, matrix: Node) -> Node:
    if len(matrix.shape) != 2:
        raise ImportModelError(f"a matrix is needed, got shape {matrix.shape}")
    return node.apply("transpose", matrix, axes=(1, 0))


def _scaled(node: Operation, value: Node, factor: float) -> Node:
    return value if factor == 1.0 else node.apply("multiply", value, like(factor, value))


def _gemm(node: Operation) -> Node:
    left = node.input(0) if not node.integer("transA", 0) else _transposed(node, node.input(0))
    weight = node.input(1) if node.integer("transB", 0) else _transposed(node, node.input(1))
    product = node.apply("nn.dense", left, _scaled(node, weight, node.number("alpha", 1.0)))
    bias = node.optional(2)
    if bias is None:
        return product
    bias = _scaled(node, bias, node.number("beta", 1.0))
    columns = product.shape[1]
    if bias.value is not None and bias.shape in ((columns,), (1, columns)):
        return node.apply("nn.bias_add", product, node.constant(bias.value.reshape(columns)))
    return node.apply("add", product, bias)


def _matmul(node: Operation) -> Node:
    left, right = node.input(0), node.input(1)
    if right.value is not None and len(right.shape) == 2 and len(left.shape) >= 2:
        return dense(node.apply, left, node.constant(np.ascontiguousarray(right.value.T)))
    # A vector is a matrix of one row on the left, of one column on the right.
    first = left if len(left.shape) > 1 else node.apply("expand_dims", left, axis=0)
    second = right if len(right.shape) > 1 else node.apply("expand_dims", right, axis=1)
    product = node.apply("nn.matmul", first, second)
    gone = [axis for axis, value in ((-2, left), (-1, right)) if len(value.shape) == 1]
    return node.apply("squeeze", product, axis=tuple(gone)) if gone else product


def _lrn(node: Operation) -> Node:
    return node.apply(
        "nn.lrn",
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


CONVERTERS: dict[str, Converter] = {
    "BatchNormalization": _batch_normalization,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "LRN": _lrn,
    "LogSoftmax": _softmax("nn.log_softmax"),
    "MatMul": _matmul,
    "Softmax": _softmax("nn.softmax"),
}
