"""Quantised models: QuantizeLinear and DequantizeLinear around float operators, as quantisers write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vta.support.dataclass import dataclass
from vta.testing.import_fuzz.description import Array, Illegal
from vta.testing.import_fuzz.onnx_net import OnnxNet
from vta.testing.import_fuzz.onnx_operators.layers import convolution_attributes, reaches_every_value, window_attributes

__all__ = ["Bytes", "QdqNet", "QDQ", "is_power_of_two"]


def is_power_of_two(scale: float) -> bool:
    """Whether dividing by `scale` never rounds."""
    return math.frexp(scale)[0] == 0.5


@dataclass(frozen=True)
class Bytes:
    """A quantised activation."""

    name: str
    dtype: str
    scale: float
    zero_point: int
    real: str = ""
    """The dequantised value."""


class QdqNet:
    """A model whose activations are quantised."""

    def __init__(self, net: OnnxNet) -> None:
        self.net = net
        self.rng = net.rng
        self.even_scales = net.rng.random() < 0.6
        """Powers of two: then real numbers are sums of few bits, nothing rounds before a quantisation, and ties are ties."""
        self.dtype = net.rng.choice(("int8", "uint8"))
        self.values: list[Bytes] = []
        self.shared: dict[tuple[str, Any], str] = {}

    def checkpoint(self) -> Callable[[], None]:
        """Return what takes back all that is added from now on."""
        before, values, shared = self.net.checkpoint(), list(self.values), dict(self.shared)

        def take_back() -> None:
            before()
            self.values, self.shared = values, shared

        return take_back

    def scale(self, about: float) -> float:
        """A scale near `about`, in single precision."""
        if self.even_scales:
            return float(2.0 ** round(math.log2(about) + self.rng.uniform(-0.6, 0.6)))
        return float(np.float32(about * self.rng.uniform(0.7, 1.4)))

    def zero_point(self, dtype: str) -> int:
        """A zero point: often that of symmetric data, at times an end of the range."""
        limits = np.iinfo(dtype)
        middle = 0 if dtype.startswith("int") else (limits.max + 1) // 2
        ends = (limits.min, limits.max)
        return self.rng.choice((middle, middle, middle + self.rng.randint(-40, 40), self.rng.choice(ends)))

    def parameter(self, kind: str, value: Array, vector: bool = True) -> str:
        """A scale or a zero point: a number or, if it may, a vector of one; at times shared with others of the same value."""
        if vector and value.ndim == 0 and self.rng.random() < 0.25:
            value = value.reshape(1)
        key = (kind, (value.dtype.name, value.shape, value.tobytes()))
        if key not in self.shared or self.rng.random() < 0.5:
            self.shared[key] = self.net.constant(value)
        return self.shared[key]

    def parameters(self, scale: Any, zero_point: Any, dtype: str) -> tuple[str, ...]:
        """The scale and zero point inputs of a quantisation; a zero point that is the default may be left out."""
        scales = self.parameter("scale", np.asarray(scale, np.float32))
        zeros = np.asarray(zero_point, dtype)
        if dtype == "uint8" and not zeros.any() and self.rng.random() < 0.4:
            return (scales,)
        return scales, self.parameter("zero", zeros)

    def quantized(self, name: str, about: float, dtype: str = "") -> Bytes:
        """Quantise and dequantise a float value whose deviation is about `about`."""
        dtype = dtype or self.dtype
        scale, zero_point = self.scale(about / 40), self.zero_point(dtype)
        return self.quantized_at(name, scale, zero_point, dtype)

    def quantized_at(self, name: str, scale: float, zero_point: int, dtype: str) -> Bytes:
        """Quantise and dequantise a float value."""
        value = self.net.apply("QuantizeLinear", name, *self.parameters(scale, zero_point, dtype), exact=True)
        self.net.values[value] = replace(self.net.values[value], exact=True)
        return self.dequantized(Bytes(value, dtype, scale, zero_point))

    def dequantized(self, value: Bytes) -> Bytes:
        """Dequantise a value."""
        parameters: tuple[str, ...] = self.parameters(value.scale, value.zero_point, value.dtype)
        if value.dtype == "int8" and value.zero_point == 0 and self.rng.random() < 0.3:
            parameters = parameters[:1]
        grid = (-round(math.log2(value.scale)), 9 + round(math.log2(value.scale))) if is_power_of_two(value.scale) else None
        real = self.net.apply("DequantizeLinear", value.name, *parameters, grid=grid, exact=True)
        found = replace(value, real=real)
        self.values.append(found)
        return found

    def pick(self, least: int = 1, most: int = 6, where: Callable[[tuple[int, ...]], bool] = lambda shape: True) -> Bytes:
        """A quantised value of so many dimensions, recent ones more often; raises `Illegal` if there is none."""
        shapes = [(value, self.net.shape(value.real)) for value in self.values]
        fitting = [value for value, shape in shapes if least <= len(shape) <= most and where(shape)]
        if not fitting:
            raise Illegal("no such quantised value")
        return fitting[-1] if self.rng.random() < 0.6 else self.rng.choice(fitting)

    def weight(self, shape: Sequence[int], axis: int, name: str = "") -> tuple[str, Any]:
        """Quantised weights, dequantised, and their scales: one, or one for each place of `axis`."""
        dtype = self.rng.choice(("int8", "int8", "uint8"))
        most = 127 if self.rng.random() < 0.2 else 63
        middle = 0 if dtype == "int8" else 128
        levels = (self.net.numbers.integers(-most, most + 1, tuple(shape)) + middle).astype(dtype)
        per_channel = self.rng.random() < 0.5
        count = shape[axis] if per_channel else None
        scales = np.array([self.scale(0.01) for _ in range(count)] if count else self.scale(0.01), np.float32)
        zero = middle if self.rng.random() < 0.7 else middle + self.rng.randint(-20, 20)
        zeros = np.full(scales.shape, zero, dtype)
        if per_channel and self.rng.random() < 0.1:
            zeros = (zeros.astype(int) + self.net.numbers.integers(-5, 6, scales.shape)).astype(dtype)
        if count == 1 and self.rng.random() < 0.5:
            scales, zeros = scales.reshape(()), zeros.reshape(())
        return self._stored_weight(levels, scales, zeros, axis if per_channel else None), scales

    def _stored_weight(self, levels: Array, scales: Array, zeros: Array, axis: int | None) -> str:
        """Weights as bytes that are dequantised, or as floats that are quantised first."""
        net = self.net
        options = {} if axis is None or net.opset < 13 else {"axis": axis - (levels.ndim if self.rng.random() < 0.2 else 0)}
        if scales.ndim and net.opset < 13:
            raise Illegal("scales of channels came with version 13")
        inputs = [net.constant(scales)]
        if zeros.any() or levels.dtype != np.int8 or self.rng.random() < 0.6:
            inputs.append(net.constant(zeros))
        grid = None
        if all(is_power_of_two(float(scale)) for scale in scales.reshape(-1)):
            exponents = [round(math.log2(float(scale))) for scale in scales.reshape(-1)]
            grid = (-min(exponents), 8 + max(exponents))
        if self.rng.random() < 0.25 and len(inputs) == 2:
            along = [1] * levels.ndim
            if axis is not None:
                along[axis] = -1
            shape = along if scales.ndim else ()
            real = ((levels.astype(np.int32) - zeros.reshape(shape)) * scales.reshape(shape)).astype(np.float32)
            stored = net.apply("QuantizeLinear", net.constant(real), *inputs, exact=True, **options)
        else:
            stored = net.constant(levels)
        return net.apply("DequantizeLinear", stored, *inputs, exact=True, grid=grid, **options)

    def bias(self, count: int, scale: float, scales: Any, terms: int) -> tuple[str, float]:
        """A bias, int32 at the scale of the products or a float, and how far its rounding may move it."""
        net = self.net
        products = (np.float32(scale) * np.asarray(scales, np.float32)).astype(np.float32)
        levels = net.numbers.integers(-2000, 2001, count).astype(np.int32)
        grid = None
        if self.even_scales:
            exponents = [round(math.log2(float(product))) for product in products.reshape(-1)]
            grid = (-min(exponents), 11 + max(exponents))
        chance = self.rng.random()
        if chance < 0.6:
            if products.ndim and net.opset < 13:
                raise Illegal("scales of channels came with version 13")
            inputs = [net.constant(products)]
            if self.rng.random() < 0.4:
                inputs.append(net.constant(np.zeros(products.shape, np.int32)))
            axis = {"axis": 0} if net.opset >= 13 and (products.ndim or self.rng.random() < 0.2) else {}
            return net.apply("DequantizeLinear", net.constant(levels), *inputs, exact=True, grid=grid, **axis), 0.0
        if chance < 0.75:
            dtype = self.rng.choice(("int8", "uint8"))
            limits = np.iinfo(dtype)
            small = net.numbers.integers(limits.min, limits.max + 1, count).astype(dtype)
            step, zero = self.scale(float(products.max()) * 16), self.zero_point(dtype)
            inputs = [net.constant(np.float32(step)), net.constant(np.array(zero, dtype))]
            real = net.apply("DequantizeLinear", net.constant(small), *inputs, exact=True)
            return real, float(products.max()) / 2
        return net.constant((levels * products).astype(np.float32), grid), 0.0 if self.even_scales else float(products.max()) / 2


def _activation(qdq: QdqNet, name: str) -> str:
    net, chance = qdq.net, qdq.rng.random()
    slack = net.values[name].slack
    if chance < 0.25:
        name = net.apply("Relu", name)
    elif chance < 0.4 and net.opset >= 11:
        name = net.apply("Clip", name, net.constant(np.float32(0)), net.constant(np.float32(6)))
    elif chance < 0.4:
        name = net.apply("Clip", name, min=0.0, max=6.0)
    net.values[name] = replace(net.values[name], slack=slack)
    return name


def _product(qdq: QdqNet, kind: str, data: Bytes, weight: str, bias: tuple[str, float] | None, terms: int, **options: Any) -> str:
    net = qdq.net
    grid = net.product_grid(data.real, weight, terms)
    inputs = [data.real, weight]
    if bias is not None:
        inputs.append(bias[0])
        added = net.values[bias[0]].grid
        grid = (max(grid[0], added[0]), max(grid[1], added[1]) + 1) if grid and added else None
        grid = grid if grid and sum(grid) <= 24 else None
    name = net.apply(kind, *inputs, grid=grid, **options)
    net.values[name] = replace(net.values[name], slack=bias[1] if bias else 0.0)
    return name


def _deviation(data: Bytes, scales: Any, terms: int) -> float:
    return max(1e-6, math.sqrt(terms) * 60 * data.scale * 40 * float(np.mean(scales)))


def _conv(qdq: QdqNet) -> None:
    net, data = qdq.net, qdq.pick(3, 4)
    kernel, groups, attributes = convolution_attributes(net, data.real)
    channels = net.shape(data.real)[1]
    out = groups * qdq.rng.randint(1, 3)
    weight, scales = qdq.weight((out, channels // groups, *kernel), 0)
    terms = channels // groups * math.prod(kernel)
    bias = qdq.bias(out, data.scale, scales, terms) if qdq.rng.random() < 0.6 else None
    result = _product(qdq, "Conv", data, weight, bias, terms, **attributes)
    qdq.quantized(_activation(qdq, result), _deviation(data, scales, terms))


def _conv_transpose(qdq: QdqNet) -> None:
    net, data = qdq.net, qdq.pick(4, 4)
    kernel, groups, attributes = convolution_attributes(net, data.real)
    if attributes["auto_pad"] in ("SAME_UPPER", "SAME_LOWER"):
        attributes["auto_pad"] = None
    channels, out = net.shape(data.real)[1], qdq.rng.randint(1, 3)
    weight, scales = qdq.weight((channels, out, *kernel), 1)
    terms = channels // groups * math.prod(kernel)
    bias = None
    if qdq.rng.random() < 0.5:
        spread = np.tile(scales, groups) if np.ndim(scales) else scales
        bias = qdq.bias(out * groups, data.scale, spread, terms)
    result = _product(qdq, "ConvTranspose", data, weight, bias, terms, **attributes)
    qdq.quantized(_activation(qdq, result), _deviation(data, scales, terms))


def _gemm(qdq: QdqNet) -> None:
    net, data = qdq.net, qdq.pick(2, 2)
    columns, features = qdq.rng.randint(1, 5), net.shape(data.real)[1]
    down = qdq.rng.random() < 0.5
    axis = qdq.rng.choice((0, 1)) if qdq.rng.random() < 0.2 else 0 if down else 1
    weight, scales = qdq.weight((columns, features) if down else (features, columns), axis)
    by_column = not np.ndim(scales) or axis == (0 if down else 1)
    spread = scales if by_column else float(np.max(scales))
    count = 1 if qdq.rng.random() < 0.15 else columns
    bias = qdq.bias(count, data.scale, spread if count == columns else float(np.max(scales)), features)
    there = bias if qdq.rng.random() < 0.6 else None
    result = _product(qdq, "Gemm", data, weight, there, features, transB=int(down) or None)
    qdq.quantized(_activation(qdq, result), _deviation(data, scales, features))


def _matmul(qdq: QdqNet) -> None:
    net, data = qdq.net, qdq.pick(2, 4)
    columns, features = qdq.rng.randint(1, 5), net.shape(data.real)[-1]
    axis = 1 if qdq.rng.random() < 0.8 else 0
    weight, scales = qdq.weight((features, columns), axis)
    if qdq.rng.random() < 0.2:
        weight, scales = qdq.weight((columns, features), 1 - axis)
        weight = net.apply("Transpose", weight, perm=[1, 0])
    result = _product(qdq, "MatMul", data, weight, None, features)
    if qdq.rng.random() < 0.5:
        spread = scales if not np.ndim(scales) or axis == 1 else float(np.max(scales))
        bias, slack = qdq.bias(columns, data.scale, spread, features)
        result = net.apply("Add", *qdq.rng.sample([result, bias], 2))
        net.values[result] = replace(net.values[result], slack=slack)
    qdq.quantized(_activation(qdq, result), _deviation(data, scales, features))


def _binary(qdq: QdqNet) -> None:
    net, data = qdq.net, qdq.pick()
    shape = net.shape(data.real)
    others = [value for value in qdq.values if net.shape(value.real) == shape]
    kind = qdq.rng.choice(("Add", "Add", "Mul", "Sub", "Max"))
    other = qdq.rng.choice(others)
    if qdq.rng.random() < 0.3:
        dims = tuple(dim if qdq.rng.random() < 0.6 else 1 for dim in shape)
        levels = net.constant(net.numbers.integers(0, 100, dims).astype(qdq.dtype))
        other = qdq.dequantized(Bytes(levels, qdq.dtype, qdq.scale(data.scale), qdq.zero_point(qdq.dtype)))
        qdq.values.pop()
    result = net.apply(kind, *qdq.rng.sample([data.real, other.real], 2))
    about = 60 * max(data.scale, other.scale) if kind != "Mul" else 60 * data.scale * 60 * other.scale
    qdq.quantized(_activation(qdq, result), about)


def _joins(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether values of two shapes can be joined along the channels."""
    return one[:1] == other[:1] and one[2:] == other[2:]


def _transposed(net: OnnxNet, name: str) -> str:
    rank = net.rank(name)
    return net.apply("Transpose", name, perm=net.rng.sample(range(rank), rank))


def _flat(net: OnnxNet, name: str) -> str:
    return net.apply("Flatten", name) if net.rng.random() < 0.5 else net.apply("Reshape", name, net.integers(0, -1))


def _largest(net: OnnxNet, name: str) -> str:
    if net.rank(name) != 4:
        raise Illegal("no image")
    return net.apply("MaxPool", name, kernel_shape=[min(2, dim) for dim in net.shape(name)[2:]])


def _sliced(net: OnnxNet, name: str) -> str:
    if net.opset < 10:
        raise Illegal("an attribute before version 10")
    return net.apply("Slice", name, net.integers(0), net.integers(max(1, net.shape(name)[1] - 1)), net.integers(1))


def _padded(net: OnnxNet, name: str) -> str:
    rank = net.rank(name)
    pads = [0] * (2 * rank)
    pads[-1], pads[rank - 1] = 1, net.rng.choice((0, 1))
    if net.opset < 11:
        return net.apply("Pad", name, pads=pads)
    value = [net.constant(np.float32(0))] if net.rng.random() < 0.5 else []
    return net.apply("Pad", name, net.integers(*pads), *value)


_MOVES: tuple[Callable[[OnnxNet, str], str], ...] = (_transposed, _flat, _largest, _sliced, _padded)


def _move(qdq: QdqNet) -> None:
    data = qdq.pick(2)
    result = qdq.rng.choice(_MOVES)(qdq.net, data.real)
    _again(qdq, result, data)


def _join(qdq: QdqNet) -> None:
    data = qdq.pick(2)
    shape = qdq.net.shape(data.real)
    others = [value for value in qdq.values if _joins(qdq.net.shape(value.real), shape)]
    _again(qdq, qdq.net.apply("Concat", data.real, qdq.rng.choice(others).real, axis=1), data)


def _again(qdq: QdqNet, result: str, data: Bytes) -> None:
    """Quantise what was moved: as it was, or at another scale."""
    if qdq.rng.random() < 0.6:
        qdq.quantized_at(result, data.scale, data.zero_point, data.dtype)
    else:
        qdq.quantized(result, 60 * data.scale)


def _pool(qdq: QdqNet) -> None:
    net, data = qdq.net, qdq.pick(4, 4)
    if qdq.rng.random() < 0.5:
        result = net.apply("GlobalAveragePool", data.real)
    else:
        kernel = [qdq.rng.randint(1, min(3, dim)) for dim in net.shape(data.real)[2:]]
        attributes = window_attributes(net, kernel, net.shape(data.real)[2:], dilated=False)
        if not reaches_every_value(kernel, attributes):
            raise Illegal("negative padding")
        result = net.apply("AveragePool", data.real, kernel_shape=kernel, **attributes)
    qdq.quantized(result, 40 * data.scale)


def _function(qdq: QdqNet) -> None:
    net, data = qdq.net, qdq.pick()
    kind = qdq.rng.choice(("Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "HardSigmoid", "Elu", "Relu", "Softmax"))
    if kind == "HardSwish" and net.opset < 14:
        raise Illegal("since version 14")
    if kind == "Softmax" and net.rank(data.real) < 2:
        raise Illegal("a vector")
    result = net.apply(kind, data.real)
    qdq.quantized(result, 60 * data.scale if kind in ("LeakyRelu", "HardSwish", "Elu", "Relu") else 0.3)


def _scalar(qdq: QdqNet, scale: float, level: int) -> str:
    """A number as a byte that is dequantised."""
    dtype = qdq.dtype
    middle = 0 if dtype == "int8" else 128
    inputs = [
        qdq.net.constant(np.array(value, kind)) for value, kind in ((middle + level, dtype), (scale, "float32"), (middle, dtype))
    ]
    return qdq.net.apply("DequantizeLinear", *inputs, exact=True)


def _bounded(qdq: QdqNet) -> None:
    """A Clip whose bounds are dequantised, as quantisers leave it that quantise every input."""
    if qdq.net.opset < 11:
        raise Illegal("attributes before version 11")
    data = qdq.pick()
    low, high = _scalar(qdq, data.scale, -qdq.rng.randint(0, 100)), _scalar(qdq, data.scale, qdq.rng.randint(1, 100))
    _again(qdq, qdq.net.apply("Clip", data.real, low, high), data)


def _bordered(qdq: QdqNet) -> None:
    """A Pad whose value is dequantised."""
    if qdq.net.opset < 11:
        raise Illegal("an attribute before version 11")
    data = qdq.pick(3)
    rank = qdq.net.rank(data.real)
    pads = qdq.net.integers(*[0] * (rank - 1), 1, *[0] * (rank - 1), 2)
    _again(qdq, qdq.net.apply("Pad", data.real, pads, _scalar(qdq, data.scale, qdq.rng.choice((0, 5)))), data)


def _weights_alone(qdq: QdqNet) -> None:
    """A float layer with quantised weights."""
    net = qdq.net
    data = net.input((1, qdq.rng.randint(1, 4), 5, 5)) if qdq.rng.random() < 0.5 else qdq.pick(4, 4).real
    weight, _ = qdq.weight((qdq.rng.randint(1, 4), net.shape(data)[1], 3, 3), 0)
    net.add("Conv", data, weight, pads=[1, 1, 1, 1])


def _normalized(qdq: QdqNet) -> None:
    """A convolution, a batch norm or a factor and a term for each channel, and the quantisation."""
    net, data = qdq.net, qdq.pick(4, 4)
    channels, out = net.shape(data.real)[1], qdq.rng.randint(1, 4)
    weight, scales = qdq.weight((out, channels, 1, 1), 0)
    result = net.apply("Conv", data.real, weight)
    if qdq.rng.random() < 0.5:
        parameters = [net.floats((out,)) for _ in range(3)]
        result = net.apply("BatchNormalization", result, *parameters, net.floats((out,), "positive"))
    else:
        result = net.apply("Add", net.apply("Mul", result, net.floats((out, 1, 1))), net.floats((1, out, 1, 1)))
    # What is added goes into a bias at the scale of the products times the largest factor.
    slack = 4 * data.scale * float(np.max(scales))
    net.values[result] = replace(net.values[result], slack=slack, grid=None)
    qdq.quantized(_activation(qdq, result), _deviation(data, scales, channels))


def _by_channel(qdq: QdqNet) -> None:
    """An activation with a scale for each channel."""
    net, data = qdq.net, qdq.pick(2)
    if net.opset < 13:
        raise Illegal("scales of channels came with version 13")
    count = net.shape(data.real)[1]
    scales = np.array([qdq.scale(data.scale) for _ in range(count)], np.float32)
    inputs = [net.constant(scales), net.constant(np.full(count, qdq.zero_point(qdq.dtype), qdq.dtype))]
    levels = net.apply("QuantizeLinear", data.real, *inputs, exact=True, axis=1)
    real = net.apply("DequantizeLinear", levels, *inputs, exact=True, axis=1)
    if qdq.rng.random() < 0.7:
        qdq.quantized(net.apply("Relu", real), 60 * data.scale)


QDQ: tuple[Callable[[QdqNet], None], ...] = (
    _bounded,
    _bordered,
    _weights_alone,
    _normalized,
    _by_channel,
    _conv,
    _conv,
    _conv,
    _conv_transpose,
    _gemm,
    _gemm,
    _matmul,
    _matmul,
    _binary,
    _binary,
    _move,
    _move,
    _join,
    _pool,
    _function,
)
