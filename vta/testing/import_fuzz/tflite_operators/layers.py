"""Layers with weights, and pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Illegal, Value
from vta.testing.import_fuzz.tflite_net import TfliteNet

__all__ = ["LATER", "LAYERS", "activation", "is_image"]

_SAME, _VALID = 0, 1


def is_image(value: Value) -> bool:
    """Whether a value has four dimensions."""
    return len(value.shape) == 4


def activation(net: TfliteNet) -> int:
    """A fused activation: none, RELU, RELU_N1_TO_1 or RELU6."""
    return net.rng.choice((0, 0, 1, 2, 3))


def _reach(size: int, kernel: int, stride: int, dilation: int, padding: int) -> int:
    span = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == _SAME else (size - span) // stride + 1


def _weight(net: TfliteNet, shape: Sequence[int], channel_axis: int) -> tuple[str, np.ndarray[Any, Any]]:
    """Weights and their scales."""
    if not net.quantized:
        return net.floats(shape), np.ones(1)
    count = shape[channel_axis] if net.dtype != "uint8" and net.rng.random() < 0.6 else 1
    scales = [net.scale(0.01) for _ in range(count)]
    if net.dtype == "uint8":
        zero = net.rng.choice((128, net.rng.randint(60, 200)))
        return net.constant(net.numbers.integers(0, 256, tuple(shape)), "uint8", scales, (zero,)), np.array(scales)
    levels = net.numbers.integers(-127, 128, tuple(shape))
    return net.constant(levels, "int8", scales, (0,) * count, channel_axis), np.array(scales)


def _bias(net: TfliteNet, count: int, source: str, scales: np.ndarray[Any, Any]) -> str:
    if not net.quantized:
        return net.floats((count,))
    dtype = "int64" if net.dtype == "int16" else "int32"
    products = [float(np.float32(net.values[source].scales[0]) * np.float32(scale)) for scale in scales]
    most = 3000 if net.dtype != "int16" else 300000
    return net.constant(net.numbers.integers(-most, most + 1, count), dtype, products, (0,) * len(products))


def _about(net: TfliteNet, name: str, scales: np.ndarray[Any, Any], terms: int) -> float:
    """The scale of an output of so many products."""
    if not net.quantized:
        return 1.0
    levels = 60 if net.dtype != "int16" else 16000
    about = math.sqrt(terms) * levels * net.values[name].scales[0] * 60 * float(scales.mean()) / 40
    return about


def _strides(net: TfliteNet) -> dict[str, Any]:
    step = net.rng.choice((1, 1, 2, 3))
    return {"StrideH": step, "StrideW": step if net.rng.random() < 0.7 else net.rng.choice((1, 2))}


def _convolved(net: TfliteNet, kind: str) -> None:
    name = net.pick(is_image)
    batch, height, width, channels = net.shape(name)
    kernel = [net.rng.randint(1, min(3, dim)) for dim in (height, width)]
    strides = _strides(net)
    dilations = [1, 1]
    if strides["StrideH"] == strides["StrideW"] == 1 and net.rng.random() < 0.2:
        dilations = [net.rng.choice((1, 2)) for _ in kernel]
    padding = net.rng.choice((_SAME, _VALID))
    sizes = [
        _reach(dim, size, strides[step], spread, padding)
        for dim, size, step, spread in zip((height, width), kernel, ("StrideH", "StrideW"), dilations, strict=True)
    ]
    if kind == "CONV_2D":
        groups = 1
        if net.rng.random() < 0.15:
            groups = net.rng.choice([d for d in range(1, channels + 1) if channels % d == 0])
        out = groups * net.rng.randint(1, 5)
        shape, axis, terms = (out, *kernel, channels // groups), 0, math.prod(kernel) * channels // groups
        extra: dict[str, Any] = {}
    else:
        multiplier = net.rng.choice((1, 1, 1, 2, 3))
        out = channels * multiplier
        shape, axis, terms = (1, *kernel, out), 3, math.prod(kernel)
        extra = {"DepthMultiplier": multiplier}
    weight, scales = _weight(net, shape, axis)
    inputs = [name, weight]
    if kind == "CONV_2D" or net.rng.random() < 0.8:
        inputs.append(_bias(net, out, name, scales))
    to = net.tensor((batch, *sizes, out), _about(net, name, scales, terms))
    options = "Conv2DOptions" if kind == "CONV_2D" else "DepthwiseConv2DOptions"
    net.add(
        kind,
        inputs,
        to,
        options=options,
        Padding=padding,
        FusedActivationFunction=activation(net),
        DilationHFactor=dilations[0],
        DilationWFactor=dilations[1],
        **strides,
        **extra,
    )


def _conv(net: TfliteNet) -> None:
    _convolved(net, "CONV_2D")


def _depthwise(net: TfliteNet) -> None:
    _convolved(net, "DEPTHWISE_CONV_2D")


def _transposed(net: TfliteNet) -> None:
    name = net.pick(is_image)
    batch, height, width, channels = net.shape(name)
    kernel = [net.rng.randint(1, 3) for _ in range(2)]
    step, padding = net.rng.choice((1, 2, 2, 3)), net.rng.choice((_SAME, _VALID))
    sizes = [
        dim * step - net.rng.randrange(step) if padding == _SAME else (dim - 1) * step + size
        for dim, size in zip((height, width), kernel, strict=True)
    ]
    out = net.rng.randint(1, 4)
    weight, scales = _weight(net, (out, *kernel, channels), 0)
    to = net.tensor((batch, *sizes, out), _about(net, name, scales, channels))
    inputs = [net.constant(to.shape), weight, name]
    if net.rng.random() < 0.4:
        inputs.append(_bias(net, out, name, scales))
    activated: dict[str, Any] = {"FusedActivationFunction": activation(net)} if net.rng.random() < 0.3 else {}
    net.add(
        "TRANSPOSE_CONV",
        inputs,
        to,
        options="TransposeConvOptions",
        Padding=padding,
        StrideH=step,
        StrideW=step,
        **activated,
    )


def _dense(net: TfliteNet) -> None:
    name = net.pick(lambda value: len(value.shape) >= 2)
    shape = net.shape(name)
    keep = net.rng.random() < 0.3
    features = shape[-1] if keep or net.rng.random() < 0.3 else math.prod(shape[1:])
    out = net.rng.randint(1, 6)
    weight, scales = _weight(net, (out, features), 0)
    inputs = [name, weight, *([_bias(net, out, name, scales)] if net.rng.random() < 0.8 else [])]
    if len(inputs) == 2 and net.rng.random() < 0.5:
        inputs.append("")
    to_shape = (*shape[:-1], out) if keep else (math.prod(shape) // features, out)
    net.add(
        "FULLY_CONNECTED",
        inputs,
        net.tensor(to_shape, _about(net, name, scales, features)),
        options="FullyConnectedOptions",
        FusedActivationFunction=activation(net),
        KeepNumDims=keep,
    )


def _pool(net: TfliteNet) -> None:
    name = net.pick(is_image)
    kind = net.rng.choice(("AVERAGE_POOL_2D", "MAX_POOL_2D"))
    batch, height, width, channels = net.shape(name)
    kernel = [net.rng.randint(1, min(3, dim)) for dim in (height, width)]
    padding, strides = net.rng.choice((_SAME, _VALID)), _strides(net)
    sizes = [
        _reach(dim, size, strides[step], 1, padding)
        for dim, size, step in zip((height, width), kernel, ("StrideH", "StrideW"), strict=True)
    ]
    to = net.like(name, (batch, *sizes, channels))
    net.add(
        kind,
        [name],
        to,
        options="Pool2DOptions",
        Padding=padding,
        FilterHeight=kernel[0],
        FilterWidth=kernel[1],
        FusedActivationFunction=activation(net),
        **strides,
    )


def _matrices(net: TfliteNet) -> None:
    """A product of two activations."""
    if net.dtype == "uint8":
        raise Illegal("not for uint8")
    name = net.pick(lambda value: len(value.shape) in (2, 3))
    shape = net.shape(name)
    others = [v.name for v in net.values.values() if v.data is None and v.dtype == net.dtype and v.shape == shape]
    other = net.rng.choice(others)
    to = net.tensor((*shape[:-2], shape[-2], shape[-2]), _about(net, name, np.array([0.05]), shape[-1]))
    net.add("BATCH_MATMUL", [name, other], to, options="BatchMatMulOptions", AdjX=False, AdjY=True)


LAYERS: tuple[Callable[[TfliteNet], None], ...] = (
    _conv,
    _conv,
    _depthwise,
    _depthwise,
    _transposed,
    _dense,
    _dense,
    _pool,
    _pool,
)
LATER: tuple[Callable[[TfliteNet], None], ...] = (_matrices,)
