"""What exporters write for one operator of theirs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vta.testing.import_fuzz.description import Illegal
from vta.testing.import_fuzz.onnx_net import OnnxNet
from vta.testing.import_fuzz.onnx_operators.layers import image
from vta.testing.import_fuzz.onnx_operators.layout import transpose

__all__ = ["IDIOMS"]


def _axes(net: OnnxNet, kind: str, name: str, *axes: int, **attributes: Any) -> str:
    """An operator whose axes are an attribute in old versions and an input in new ones."""
    since = 18 if kind == "ReduceMean" else 13
    if net.opset >= since:
        return net.apply(kind, name, net.integers(*axes), **attributes)
    return net.apply(kind, name, axes=list(axes), **attributes)


def _view(net: OnnxNet) -> None:
    """PyTorch's x.view(x.size(0), -1): Shape, Gather, Unsqueeze, Concat, Reshape."""
    name = net.pick(where=lambda value: len(value.shape) >= 2)
    size = net.apply("Gather", net.apply("Shape", name), net.constant(np.int64(0)), axis=0)
    dims = net.apply("Concat", _axes(net, "Unsqueeze", size, 0), net.integers(-1), axis=0)
    exact = net.values[name].exact
    shape = (net.shape(name)[0], math.prod(net.shape(name)[1:]))
    net.add("Reshape", name, dims, types=[("float32", shape)], exact=exact, grid=net.values[name].grid)


def _half(net: OnnxNet) -> None:
    """x[:, :x.size(1) // 2] and the other half, as channel shuffles and splits do."""
    name = net.pick(where=lambda value: len(value.shape) >= 2 and value.shape[1] % 2 == 0)
    if net.opset < 10:
        raise Illegal("slices with computed bounds came with version 10")
    count = net.apply("Gather", net.apply("Shape", name), net.constant(np.array([1], np.int64)), axis=0)
    middle = net.apply("Div", count, net.integers(2), exact=True)
    shape = list(net.shape(name))
    shape[1] //= 2
    about: dict[str, Any] = {"types": [("float32", tuple(shape))], "exact": net.values[name].exact, "grid": net.values[name].grid}
    net.add("Slice", name, net.integers(0), middle, net.integers(1), **about)
    net.add("Slice", name, middle, net.integers(2**63 - 1), net.integers(1), **about)


def _shuffle(net: OnnxNet) -> None:
    """ShuffleNet's channel shuffle."""
    name = net.pick(where=lambda value: len(value.shape) == 4 and value.shape[1] % 2 == 0)
    batch, channels, height, width = net.shape(name)
    split = net.apply("Reshape", name, net.integers(batch, 2, channels // 2, height, width))
    net.add("Reshape", transpose(net, split, 0, 2, 1, 3, 4), net.integers(batch, -1, height, width))


def _upsample(net: OnnxNet) -> None:
    """PyTorch's interpolate: sizes computed from the shape."""
    if net.opset < 11:
        raise Illegal("since version 11")
    name = net.pick(where=lambda value: len(value.shape) == 4)
    batch, channels, height, width = net.shape(name)
    lead = net.apply("Slice", net.apply("Shape", name), net.integers(0), net.integers(2), net.integers(0))
    sizes = net.apply("Concat", lead, net.integers(height * 2, width * 2), axis=0)
    empty = net.constant(np.zeros(0, np.float32)) if net.opset < 13 else ""
    mode = net.rng.choice(("nearest", "linear"))
    place = "asymmetric" if mode == "nearest" else net.rng.choice(("pytorch_half_pixel", "align_corners"))
    net.add(
        "Resize",
        name,
        empty,
        empty,
        sizes,
        types=[("float32", (batch, channels, height * 2, width * 2))],
        mode=mode,
        coordinate_transformation_mode=place,
        nearest_mode="floor" if mode == "nearest" else None,
    )


def _channels_last_conv(net: OnnxNet) -> None:
    """tf2onnx: a transposition to NCHW, a convolution with TensorFlow's padding, and back."""
    name = net.pick(where=lambda value: len(value.shape) == 4)
    first = transpose(net, name, 0, 3, 1, 2)
    channels = net.shape(first)[1]
    kernel = [min(3, dim) for dim in net.shape(first)[2:]]
    weight = net.floats((net.rng.randint(1, 4), channels, *kernel))
    result = net.apply("Conv", first, weight, auto_pad="SAME_UPPER", strides=[net.rng.choice((1, 2))] * 2)
    result = net.apply("Add", result, net.floats((1, net.shape(result)[1], 1, 1)))
    result = net.apply("Relu", result) if net.rng.random() < 0.5 else result
    if net.rng.random() < 0.5:
        result = _axes(net, "ReduceMean", result, 2, 3, keepdims=1)
    transpose(net, result, 0, 2, 3, 1)


def _hard_swish(net: OnnxNet) -> None:
    """x * clip(x + 3, 0, 6) / 6."""
    name = net.pick()
    moved = net.apply("Add", name, net.constant(np.float32(3)))
    if net.opset >= 11:
        bounded = net.apply("Clip", moved, net.constant(np.float32(0)), net.constant(np.float32(6)))
    else:
        bounded = net.apply("Clip", moved, min=0.0, max=6.0)
    if net.rng.random() < 0.5:
        net.add("Div", net.apply("Mul", name, bounded), net.constant(np.float32(6)))
    else:
        net.add("Mul", name, net.apply("Mul", bounded, net.constant(np.float32(1 / 6))))


def _gelu(net: OnnxNet) -> None:
    if net.opset < 9:
        raise Illegal("since version 9")
    name = net.pick()
    error = net.apply("Erf", net.apply("Div", name, net.constant(np.float32(math.sqrt(2)))))
    total = net.apply("Add", error, net.constant(np.float32(1)))
    net.add("Mul", net.apply("Mul", name, total), net.constant(np.float32(0.5)))


def _silu(net: OnnxNet) -> None:
    name = net.pick()
    net.add("Mul", *net.rng.sample([name, net.apply("Sigmoid", name)], 2))


def _layer_norm(net: OnnxNet) -> None:
    """ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add."""
    name = net.pick(where=lambda value: len(value.shape) >= 2 and value.shape[-1] > 2)
    centered = net.apply("Sub", name, _axes(net, "ReduceMean", name, -1))
    variance = _axes(net, "ReduceMean", net.apply("Pow", centered, net.constant(np.float32(2))), -1)
    deviation = net.apply("Sqrt", net.apply("Add", variance, net.constant(np.float32(1e-5))))
    width = net.shape(name)[-1]
    scaled = net.apply("Mul", net.apply("Div", centered, deviation), net.floats((width,)))
    net.add("Add", scaled, net.floats((width,)))


def _attention(net: OnnxNet) -> None:
    """Two dense layers, their product, softmax, and the values."""
    name = net.pick(where=lambda value: len(value.shape) == 3)
    width = net.shape(name)[-1]
    query, key, values = (net.apply("MatMul", name, net.floats((width, width))) for _ in range(3))
    scores = net.apply("MatMul", query, transpose(net, key, 0, 2, 1))
    scores = net.apply("Div", scores, net.constant(np.float32(math.sqrt(width))))
    weights = net.apply("Softmax", scores, axis=2 if net.opset < 13 else -1)
    net.add("MatMul", weights, values)


def _squeeze_excite(net: OnnxNet) -> None:
    name = image(net, 4)
    channels = net.shape(name)[1]
    pooled = net.apply("GlobalAveragePool", name)
    small = net.apply("Relu", net.apply("Conv", pooled, net.floats((2, channels, 1, 1))))
    gate = net.apply("Sigmoid", net.apply("Conv", small, net.floats((channels, 2, 1, 1)), net.floats((channels,))))
    net.add("Mul", name, gate)


def _classifier(net: OnnxNet) -> None:
    """Global pool, flatten, dense, softmax."""
    name = image(net)
    pooled = net.apply("GlobalAveragePool", name)
    flat = net.apply("Flatten", pooled) if net.rng.random() < 0.5 else _axes(net, "Squeeze", pooled, *range(2, net.rank(pooled)))
    features = net.shape(flat)[1]
    scores = net.apply("Gemm", flat, net.floats((4, features)), net.floats((4,)), transB=1)
    net.add("Softmax", scores, axis=1)


def _scaled_input(net: OnnxNet) -> None:
    """Preprocessing in the graph: (x / 255 - mean) / deviation."""
    name = image(net)
    rank, channels = net.rank(name), net.shape(name)[1]
    shape = (1, channels, *(1,) * (rank - 2))
    scaled = net.apply("Mul", name, net.constant(np.float32(1 / 255)))
    net.add("Div", net.apply("Sub", scaled, net.floats(shape)), net.floats(shape, "positive"))


def _normalized_then_conv(net: OnnxNet) -> None:
    """A convolution, batch norm as Mul and Add, and an activation."""
    name = image(net, 4)
    channels = net.shape(name)[1]
    result = net.apply("Conv", name, net.floats((3, channels, 1, 1)))
    shape = net.rng.choice(((1, 3, 1, 1), (3, 1, 1)))
    result = net.apply("Add", net.apply("Mul", result, net.floats(shape)), net.floats(shape))
    net.add(net.rng.choice(("Relu", "LeakyRelu", "Sigmoid")), result)


def _two_branches(net: OnnxNet) -> None:
    name = image(net, 4)
    channels = net.shape(name)[1]
    left = net.apply("Conv", name, net.floats((2, channels, 3, 3)), pads=[1, 1, 1, 1])
    right = net.apply("MaxPool", name, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    net.add("Concat", left, right, name, axis=1 if net.rng.random() < 0.5 or net.opset < 11 else -3)


IDIOMS: tuple[Callable[[OnnxNet], None], ...] = (
    _view,
    _half,
    _shuffle,
    _upsample,
    _channels_last_conv,
    _hard_swish,
    _gelu,
    _silu,
    _layer_norm,
    _attention,
    _squeeze_excite,
    _classifier,
    _scaled_input,
    _normalized_then_conv,
    _two_branches,
)
