"""MXNet's layers: convolution, pooling, normalisation, activations, fully connected."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import add, dense, gelu, like, selu, softmax_flattened, softplus, softsign
from vta.frontend.mxnet.layer import Converter, Layer
from vta.ir import names as ops
from vta.ir.graph import Node, constant

__all__ = ["CONVERTERS"]


def _require_nchw(layer: Layer) -> None:
    layout = layer.attrs.string("layout", "NCHW")
    if layout != "NCHW":
        raise UnsupportedNodeError(f"layout {layout} (only NCHW can be imported)")


def _convolution(layer: Layer) -> Node:
    _require_nchw(layer)
    attrs, data = layer.attrs, layer.tensor()
    kernel, pad = attrs.pair("kernel", 0), attrs.pair("pad", 0)
    filters, groups = attrs.integer("num_filter"), attrs.integer("num_group", 1)
    weight = layer.parameter(1, (filters, data.shape[1] // groups, *kernel), "weight")
    result = layer.call(
        ops.CONV2D,
        data,
        weight,
        strides=attrs.pair("stride", 1),
        padding=pad * 2,
        dilation=attrs.pair("dilate", 1),
        groups=groups,
    )
    return _biased(layer, result, filters, attrs.boolean("no_bias", False))


def _deconvolution(layer: Layer) -> Node:
    _require_nchw(layer)
    attrs, data = layer.attrs, layer.tensor()
    kernel, stride, dilation = attrs.pair("kernel", 0), attrs.pair("stride", 1), attrs.pair("dilate", 1)
    pad, extra = attrs.pair("pad", 0), attrs.pair("adj", 0)
    if any(attrs.integers("target_shape", ())):
        target = attrs.pair("target_shape", 0)
        whole = [(data.shape[2 + axis] - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1 for axis in (0, 1)]
        cut = whole[0] - target[0], whole[1] - target[1]
        if min(cut) < 0:
            raise ImportModelError(f"target_shape {target} is more than the {whole[0]}x{whole[1]} that the kernel reaches")
        pad, extra = (-(-cut[0] // 2), -(-cut[1] // 2)), (cut[0] % 2, cut[1] % 2)
    filters, groups = attrs.integer("num_filter"), attrs.integer("num_group", 1)
    weight = layer.parameter(1, (data.shape[1], filters // groups, *kernel), "weight")
    result = layer.call(
        ops.CONV2D_TRANSPOSE,
        data,
        weight,
        strides=stride,
        padding=pad * 2,
        output_padding=extra,
        dilation=dilation,
        groups=groups,
    )
    return _biased(layer, result, filters, attrs.boolean("no_bias", True))


def _biased(layer: Layer, result: Node, channels: int, no_bias: bool) -> Node:
    return result if no_bias else layer.call(ops.BIAS_ADD, result, layer.parameter(2, (channels,), "bias"))


def _batch_norm(layer: Layer) -> Node:
    attrs, data = layer.attrs, layer.tensor()
    axis = attrs.integer("axis", 1)
    shape = (data.shape[axis],)
    # The operator ignores the stored gamma unless told otherwise.
    fixed = attrs.boolean("fix_gamma", True)
    gamma = constant(np.ones(shape, np.float32)) if fixed else layer.parameter(1, shape, "gamma")
    beta = layer.parameter(2, shape, "beta")
    mean = layer.parameter(3, shape, "mean", f"{layer.node.name}_moving_mean")
    var = layer.parameter(4, shape, "var", f"{layer.node.name}_moving_var")
    return layer.call(ops.BATCH_NORM, data, gamma, beta, mean, var, epsilon=attrs.number("eps", 1e-3), axis=axis)


def _fully_connected(layer: Layer) -> Node:
    attrs, data = layer.attrs, layer.tensor()
    units = attrs.integer("num_hidden")
    if attrs.boolean("flatten", True) and len(data.shape) != 2:
        data = layer.call(ops.BATCH_FLATTEN, data)
    weight = layer.parameter(1, (units, data.shape[-1]), "weight")
    bias = None if attrs.boolean("no_bias", False) else layer.parameter(2, (units,), "bias")
    return dense(layer.call, data, weight, bias)


def _pooling(layer: Layer) -> Node:
    _require_nchw(layer)
    attrs, data = layer.attrs, layer.tensor()
    kind = attrs.string("pool_type", "max")
    if kind not in ("max", "avg"):
        raise UnsupportedNodeError(f"pool_type {kind}")
    if attrs.boolean("global_pool", False):
        return layer.call(f"nn.global_{kind}_pool2d", data)
    convention = attrs.string("pooling_convention", "valid")
    if convention not in ("valid", "full"):
        raise UnsupportedNodeError(f"pooling_convention {convention}")
    kernel, stride, pad = attrs.pair("kernel", 0), attrs.pair("stride", 1), attrs.pair("pad", 0)
    counting = {"count_include_pad": attrs.boolean("count_include_pad", True)} if kind == "avg" else {}
    result = layer.call(
        f"nn.{kind}_pool2d",
        data,
        pool_size=kernel,
        strides=stride,
        padding=pad * 2,
        ceil_mode=convention == "full",
        **counting,
    )
    if convention == "full":
        _require_full(data, result, kernel, stride, pad)
    return result


def _require_full(data: Node, result: Node, kernel: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int]) -> None:
    """MXNet keeps a last window that sees no data at all; the graph does not have such windows."""
    full = tuple(1 + math.ceil((data.shape[2 + a] + 2 * pad[a] - kernel[a]) / stride[a]) for a in (0, 1))
    if result.shape[2:] != full:
        raise UnsupportedNodeError("pooling_convention full with a window outside the data")


def _prelu(layer: Layer) -> Node:
    data = layer.tensor()
    channels = data.shape[1]
    slope = layer.parameter(1, (1,) if layer.stored_shape(1) == (1,) else (channels,), "slope")
    if slope.shape == (channels,):
        return layer.call(ops.PRELU, data, slope)
    return layer.call(ops.PRELU, data, constant(np.full(channels, slope.value, np.float32), slope.name))


_ACTIVATIONS: dict[str, Callable[[Layer], Node]] = {
    "relu": lambda layer: layer.call(ops.RELU, layer.tensor()),
    "sigmoid": lambda layer: layer.call(ops.SIGMOID, layer.tensor()),
    "tanh": lambda layer: layer.call(ops.TANH, layer.tensor()),
    "softrelu": lambda layer: softplus(layer.call, layer.tensor()),
    "softsign": lambda layer: softsign(layer.call, layer.tensor()),
    "leaky": lambda layer: layer.call(ops.LEAKY_RELU, layer.tensor(), alpha=layer.attrs.number("slope", 0.25)),
    "elu": lambda layer: layer.call(ops.ELU, layer.tensor(), alpha=layer.attrs.number("slope", 0.25)),
    "selu": lambda layer: selu(layer.call, layer.tensor()),
    "gelu": lambda layer: gelu(layer.call, layer.tensor()),
    "prelu": _prelu,
}


def _activation(default: str) -> Converter:
    def convert(layer: Layer) -> Node:
        kind = layer.attrs.string("act_type", default)
        if kind not in _ACTIVATIONS:
            raise UnsupportedNodeError(f"act_type {kind}")
        return _ACTIVATIONS[kind](layer)

    return convert


def _softmax(op: str) -> Converter:
    def convert(layer: Layer) -> Node:
        temperature = layer.attrs.number("temperature", 1.0)
        data = layer.tensor()
        if temperature != 1.0:
            data = layer.call(ops.DIVIDE, data, like(temperature, data))
        return layer.call(op, data, axis=layer.attrs.integer("axis", -1))

    return convert


def _softmax_output(layer: Layer) -> Node:
    data = layer.tensor()
    if layer.attrs.boolean("multi_output", False) or layer.attrs.string("mode") == "channel":
        return layer.call(ops.SOFTMAX, data, axis=1)
    if layer.attrs.boolean("preserve_shape", False):
        return layer.call(ops.SOFTMAX, data, axis=-1)
    return softmax_flattened(layer.call, ops.SOFTMAX, data, 1)


def _lrn(layer: Layer) -> Node:
    attrs = layer.attrs
    return layer.call(
        ops.LRN,
        layer.tensor(),
        size=attrs.integer("nsize"),
        alpha=attrs.number("alpha", 1e-4),
        beta=attrs.number("beta", 0.75),
        bias=attrs.number("knorm", 2.0),
    )


def _l2_normalization(layer: Layer) -> Node:
    data, rank = layer.tensor(), len(layer.tensor().shape)
    mode = layer.attrs.string("mode", "instance")
    axes = {"instance": tuple(range(1, rank)), "channel": (1,), "spatial": tuple(range(2, rank))}.get(mode)
    if axes is None:
        raise UnsupportedNodeError(f"mode {mode}")
    total = layer.call(ops.SUM, layer.call(ops.MULTIPLY, data, data), axis=axes, keepdims=True)
    norm = layer.call(ops.SQRT, add(layer.call, total, like(layer.attrs.number("eps", 1e-10), data)))
    return layer.call(ops.DIVIDE, data, norm)


CONVERTERS: dict[str, Converter] = {
    "Activation": _activation(""),
    "BatchNorm": _batch_norm,
    "Convolution": _convolution,
    "Deconvolution": _deconvolution,
    "FullyConnected": _fully_connected,
    "L2Normalization": _l2_normalization,
    "LRN": _lrn,
    "LeakyReLU": _activation("leaky"),
    "Pooling": _pooling,
    "Softmax": _softmax_output,
    "SoftmaxActivation": _softmax_output,
    "SoftmaxOutput": _softmax_output,
    "log_softmax": _softmax(ops.LOG_SOFTMAX),
    "softmax": _softmax(ops.SOFTMAX),
}
