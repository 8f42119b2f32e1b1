"""ONNX's operators on bytes: QLinearConv and its kin, those of ONNX Runtime, the integer products, dynamic quantisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Array, Illegal
from vta.testing.import_fuzz.onnx_operators.layers import convolution_attributes, reaches_every_value, window_attributes
from vta.testing.import_fuzz.onnx_operators.quantized import Bytes, QdqNet

__all__ = ["DYNAMIC", "INTEGER"]

_MICROSOFT = "com.microsoft"


def _parameters(qdq: QdqNet, scale: Any, zero_point: Any, dtype: str, vector: bool = True) -> tuple[str, str]:
    """Scale and zero point, both there; ONNX Runtime's own operators want numbers, no vectors of one."""
    return (
        qdq.parameter("scale", np.asarray(scale, np.float32), vector),
        qdq.parameter("zero", np.asarray(zero_point, dtype), vector),
    )


def _data(qdq: QdqNet, value: Bytes, vector: bool = False) -> tuple[str, str, str]:
    return value.name, *_parameters(qdq, value.scale, value.zero_point, value.dtype, vector)


def _weights(
    qdq: QdqNet, shape: tuple[int, ...], axis: int, per_channel: bool, vector: bool = True
) -> tuple[tuple[str, str, str], Array]:
    """Levels, scales and zero points of weights."""
    dtype = qdq.rng.choice(("int8", "int8", "uint8")) if qdq.dtype == "uint8" else "int8"
    most = 127 if qdq.rng.random() < 0.15 else 63
    middle = 0 if dtype == "int8" else 128
    levels = (qdq.net.numbers.integers(-most, most + 1, shape) + middle).astype(dtype)
    scales = np.array([qdq.scale(0.01) for _ in range(shape[axis])] if per_channel else qdq.scale(0.01), np.float32)
    zero = middle if qdq.rng.random() < 0.7 else middle + qdq.rng.randint(-20, 20)
    return (qdq.net.constant(levels), *_parameters(qdq, scales, np.full(scales.shape, zero), dtype, vector)), scales


def _output(qdq: QdqNet, about: float) -> tuple[float, int]:
    return qdq.scale(about / 40), qdq.zero_point(qdq.dtype)


def _made(qdq: QdqNet, kind: str, inputs: tuple[str, ...], to: tuple[float, int], shape: Any = None, **attributes: Any) -> Bytes:
    """Add an operator whose result is bytes at scale and zero point `to`."""
    net = qdq.net
    types = None if shape is None else [(qdq.dtype, tuple(shape))]
    domain = "" if shape is None else _MICROSOFT
    name = net.apply(kind, *inputs, domain=domain, types=types, **attributes)
    value = Bytes(name, qdq.dtype, *to)
    if qdq.rng.random() < 0.25:
        return qdq.dequantized(value)
    qdq.values.append(Bytes(name, qdq.dtype, *to, real=name))
    return value


def _own(qdq: QdqNet, value: Bytes) -> Bytes:
    if value.dtype != qdq.dtype:
        raise Illegal("of another type")
    return value


def _conv(qdq: QdqNet) -> None:
    if qdq.net.opset < 10:
        raise Illegal("since version 10")
    data = _own(qdq, qdq.pick(3, 4))
    kernel, groups, attributes = convolution_attributes(qdq.net, data.name)
    channels, out = qdq.net.shape(data.name)[1], groups * qdq.rng.randint(1, 3)
    weights, scales = _weights(qdq, (out, channels // groups, *kernel), 0, qdq.rng.random() < 0.5)
    terms = channels // groups * math.prod(kernel)
    to = _output(qdq, _about(data, scales, terms))
    bias: tuple[str, ...] = ()
    if qdq.rng.random() < 0.5:
        bias = (qdq.net.constant(qdq.net.numbers.integers(-3000, 3001, out).astype(np.int32)),)
    inputs = (*_data(qdq, data, vector=True), *weights, *_parameters(qdq, *to, qdq.dtype), *bias)
    _made(qdq, "QLinearConv", inputs, to, **attributes)


def _about(data: Bytes, scales: Array, terms: int) -> float:
    return math.sqrt(terms) * 60 * data.scale * 40 * float(np.mean(scales))


def _matmul(qdq: QdqNet) -> None:
    if qdq.net.opset < 10:
        raise Illegal("since version 10")
    data = _own(qdq, qdq.pick(2, 4))
    features, columns = qdq.net.shape(data.name)[-1], qdq.rng.randint(1, 5)
    weights, scales = _weights(qdq, (features, columns), 1, qdq.rng.random() < 0.3)
    to = _output(qdq, _about(data, scales, features))
    inputs = (*_data(qdq, data, vector=True), *weights, *_parameters(qdq, *to, qdq.dtype))
    _made(qdq, "QLinearMatMul", inputs, to)


def _qgemm(qdq: QdqNet) -> None:
    net, data = qdq.net, _own(qdq, qdq.pick(2, 2))
    (rows, features), columns, down = net.shape(data.name), qdq.rng.randint(1, 5), qdq.rng.random() < 0.5
    shape = (columns, features) if down else (features, columns)
    weights, scales = _weights(qdq, shape, 0 if down else 1, qdq.rng.random() < 0.3, vector=False)
    to = _output(qdq, _about(data, scales, features))
    bias = ""
    if qdq.rng.random() < 0.6:
        bias = net.constant(net.numbers.integers(-3000, 3001, qdq.rng.choice(((columns,), (1, columns)))).astype(np.int32))
    inputs = (*_data(qdq, data), *weights, bias)
    attributes: dict[str, Any] = {"transB": int(down), "transA": 0}
    if qdq.rng.random() < 0.2:
        net.add("QGemm", *inputs, domain=_MICROSOFT, types=[("float32", (rows, columns))], exact=True, **attributes)
        return
    _made(qdq, "QGemm", (*inputs, *_parameters(qdq, *to, qdq.dtype, vector=False)), to, (rows, columns), **attributes)


def _add(qdq: QdqNet) -> None:
    data = _own(qdq, qdq.pick())
    shape = qdq.net.shape(data.name)
    others = [value for value in qdq.values if value.dtype == qdq.dtype and qdq.net.shape(value.name) == shape]
    other = qdq.rng.choice(others)
    if qdq.rng.random() < 0.3:
        dims = tuple(dim if qdq.rng.random() < 0.6 else 1 for dim in shape)
        levels = qdq.net.numbers.integers(0, 100, dims).astype(qdq.dtype)
        other = Bytes(qdq.net.constant(levels), qdq.dtype, qdq.scale(data.scale), qdq.zero_point(qdq.dtype))
    kind = qdq.rng.choice(("QLinearAdd", "QLinearAdd", "QLinearMul"))
    about = 60 * max(data.scale, other.scale) if kind == "QLinearAdd" else 3600 * data.scale * other.scale
    to = _output(qdq, about)
    operands = qdq.rng.sample([data, other], 2)
    inputs = tuple(name for value in operands for name in _data(qdq, value))
    _made(qdq, kind, (*inputs, *_parameters(qdq, *to, qdq.dtype, vector=False)), to, shape, exact=True)


def _concat(qdq: QdqNet) -> None:
    data = _own(qdq, qdq.pick(2))
    shape = qdq.net.shape(data.name)
    others = [
        value
        for value in qdq.values
        if value.dtype == qdq.dtype and qdq.net.shape(value.name)[2:] == shape[2:] and qdq.net.shape(value.name)[0] == shape[0]
    ]
    parts = [data, *(qdq.rng.choice(others) for _ in range(qdq.rng.randint(1, 2)))]
    to = (data.scale, data.zero_point) if qdq.rng.random() < 0.5 else _output(qdq, 60 * data.scale)
    inputs = (*_parameters(qdq, *to, qdq.dtype, vector=False), *(name for part in parts for name in _data(qdq, part)))
    count = sum(qdq.net.shape(part.name)[1] for part in parts)
    _made(qdq, "QLinearConcat", inputs, to, (shape[0], count, *shape[2:]), axis=1)


def _pool(qdq: QdqNet) -> None:
    net, data = qdq.net, _own(qdq, qdq.pick(4, 4))
    batch, channels, height, width = net.shape(data.name)
    # At one scale that is no power of two every other mean of two is a tie that rounding noise decides.
    alike = qdq.even_scales and qdq.rng.random() < 0.4
    to = (data.scale, data.zero_point) if alike else _output(qdq, 40 * data.scale)
    inputs = (*_data(qdq, data), *_parameters(qdq, *to, qdq.dtype, vector=False))
    if qdq.rng.random() < 0.5:
        _made(qdq, "QLinearGlobalAveragePool", inputs, to, (batch, channels, 1, 1), channels_last=0, exact=True)
        return
    kernel = [qdq.rng.randint(1, min(3, dim)) for dim in (height, width)]
    attributes = window_attributes(net, kernel, (height, width), dilated=False)
    attributes.pop("dilations")
    if not reaches_every_value(kernel, attributes):
        raise Illegal("negative padding")
    strides, pads = attributes["strides"] or [1, 1], attributes["pads"] or [0] * 4
    if attributes["auto_pad"] in ("SAME_UPPER", "SAME_LOWER"):
        sizes = [-(-dim // step) for dim, step in zip((height, width), strides, strict=True)]
    else:
        sizes = [
            (dim + pads[axis] + pads[axis + 2] - kernel[axis]) // strides[axis] + 1 for axis, dim in enumerate((height, width))
        ]
    _made(qdq, "QLinearAveragePool", inputs, to, (batch, channels, *sizes), kernel_shape=kernel, exact=True, **attributes)


def _function(qdq: QdqNet) -> None:
    data = _own(qdq, qdq.pick())
    kind = qdq.rng.choice(("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"))
    shape = qdq.net.shape(data.name)
    to = _output(qdq, 60 * data.scale) if kind == "QLinearLeakyRelu" else _output(qdq, 0.16)
    inputs = (*_data(qdq, data), *_parameters(qdq, *to, qdq.dtype, vector=False))
    attributes: dict[str, Any] = {}
    if kind == "QLinearLeakyRelu":
        attributes["alpha"] = qdq.rng.choice((0.01, 0.25, 0.1))
    if kind == "QLinearSoftmax":
        if len(shape) < 2:
            raise Illegal("a vector")
        attributes |= {"axis": len(shape) - 1, "opset": 13}
    _made(qdq, kind, inputs, to, shape, exact=True, **attributes)


def _raw_output(qdq: QdqNet, kind: str, data: str, weight: tuple[str, str], zero: str, **attributes: Any) -> str:
    """An integer product; zero points may be left out."""
    zeros = [zero if qdq.rng.random() < 0.7 else "", weight[1] if qdq.rng.random() < 0.6 else ""]
    while zeros and not zeros[-1]:
        zeros.pop()
    return qdq.net.apply(kind, data, weight[0], *zeros, exact=True, **attributes)


def _integer_conv(qdq: QdqNet) -> None:
    if qdq.net.opset < 10:
        raise Illegal("since version 10")
    data = qdq.pick(3, 4)
    if data.dtype != "uint8":
        raise Illegal("ONNX Runtime has it for unsigned bytes only")
    kernel, groups, attributes = convolution_attributes(qdq.net, data.name)
    channels, out = qdq.net.shape(data.name)[1], groups * qdq.rng.randint(1, 3)
    (levels, _, zeros), _ = _weights(qdq, (out, channels // groups, *kernel), 0, False)
    result = _raw_output(qdq, "ConvInteger", data.name, (levels, zeros), _data(qdq, data)[2], **attributes)
    _scaled(qdq, result)


def _integer_matmul(qdq: QdqNet) -> None:
    if qdq.net.opset < 10:
        raise Illegal("since version 10")
    data = qdq.pick(2, 4)
    features, columns = qdq.net.shape(data.name)[-1], qdq.rng.randint(1, 5)
    (levels, _, zeros), _ = _weights(qdq, (features, columns), 1, False)
    result = _raw_output(qdq, "MatMulInteger", data.name, (levels, zeros), _data(qdq, data)[2])
    _scaled(qdq, result)


def _scaled(qdq: QdqNet, sums: str) -> None:
    """Sums as real numbers: a cast and a factor."""
    real = qdq.net.apply("Cast", sums, to=1)
    qdq.net.add("Mul", real, qdq.net.constant(np.float32(qdq.scale(0.001))))


def _dynamic(qdq: QdqNet) -> None:
    """A layer of dynamic quantisation: DynamicQuantizeLinear, an integer product, a cast, the product of the scales, a bias."""
    net = qdq.net
    if net.opset < 11:
        raise Illegal("since version 11")
    name = net.pick(where=lambda value: len(value.shape) in (2, 3, 4) and value.exact)
    levels, scale, zero = net.add("DynamicQuantizeLinear", name, outputs=3, exact=True)
    rank = net.rank(name)
    if rank == 4 and qdq.rng.random() < 0.6:
        kernel, groups, attributes = convolution_attributes(net, name)
        channels, out = net.shape(name)[1], groups * 2
        (weights, factor, zeros), _ = _weights(qdq, (out, channels // groups, *kernel), 0, False)
        sums = net.apply("ConvInteger", levels, weights, zero, zeros, exact=True, **attributes)
        shape: tuple[int, ...] = (1, out, 1, 1)
    else:
        columns = qdq.rng.randint(1, 4)
        (weights, factor, zeros), _ = _weights(qdq, (net.shape(name)[-1], columns), 1, False)
        sums = net.apply("MatMulInteger", levels, weights, zero, zeros, exact=True)
        shape = (columns,)
    real = net.apply("Cast", sums, to=1)
    result = net.apply("Mul", real, net.apply("Mul", scale, factor))
    net.add("Add", *qdq.rng.sample([result, net.floats(shape)], 2))


def _requantized(qdq: QdqNet) -> None:
    """From one scale to another, through real numbers."""
    data = qdq.dequantized(_own(qdq, qdq.pick()))
    qdq.quantized(data.real, 60 * data.scale)


INTEGER: tuple[Callable[[QdqNet], None], ...] = (
    _conv,
    _conv,
    _conv,
    _matmul,
    _matmul,
    _qgemm,
    _add,
    _add,
    _concat,
    _pool,
    _function,
    _integer_conv,
    _integer_matmul,
    _requantized,
)
DYNAMIC: tuple[Callable[[QdqNet], None], ...] = (_dynamic,)
